//! The certificate that the metrics are served with.
//!
//! Either the operator's, read again every minute so that cert-manager can rotate it, or a
//! self-signed one generated at start, as in controller-runtime. The latter protects a scraper's
//! token from eavesdroppers, but does not authenticate this process to the scraper.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rcgen::{CertificateParams, DnType, KeyPair};
use tokio::time::Instant;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::TlsError;
use crate::clock;

/// Interval at which the files are read again.
const RELOAD_INTERVAL: Duration = Duration::from_secs(60);

/// The server side of TLS; clones share it.
#[derive(Clone)]
pub struct Tls(Arc<CertificateSource>);

struct CertificateSource {
    /// Contains `tls.crt` and `tls.key`; `None` if the certificate is self-signed.
    folder: Option<PathBuf>,
    config: Mutex<(Arc<ServerConfig>, Instant)>,
}

impl Tls {
    /// Reads `tls.crt` and `tls.key` from a folder, or makes a self-signed certificate for `host`.
    ///
    /// # Errors
    /// If the files cannot be used, or no certificate can be made.
    pub fn new(folder: Option<&Path>, host: &str) -> Result<Self, TlsError> {
        let config = match folder {
            Some(folder) => read(folder)?,
            None => self_signed(host)?,
        };
        let config = Mutex::new((Arc::new(config), clock::instant()));
        Ok(Self(Arc::new(CertificateSource { folder: folder.map(Path::to_owned), config })))
    }

    /// The configuration for the next connection.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let mut last = self.0.config.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::instant();
        if let Some(folder) = self.0.folder.as_ref().filter(|_| now >= last.1 + RELOAD_INTERVAL) {
            last.1 = now;
            match read(folder) {
                Ok(config) => last.0 = Arc::new(config),
                Err(error) => tracing::warn!(%error, "Cannot re-read the certificate; keeping the previous one."),
            }
        }
        last.0.clone()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Tls").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}

fn read(folder: &Path) -> Result<ServerConfig, TlsError> {
    let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    let failed = |path: &Path, why: String| TlsError::Read { path: path.to_owned(), why };
    let chain = CertificateDer::pem_file_iter(&certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| failed(&certificate, error.to_string()))?;
    let secret = PrivateKeyDer::from_pem_file(&key).map_err(|error| failed(&key, error.to_string()))?;
    config(chain, secret).map_err(|error| failed(&certificate, error.to_string()))
}

fn self_signed(host: &str) -> Result<ServerConfig, TlsError> {
    let failed = |why: rcgen::Error| TlsError::Make(why.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    // Some host names are not valid in a certificate.
    names.extend(Some(host.to_owned()).filter(|host| CertificateParams::new(vec![host.clone()]).is_ok()));
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.distinguished_name.push(DnType::CommonName, "rollout-controller metrics");
    let certificate = params.self_signed(&key).map_err(failed)?;
    let secret = PrivatePkcs8KeyDer::from(key.serialize_der());
    config(vec![certificate.der().clone()], secret.into()).map_err(|error| TlsError::Make(error.to_string()))
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, tokio_rustls::rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn replaced_certificate_is_read_again() {
        let folder = std::env::temp_dir().join(format!("rollout-controller-tls-{}", std::process::id()));
        write(&folder);
        let tls = Tls::new(Some(&folder), "").unwrap();
        let first = tls.config();
        write(&folder);
        assert!(Arc::ptr_eq(&first, &tls.config()), "not at every connection");
        clock::sleep(RELOAD_INTERVAL).await;
        let second = tls.config();
        assert!(!Arc::ptr_eq(&first, &second));
        std::fs::write(folder.join("tls.key"), "no key").unwrap();
        clock::sleep(RELOAD_INTERVAL).await;
        assert!(Arc::ptr_eq(&second, &tls.config()), "the last good one is kept");
        let error = Tls::new(Some(&folder), "").unwrap_err().to_string();
        assert!(error.contains("tls.key") && error.contains("--metrics-cert-path"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn self_signed_certificate_is_generated_for_any_host() {
        for host in ["web-1", "Ünderscore_", ""] {
            Tls::new(None, host).unwrap();
        }
    }
}
