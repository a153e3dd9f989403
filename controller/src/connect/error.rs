//! Why no client can be made.

use std::path::PathBuf;

use thiserror::Error;

/// Why there is no client. Retrying helps with none of these, so the program exits.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// A kubeconfig cannot be read.
    #[error("cannot read kubeconfig {path}: {why}", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why, without what the file holds.
        why: String,
    },
    /// A kubeconfig is inconsistent.
    #[error("cannot use kubeconfig: {0}")]
    Use(String),
    /// There is neither a kubeconfig nor a service account.
    #[error("no usable kubeconfig: {0}; set KUBECONFIG or --kubeconfig")]
    None(String),
    /// A proxy that cannot be used. The message omits its address, which may hold a password.
    #[error("cannot use the proxy from {variable}: {why}; write it as http://HOST:PORT")]
    Proxy {
        /// Where it is configured.
        variable: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The address of the API server has a user in it, whose password would be logged with it.
    #[error("the API server's address has a user in it: write username and password of the kubeconfig's user instead")]
    ServerUser,
    /// The address of a webhook is none. The message omits it: whoever knows that of a chat may
    /// write there.
    #[error(
        "the address of the webhook is not a URL: write it as https://HOST/PATH or https://USER:PASSWORD@HOST/PATH"
    )]
    Webhook,
    /// A name for TLS is none.
    #[error("tls-server-name {0:?} is neither a host's name nor an address; correct it in the kubeconfig")]
    ServerName(String),
    /// Credentials or certificates are unusable.
    #[error("cannot make a client: {0}")]
    Client(String),
}
