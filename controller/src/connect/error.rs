//! Why there is no way to an API server.

use std::path::PathBuf;

use kube::config::{InferConfigError, KubeconfigError};
use thiserror::Error;

/// Why there is no client. None of these mends itself: the program ends.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// A kubeconfig cannot be read.
    #[error("cannot read kubeconfig {path}: {source}", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// A kubeconfig makes no sense.
    #[error("cannot use kubeconfig: {0}")]
    Use(#[source] Box<KubeconfigError>),
    /// There is neither a kubeconfig nor a service account.
    #[error("no usable kubeconfig: {0}; set KUBECONFIG or --kubeconfig")]
    None(#[source] Box<InferConfigError>),
    /// A proxy that cannot be used. Its address is not shown: it may hold a password.
    #[error("cannot use the proxy that {variable} names: {why}; write it as http://HOST:PORT")]
    Proxy {
        /// Where it is named.
        variable: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A name for TLS is none.
    #[error("tls-server-name {0:?} is neither a host's name nor an address; correct it in the kubeconfig")]
    ServerName(String),
    /// Credentials or certificates are unusable.
    #[error("cannot make a client: {0}")]
    Client(#[source] Box<kube::Error>),
}
