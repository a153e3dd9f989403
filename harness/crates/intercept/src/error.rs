use std::net::IpAddr;

/// Why the interceptor cannot start.
#[derive(Debug, thiserror::Error)]
pub enum InterceptorError {
    /// The interceptor cannot listen.
    #[error("the interceptor cannot listen on {host}: {source}")]
    Listen {
        /// The address.
        host: IpAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The interceptor's certificate cannot be created.
    #[error("cannot make the interceptor's certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refuses a certificate or a key.
    #[error("cannot set up TLS for the interceptor: {0}")]
    Tls(#[from] rustls::Error),
    /// The cluster's CA is not a PEM certificate.
    #[error("the cluster's CA is not a certificate: {0}")]
    Ca(String),
    /// The cluster's address is invalid.
    #[error("the cluster's address {0} is not of the form https://HOST:PORT")]
    Address(String),
}
