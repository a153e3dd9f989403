//! Connect: clients call the server directly.

use kube_apiserver_sim::ApiServer;

use super::SimulatedCluster;
use crate::backend::Connect;
use crate::facts::ClusterFacts;
use crate::{ClusterAccess, ClusterError, Credential};

/// The server has no address and requires no credentials.
pub(super) fn connect() -> ClusterAccess {
    ClusterAccess {
        server: String::new(),
        server_name: None,
        ca_pem: String::new(),
        proxy: None,
        admin: Credential::Token(String::new()),
        subject_token: String::new(),
    }
}

impl Connect for SimulatedCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    async fn client(&self) -> Result<kube::Client, ClusterError> {
        Ok(self.server.without_managed_fields().client())
    }

    fn virtual_time_server(&self) -> Option<&ApiServer> {
        Some(&self.server)
    }
}
