//! How to talk to a cluster, and as whom.

use std::fmt;

use k8s_openapi::ByteString;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ClusterError;

/// An API server's address, the CA that vouches for it, and two bearer tokens. Serialised it is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// `https://127.0.0.1:PORT`
    pub server: String,
    /// The CA's certificate, PEM.
    pub ca_pem: String,
    /// The harness's own token, in the group `system:masters`.
    pub admin_token: String,
    /// The token of the controller under test, user `lockstep:subject`.
    pub subject_token: String,
}

/// Whose token.
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
    /// A client for the harness itself.
    pub fn admin_client(&self) -> Result<kube::Client, ClusterError> {
        self.client(User::Admin)
    }

    /// A client with the subject's rights, past the gate.
    pub fn subject_client(&self) -> Result<kube::Client, ClusterError> {
        self.client(User::Subject)
    }

    /// A client that repeats nothing by itself and lets a watch be silent for as long as it likes. Needs a tokio runtime.
    pub fn client(&self, user: User) -> Result<kube::Client, ClusterError> {
        let failed = |why: String| ClusterError::Client { server: self.server.clone(), why };
        let uri = self.server.parse().map_err(|error| failed(format!("{error}")))?;
        let ca = CertificateDer::from_pem_slice(self.ca_pem.as_bytes()).map_err(|error| failed(error.to_string()))?;
        let mut config = kube::Config::new(uri);
        config.root_cert = Some(vec![ca.to_vec()]);
        config.auth_info.token = Some(self.token(user).to_owned().into());
        config.default_retry = false; // or a fault would be hidden from whoever asks for it
        config.read_timeout = None;
        kube::Client::try_from(config).map_err(|error| failed(error.to_string()))
    }

    /// A kubeconfig file, YAML, for this user.
    pub fn kubeconfig(&self, user: User) -> String {
        kubeconfig(&self.server, &self.ca_pem, self.token(user))
    }

    /// The user's bearer token.
    pub fn token(&self, user: User) -> &str {
        match user {
            User::Admin => &self.admin_token,
            User::Subject => &self.subject_token,
        }
    }
}

/// Tokens do not belong in logs.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("server", &self.server).finish_non_exhaustive()
    }
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
    use kube::config::Kubeconfig;

    use super::*;

    fn access() -> Access {
        Access {
            server: "https://127.0.0.1:6443".to_owned(),
            ca_pem: "-----BEGIN CERTIFICATE-----\n".to_owned(),
            admin_token: "secret-a".to_owned(),
            subject_token: "secret-s".to_owned(),
        }
    }

    #[test]
    fn kube_reads_the_kubeconfig_back() {
        let read = Kubeconfig::from_yaml(&access().kubeconfig(User::Subject)).unwrap();
        let cluster = read.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:6443"));
        assert_eq!(cluster.certificate_authority_data.as_deref(), Some("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="));
        assert!(read.auth_infos[0].auth_info.as_ref().unwrap().token.is_some());
    }

    #[test]
    fn debug_keeps_the_tokens_to_itself() {
        let shown = format!("{:?}", access());
        assert!(shown.contains("127.0.0.1:6443") && !shown.contains("secret"), "{shown}");
    }
}
