use std::net::IpAddr;

/// Why there is no gate.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The gate has nowhere to listen.
    #[error("the gate cannot listen on {host}: {source}")]
    Listen {
        /// The address.
        host: IpAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The gate has no certificate of its own.
    #[error("the gate's certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refuses a certificate or a key.
    #[error("the gate's TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The cluster's CA is not a PEM certificate.
    #[error("the cluster's CA is no certificate: {0}")]
    Ca(String),
    /// The cluster's address is not one.
    #[error("the cluster's address {0} is not of the form https://HOST:PORT")]
    Address(String),
}
