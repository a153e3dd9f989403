//! Errors that prevent a client.

use std::path::PathBuf;

use thiserror::Error;

/// Why there is no client. A retry cannot help, so the program exits.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// A kubeconfig cannot be read.
    #[error("cannot read kubeconfig {path}: {why}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason, without the file's content.
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
    /// The API server's address contains a user, whose password would be logged with it.
    #[error("the API server's address has a user in it: write username and password of the kubeconfig's user instead")]
    ServerUser,
    /// A webhook's address is not a URL. The message omits it, because anyone who knows a chat's
    /// address can post there.
    #[error(
        "the address of the webhook is not a URL: write it as https://HOST/PATH or https://USER:PASSWORD@HOST/PATH"
    )]
    Webhook,
    /// The TLS server name is neither a host name nor an address.
    #[error("tls-server-name {0:?} is neither a host's name nor an address; correct it in the kubeconfig")]
    ServerName(String),
    /// Credentials or certificates are unusable.
    #[error("cannot make a client: {0}")]
    Client(String),
}
