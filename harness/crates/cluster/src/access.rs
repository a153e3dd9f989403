//! A cluster's address and credentials.

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
use super::client::{Authorization, build_client};
use super::existing::{ResolvedContext, read as read_kubeconfig};
use super::proxy::ForwardProxy;

/// The address of an API server, its CAs, and the credentials of the harness and of the subject.
/// The serialised form is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAccess {
    /// `https://HOST:PORT`, with a path if the server is behind another one.
    pub server: String,
    /// The name in the server's certificate, if it differs from the host in the address.
    pub server_name: Option<String>,
    /// The certificates of the CAs, PEM.
    pub ca_pem: String,
    /// The proxy to the server, if there is one; never for a server on loopback.
    #[serde(default)]
    pub proxy: Option<ForwardProxy>,
    /// The credential of the harness.
    pub admin: Credential,
    /// The token of the controller under test.
    pub subject_token: String,
}

/// How the harness authenticates to a server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Credential {
    /// A bearer token with all permissions.
    Token(String),
    /// As the user of a context of the user's kubeconfig, which is read again for each client. Not
    /// a secret in itself.
    Kubeconfig {
        /// The files, merged as kubectl merges them.
        files: Vec<PathBuf>,
        /// The context's name.
        context: String,
    },
}

/// The owner of a token, on a cluster that is created with the harness's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenUser {
    /// The harness.
    Admin,
    /// The controller under test.
    Subject,
}

impl TokenUser {
    /// The user name that the API server sees.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Admin => "lockstep:admin",
            Self::Subject => "lockstep:subject",
        }
    }
}

impl ClusterAccess {
    /// A client for the harness. It does not retry, and it sets no time limit on a silent watch.
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// When the credential cannot be read, or no client can be built from it.
    pub async fn admin_client(&self) -> Result<kube::Client, ClusterError> {
        match &self.admin {
            Credential::Token(token) => self.client(token),
            Credential::Kubeconfig { files, context } => {
                Ok(ResolvedContext::new(&read_kubeconfig(files)?, Some(context))?.client(CONNECT_TIMEOUT)?)
            }
        }
    }

    /// A client with the subject's permissions, without the interceptor.
    ///
    /// # Errors
    /// When no client can be built from address and CA.
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
        build_client(&config, authorization, self.proxy.as_ref(), CONNECT_TIMEOUT).map_err(failed)
    }
}

/// Omits the credentials, which do not belong in logs.
impl fmt::Debug for ClusterAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterAccess").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The time limit for connecting to a server.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A client for the current context of a kubeconfig. Its server is on this machine, so no proxy is
/// used.
///
/// # Errors
/// When no client can be built from the kubeconfig.
pub fn client_from_kubeconfig(text: &str) -> Result<kube::Client, ClusterError> {
    let failed = |why: String| ClusterError::Client { server: "the kubeconfig".to_owned(), why };
    let file = Kubeconfig::from_yaml(text).map_err(|error| failed(error.to_string()))?;
    let mut connection = ResolvedContext::new(&file, None)?;
    connection.proxy = None;
    Ok(connection.client(CONNECT_TIMEOUT)?)
}

/// A kubeconfig file with one cluster, one user and one context.
pub fn kubeconfig(server: &str, ca_pem: &str, token: &str) -> String {
    // The Kubernetes API's type for bytes serialises them as base64, as this field requires.
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
    fn debug_output_omits_tokens() {
        let access = ClusterAccess {
            server: "https://127.0.0.1:6443".to_owned(),
            server_name: None,
            ca_pem: String::new(),
            proxy: None,
            admin: Credential::Token("secret-a".to_owned()),
            subject_token: "secret-s".to_owned(),
        };
        let output = format!("{access:?}");
        assert!(output.contains("127.0.0.1:6443") && !output.contains("secret"), "{output}");
    }
}
