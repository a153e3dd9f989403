//! Certificates and keys: a new authority for each cluster, and another for each interceptor.
//! Nothing else in the harness issues certificates.
//!
//! Clients differ in how they find the issuer of a certificate. Go and rustls try every key that
//! they trust. OpenSSL, and with it curl, Python, Ruby and Node, compares names: it treats a
//! certificate whose subject equals its issuer as self-signed. So an authority and the certificates
//! that it signs have different names and name the signing key, and all satisfy `openssl verify
//! -x509_strict`.
//!
//! The certificates are short-lived: they are valid only for loopback, for the API server's names
//! inside a cluster and for names on the cluster's own network, and they are deleted with the
//! cluster. Each is valid from yesterday, because clocks disagree, until next year.

use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::user_dir::write_private_file;
use super::{ClusterError, user_dir};

/// The names of every server: loopback, and the API server's names inside a cluster.
const NAMES: [&str; 7] = [
    "127.0.0.1",
    "::1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Signs certificates for loopback, for the names inside a cluster, and for further names.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    names: Vec<String>,
    today: Date,
}

/// A certificate with its key.
pub struct Leaf {
    certificate: Certificate,
    key: KeyPair,
}

impl Authority {
    /// A new authority; `name` is the name of its cluster or interceptor.
    pub fn new(name: &str, now: Timestamp) -> Result<Self, rcgen::Error> {
        let today = now.to_zoned(TimeZone::UTC).date();
        let mut params = params(&format!("{name} CA"), today);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let names = NAMES.map(str::to_owned).to_vec();
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, key()?)?, names, today })
    }

    /// Adds names to the certificates that it signs.
    pub fn with_names(mut self, names: &[String]) -> Self {
        self.names.extend_from_slice(names);
        self
    }

    /// The authority's own certificate, PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for a server on loopback, and for the authority's other names.
    pub fn server(&self, name: &str) -> Result<Leaf, rcgen::Error> {
        self.sign(name, &[ExtendedKeyUsagePurpose::ServerAuth])
    }

    /// A certificate for a client.
    pub(crate) fn client(&self, name: &str) -> Result<Leaf, rcgen::Error> {
        self.sign(name, &[ExtendedKeyUsagePurpose::ClientAuth])
    }

    /// A certificate for a server that is also a client of itself, such as etcd.
    pub(crate) fn peer(&self, name: &str) -> Result<Leaf, rcgen::Error> {
        self.sign(name, &[ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth])
    }

    fn sign(&self, name: &str, usages: &[ExtendedKeyUsagePurpose]) -> Result<Leaf, rcgen::Error> {
        let mut params = params(name, self.today);
        // OpenSSL's strict check requires this extension, and the key identifiers.
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
    /// The configuration of one of the harness's TLS servers: HTTP/2 and HTTP/1.1, without client
    /// certificates.
    pub fn server_config(self) -> Result<ServerConfig, rustls::Error> {
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.der().clone()], key.into())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn write(&self, folder: &Path, name: &str) -> Result<(), ClusterError> {
        write_private_file(&folder.join(format!("{name}.crt")), self.certificate.pem().as_bytes())?;
        write_private_file(&folder.join(format!("{name}.key")), self.key.serialize_pem().as_bytes())
    }
}

/// Writes everything that a control plane needs into `folder`, readable by this user only, and
/// returns the CA's certificate, PEM. Its servers listen on loopback, and have these `names` on a
/// network.
///
/// # Errors
/// When the folder is not private or cannot be written.
pub fn issue_control_plane(folder: &Path, names: &[String], now: Timestamp) -> Result<String, ClusterError> {
    user_dir::make_private_dir(folder)?;
    let authority = Authority::new("lockstep cluster", now)?.with_names(names);
    write_private_file(&folder.join("ca.crt"), authority.pem().as_bytes())?;
    authority.peer("etcd")?.write(folder, "etcd")?;
    authority.client("kube-apiserver")?.write(folder, "etcd-client")?;
    authority.server("kube-apiserver")?.write(folder, "kube-apiserver")?;
    let accounts = key()?;
    write_private_file(&folder.join("service-account.key"), accounts.serialize_pem().as_bytes())?;
    write_private_file(&folder.join("service-account.pub"), accounts.public_key_pem().as_bytes())?;
    Ok(authority.pem())
}

fn key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn params(name: &str, today: Date) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    // Months and days of a calendar date are below 32, so the conversion cannot fail.
    let day = |date: Date| date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs());
    params.not_before = day(today.saturating_sub(1.day()));
    params.not_after = day(today.saturating_add(1.year()));
    params
}

#[cfg(test)]
mod tests;
