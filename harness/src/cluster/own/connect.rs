//! Connect: the harness as its user, the subject by an account that writes in the harness's
//! namespaces alone.

use super::{Own, TenancyError, Wish};
use crate::causes::chain_once;
use crate::cluster::ClusterError;
use crate::cluster::facts::Facts;
use crate::cluster::installation::installation;
use crate::cluster::ours::INSTALLATION;
use crate::cluster::questions::Connect;

/// The server's version, if it answers this user.
pub(super) async fn connect(client: &kube::Client, wish: &Wish) -> Result<String, ClusterError> {
    let version = client.apiserver_version().await;
    Ok(version.map_err(|error| unreachable(wish, &error))?.git_version)
}

/// The label of everything that this installation makes on a cluster that outlives the run.
pub fn label() -> (&'static str, &'static str) {
    (INSTALLATION, installation())
}

fn unreachable(wish: &Wish, error: &dyn std::error::Error) -> ClusterError {
    TenancyError::Unreachable { context: wish.context.clone(), why: chain_once(error) }.into()
}

impl Connect for Own {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn admit(&self, namespace: &str) -> Result<(), ClusterError> {
        self.held.tenancy.admit(namespace).await
    }
}
