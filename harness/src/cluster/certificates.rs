//! Certificates and keys: one fresh authority for each cluster, another for each interceptor.
//! Nothing else of the harness issues any.
//!
//! Clients differ in how they find the issuer of a certificate. Go and rustls try every key that
//! they trust. OpenSSL, and with it curl, Python, Ruby and Node, goes by names: a certificate whose
//! subject is its issuer's counts as self-signed. So an authority and what it signs have names of
//! their own and say whose key signed them, and all hold what `openssl verify -x509_strict` asks.
//!
//! Nothing of it is worth stealing for long: it speaks for loopback, for the API server's names
//! inside a cluster and for names that mean something on the cluster's own network only, and it is
//! thrown away with the cluster. Every certificate is valid from yesterday, for clocks that
//! disagree, until next year.

use std::path::Path;
use std::sync::Arc;

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::place::write_private;
use super::{ClusterError, place};

/// What every server may be reached by: loopback, and what the API server is called inside a
/// cluster.
const NAMES: [&str; 7] = [
    "127.0.0.1",
    "::1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Signs certificates for loopback and the names inside a cluster, and for such other names as it
/// is given.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    names: Vec<String>,
    today: Date,
}

/// A certificate with its key.
pub(crate) struct Leaf {
    certificate: Certificate,
    key: KeyPair,
}

impl Authority {
    /// An authority of a cluster or an interceptor that nobody else knows. `name` is the cluster's
    /// or the interceptor's.
    pub(crate) fn new(name: &str, now: Timestamp) -> Result<Self, rcgen::Error> {
        let today = now.to_zoned(TimeZone::UTC).date();
        let mut params = params(&format!("{name} CA"), today);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let names = NAMES.map(str::to_owned).to_vec();
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, key()?)?, names, today })
    }

    /// The same, for these names as well.
    pub(crate) fn speaking_for(mut self, names: &[String]) -> Self {
        self.names.extend_from_slice(names);
        self
    }

    /// The authority's own certificate, PEM.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for a server on loopback, and on the authority's other names.
    pub(crate) fn server(&self, name: &str) -> Result<Leaf, rcgen::Error> {
        self.sign(name, &[ExtendedKeyUsagePurpose::ServerAuth])
    }

    /// A certificate for a client.
    pub(crate) fn client(&self, name: &str) -> Result<Leaf, rcgen::Error> {
        self.sign(name, &[ExtendedKeyUsagePurpose::ClientAuth])
    }

    /// A certificate for a server that also calls itself, as etcd does.
    pub(crate) fn peer(&self, name: &str) -> Result<Leaf, rcgen::Error> {
        self.sign(name, &[ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth])
    }

    fn sign(&self, name: &str, usages: &[ExtendedKeyUsagePurpose]) -> Result<Leaf, rcgen::Error> {
        let mut params = params(name, self.today);
        // Said outright, and with it which key it is for.
        params.is_ca = IsCa::ExplicitNoCa;
        params.subject_alt_names = CertificateParams::new(self.names.clone())?.subject_alt_names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = usages.to_vec();
        params.use_authority_key_identifier_extension = true;
        let key = key()?;
        Ok(Leaf { certificate: params.signed_by(&key, &self.issuer)?, key })
    }
}

impl Leaf {
    /// What a TLS server of our own needs: HTTP/2 and HTTP/1.1, and no certificate of whoever asks.
    pub(crate) fn server_config(self) -> Result<ServerConfig, rustls::Error> {
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.der().clone()], key.into())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn write(&self, folder: &Path, name: &str) -> Result<(), ClusterError> {
        write_private(&folder.join(format!("{name}.crt")), self.certificate.pem().as_bytes())?;
        write_private(&folder.join(format!("{name}.key")), self.key.serialize_pem().as_bytes())
    }
}

/// Write everything that a control plane needs into `folder`, readable by this user only, and
/// return the CA's certificate, PEM. Its servers are on loopback, and on a network where they go by
/// these `names`.
///
/// # Errors
/// When the folder is not private or cannot be written.
pub fn issue_control_plane(folder: &Path, names: &[String], now: Timestamp) -> Result<String, ClusterError> {
    place::make_private(folder)?;
    let authority = Authority::new("lockstep cluster", now)?.speaking_for(names);
    write_private(&folder.join("ca.crt"), authority.pem().as_bytes())?;
    authority.peer("etcd")?.write(folder, "etcd")?;
    authority.client("kube-apiserver")?.write(folder, "etcd-client")?;
    authority.server("kube-apiserver")?.write(folder, "kube-apiserver")?;
    let accounts = key()?;
    write_private(&folder.join("service-account.key"), accounts.serialize_pem().as_bytes())?;
    write_private(&folder.join("service-account.pub"), accounts.public_key_pem().as_bytes())?;
    Ok(authority.pem())
}

fn key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn params(name: &str, today: Date) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    // A day of the calendar always fits: months and days are below 32.
    let day = |date: Date| date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs());
    params.not_before = day(today.saturating_sub(1.day()));
    params.not_after = day(today.saturating_add(1.year()));
    params
}

#[cfg(test)]
mod tests;
