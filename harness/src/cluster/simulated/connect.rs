//! Connect: by clients that call the server directly.

use kube_apiserver_sim::ApiServer;

use super::Simulated;
use crate::cluster::facts::Facts;
use crate::cluster::questions::Connect;
use crate::cluster::{Access, ClusterError, Credential};

/// It has no address and asks for no credential.
pub(super) fn connect() -> Access {
    Access {
        server: String::new(),
        server_name: None,
        ca_pem: String::new(),
        proxy: None,
        admin: Credential::Token(String::new()),
        subject_token: String::new(),
    }
}

impl Connect for Simulated {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn client(&self) -> Result<kube::Client, ClusterError> {
        Ok(self.server.without_managed_fields().client())
    }

    fn in_virtual_time(&self) -> Option<&ApiServer> {
        Some(&self.server)
    }
}
