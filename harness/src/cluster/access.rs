//! How to talk to a cluster, and as whom.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::ByteString;
use kube::config::Kubeconfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ClusterError;
use super::client::{Authorization, client};
use super::own::{Connection, read as read_kubeconfig};
use super::proxy::Proxy;

/// An API server's address, the CAs that vouch for it, and in whose name to talk to it. Serialised
/// it is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// `https://HOST:PORT`, and a path where the server stands behind somebody else's.
    pub server: String,
    /// The name that the server's certificate is for, where it is not the one in the address.
    pub server_name: Option<String>,
    /// The CAs' certificates, PEM.
    pub ca_pem: String,
    /// What leads to it, where that is not the way itself; never for a server on loopback.
    #[serde(default)]
    pub proxy: Option<Proxy>,
    /// How the harness itself is known.
    pub admin: Credential,
    /// The token of the controller under test.
    pub subject_token: String,
}

/// How the harness makes itself known to a server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Credential {
    /// A bearer token of its own, with every right.
    Token(String),
    /// As the user does: whatever a context of the user's kubeconfig says, read anew for each
    /// client. No secret in itself.
    Kubeconfig {
        /// The files, merged as kubectl does.
        files: Vec<PathBuf>,
        /// The context's name.
        context: String,
    },
}

/// Whose token, on a cluster that is made with our tokens in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The harness.
    Admin,
    /// The controller under test.
    Subject,
}

impl User {
    /// The user name that the API server sees.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "lockstep:admin",
            Self::Subject => "lockstep:subject",
        }
    }
}

impl Access {
    /// A client for the harness itself. It repeats nothing by itself and lets a watch be silent for
    /// as long as it likes. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the credential cannot be read, or makes no client.
    pub async fn admin_client(&self) -> Result<kube::Client, ClusterError> {
        match &self.admin {
            Credential::Token(token) => self.client(token),
            Credential::Kubeconfig { files, context } => {
                Ok(Connection::new(&read_kubeconfig(files)?, Some(context))?.client(LIMIT)?)
            }
        }
    }

    /// A client with the subject's rights, past the interceptor.
    ///
    /// # Errors
    /// When address and CA make no client.
    pub fn subject_client(&self) -> Result<kube::Client, ClusterError> {
        self.client(&self.subject_token)
    }

    fn client(&self, token: &str) -> Result<kube::Client, ClusterError> {
        let failed = |why: String| ClusterError::Client { server: self.server.clone(), why };
        let uri = self.server.parse().map_err(|error| failed(format!("{error}")))?;
        let mut authorities = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(self.ca_pem.as_bytes()) {
            authorities.push(certificate.map_err(|error| failed(error.to_string()))?.to_vec());
        }
        let mut config = kube::Config::new(uri);
        config.root_cert = Some(authorities);
        config.tls_server_name.clone_from(&self.server_name);
        let authorization = Authorization { token: Some(token.to_owned()), ..Authorization::default() };
        client(&config, authorization, self.proxy.as_ref(), LIMIT).map_err(failed)
    }
}

/// Secrets do not belong in logs.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("server", &self.server).finish_non_exhaustive()
    }
}

/// How long a server may take to take a connection.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A client by the current context of a kubeconfig that leads to a server on this machine, so by no
/// proxy.
///
/// # Errors
/// When the kubeconfig makes no client.
pub(crate) fn client_of(text: &str) -> Result<kube::Client, ClusterError> {
    let failed = |why: String| ClusterError::Client { server: "the kubeconfig".to_owned(), why };
    let file = Kubeconfig::from_yaml(text).map_err(|error| failed(error.to_string()))?;
    let mut connection = Connection::new(&file, None)?;
    connection.proxy = None;
    Ok(connection.client(LIMIT)?)
}

/// A kubeconfig file with one cluster, one user and one context.
pub(crate) fn kubeconfig(server: &str, ca_pem: &str, token: &str) -> String {
    // The API's own type for bytes writes them as base64, which is what this field wants.
    let ca = ByteString(ca_pem.as_bytes().to_vec());
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lockstep", "cluster": {"server": server, "certificate-authority-data": ca}}],
        "users": [{"name": "lockstep", "user": {"token": token}}],
        "contexts": [{"name": "lockstep", "context": {"cluster": "lockstep", "user": "lockstep"}}],
        "current-context": "lockstep",
    });
    serde_yaml::to_string(&config).expect("plain JSON can be written as YAML")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kube_reads_the_kubeconfig_back() {
        let text = kubeconfig("https://127.0.0.1:6443", "-----BEGIN CERTIFICATE-----\n", "secret-s");
        let read = Kubeconfig::from_yaml(&text).unwrap();
        let cluster = read.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:6443"));
        assert_eq!(cluster.certificate_authority_data.as_deref(), Some("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="));
        assert!(read.auth_infos[0].auth_info.as_ref().unwrap().token.is_some());
    }

    #[test]
    fn debug_keeps_the_tokens_to_itself() {
        let access = Access {
            server: "https://127.0.0.1:6443".to_owned(),
            server_name: None,
            ca_pem: String::new(),
            proxy: None,
            admin: Credential::Token("secret-a".to_owned()),
            subject_token: "secret-s".to_owned(),
        };
        let shown = format!("{access:?}");
        assert!(shown.contains("127.0.0.1:6443") && !shown.contains("secret"), "{shown}");
    }
}
