//! Connect: the harness with the user's credentials, the subject with an account that can write in
//! the harness's namespaces only.

use super::{ExistingCluster, KubeconfigOptions, TenancyError};
use crate::ClusterError;
use crate::backend::Connect;
use crate::error_chain::chain_once;
use crate::facts::ClusterFacts;
use crate::installation::installation;
use crate::ownership::INSTALLATION_LABEL;

/// The server's version, if the server answers this user.
pub(super) async fn connect(client: &kube::Client, options: &KubeconfigOptions) -> Result<String, ClusterError> {
    let version = client.apiserver_version().await;
    Ok(version.map_err(|error| unreachable(options, &error))?.git_version)
}

/// The label of everything that this installation creates on a cluster that outlives the run.
pub fn label() -> (&'static str, &'static str) {
    (INSTALLATION_LABEL, installation())
}

fn unreachable(options: &KubeconfigOptions, error: &dyn std::error::Error) -> ClusterError {
    TenancyError::Unreachable { context: options.context.clone(), why: chain_once(error) }.into()
}

impl Connect for ExistingCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    async fn grant_namespace_access(&self, namespace: &str) -> Result<(), ClusterError> {
        self.occupancy.tenancy.grant_namespace_access(namespace).await
    }
}
