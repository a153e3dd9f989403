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

/// Parses certificates as a client does. `harness/tests/cluster/tls_clients` uses
/// real clients.
#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::net::IpAddr;
    use std::os::unix::fs::PermissionsExt;

    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    const NOW: &str = "2026-11-21T10:00:00Z";

    /// The extensions that are read, by the last two bytes of their object identifiers (2.5.29.N).
    const SUBJECT_KEY: [u8; 2] = [29, 14];
    const KEY_USAGE: [u8; 2] = [29, 15];
    const NAMES_OF: [u8; 2] = [29, 17];
    const CONSTRAINTS: [u8; 2] = [29, 19];
    const AUTHORITY_KEY: [u8; 2] = [29, 35];
    const EXTENDED_USAGE: [u8; 2] = [29, 37];

    /// One DER value: tag and content.
    type Value<'a> = (u8, &'a [u8]);

    /// The parsed parts of a certificate (RFC 5280, section 4.1).
    struct ParsedCertificate {
        issuer: Vec<u8>,
        subject: Vec<u8>,
        /// By identifier: whether the extension is critical, and its content.
        extensions: BTreeMap<[u8; 2], (bool, Vec<u8>)>,
    }

    /// The consecutive DER values in some bytes.
    fn values(mut bytes: &[u8]) -> Vec<Value<'_>> {
        let mut found = Vec::new();
        while let [tag, first, rest @ ..] = bytes {
            let (length, rest) = match usize::from(*first) {
                short @ 0..0x80 => (short, rest),
                long => {
                    let (digits, rest) = rest.split_at(long - 0x80);
                    (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
                }
            };
            let (content, rest) = rest.split_at(length);
            found.push((*tag, content));
            bytes = rest;
        }
        found
    }

    fn nested_values(bytes: &[u8]) -> Vec<Value<'_>> {
        values(values(bytes)[0].1)
    }

    impl ParsedCertificate {
        fn of(der: &[u8]) -> Self {
            let signed = values(nested_values(der)[0].1);
            // Version, serial number, algorithm, issuer, validity, subject, key, extensions.
            let (issuer, subject) = (signed[3].1.to_vec(), signed[5].1.to_vec());
            let (tag, extensions) = signed[signed.len() - 1];
            assert_eq!(tag, 0xa3, "extensions come last");
            let extensions = nested_values(extensions).into_iter().map(|(_, extension)| {
                let parts = values(extension);
                let identifier = parts[0].1;
                let last = [identifier[identifier.len() - 2], identifier[identifier.len() - 1]];
                (last, (parts.len() == 3 && parts[1] == (1, &[0xff]), parts[parts.len() - 1].1.to_vec()))
            });
            Self { issuer, subject, extensions: extensions.collect() }
        }

        fn critical(&self, identifier: [u8; 2]) -> bool {
            self.extensions[&identifier].0
        }

        fn content(&self, identifier: [u8; 2]) -> Option<&[u8]> {
            self.extensions.get(&identifier).map(|(_, content)| content.as_slice())
        }

        /// The identifier of its own key.
        fn key(&self) -> Option<Vec<u8>> {
            Some(values(self.content(SUBJECT_KEY)?)[0].1.to_vec())
        }

        /// The identifier of the key that signed it.
        fn signed_with(&self) -> Option<Vec<u8>> {
            nested_values(self.content(AUTHORITY_KEY)?)
                .into_iter()
                .find_map(|(tag, id)| (tag == 0x80).then(|| id.to_vec()))
        }

        /// Whether it is marked as a CA.
        fn is_authority(&self) -> bool {
            nested_values(self.content(CONSTRAINTS).unwrap()).first() == Some(&(1, &[0xff]))
        }

        /// The bits of its key usage, from the first (`digitalSignature`) on.
        fn usage(&self) -> u8 {
            values(self.content(KEY_USAGE).unwrap())[0].1[1]
        }

        /// Its extended key usages: 1 for a server, 2 for a client.
        fn purposes(&self) -> Vec<u8> {
            let purposes = nested_values(self.content(EXTENDED_USAGE).unwrap());
            purposes.into_iter().map(|(_, identifier)| identifier[identifier.len() - 1]).collect()
        }

        /// Its alternative names and addresses.
        fn names(&self) -> BTreeSet<String> {
            let name = |(tag, bytes): Value<'_>| match (tag, bytes.len()) {
                (0x82, _) => String::from_utf8(bytes.to_vec()).unwrap(),
                (0x87, 4) => IpAddr::from(<[u8; 4]>::try_from(bytes).unwrap()).to_string(),
                (0x87, 16) => IpAddr::from(<[u8; 16]>::try_from(bytes).unwrap()).to_string(),
                other => panic!("a name of another kind: {other:?}"),
            };
            nested_values(self.content(NAMES_OF).unwrap()).into_iter().map(name).collect()
        }
    }

    /// An authority's certificate, and those that it signs for a server, a client, and a peer,
    /// which is both.
    fn issued() -> (ParsedCertificate, [ParsedCertificate; 3]) {
        let authority = Authority::new("lockstep interceptor", NOW.parse().unwrap()).unwrap();
        let authority = authority.with_names(&["172.18.0.1".to_owned(), "plane-etcd".to_owned()]);
        let leaves = [Authority::server, Authority::client, Authority::peer];
        let leaves = leaves
            .map(|sign| ParsedCertificate::of(sign(&authority, "lockstep interceptor").unwrap().certificate.der()));
        (ParsedCertificate::of(&CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()), leaves)
    }

    #[test]
    fn authority_and_signed_certificates_differ_in_name_and_key() {
        let (authority, leaves) = issued();
        assert_eq!(authority.issuer, authority.subject);
        assert!(authority.is_authority() && authority.critical(CONSTRAINTS));
        assert!(authority.usage() & 0b0000_0100 != 0 && authority.critical(KEY_USAGE), "keyCertSign");

        let mut keys = BTreeSet::from([authority.key().unwrap()]);
        for leaf in &leaves {
            assert_eq!(leaf.issuer, authority.subject);
            assert_ne!(leaf.subject, authority.subject, "OpenSSL takes it for self-signed");
            assert!(!leaf.is_authority());
            assert_eq!(leaf.usage(), 0b1000_0000, "digitalSignature");
            assert_eq!(leaf.signed_with(), authority.key());
            assert!(keys.insert(leaf.key().unwrap()), "every certificate has a key of its own");
        }
        assert_eq!(leaves.map(|leaf| leaf.purposes()), [vec![1], vec![2], vec![1, 2]]);
    }

    #[test]
    fn a_server_is_known_by_every_address_that_it_may_be_reached_by() {
        let (_, [server, ..]) = issued();
        let wanted: BTreeSet<String> =
            NAMES.iter().chain(&["172.18.0.1", "plane-etcd"]).map(ToString::to_string).collect();
        assert_eq!(server.names(), wanted);
    }

    #[test]
    fn keys_are_readable_by_their_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("pki");
        let ca = issue_control_plane(&folder, &["plane-etcd".to_owned()], NOW.parse().unwrap()).unwrap();
        assert!(ca.starts_with("-----BEGIN CERTIFICATE-----"));
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 9);
        for file in files {
            let mode = file.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
    }
}
