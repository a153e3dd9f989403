//! Connect: with two service accounts, which are created with kind's kubeconfig.

use std::collections::BTreeMap;
use std::path::Path;

use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;

use super::{KindCluster, KindNode};
use crate::access::client_from_kubeconfig;
use crate::backend::Connect;
use crate::facts::ClusterFacts;
use crate::user_dir::write_private_file;
use crate::{ClusterError, SiteName, accounts, programs};

/// A client from kind's kubeconfig, which has a client certificate.
pub(super) fn client(kubeconfig: &str) -> Result<kube::Client, ClusterError> {
    client_from_kubeconfig(kubeconfig)
}

/// Writes the kubeconfig into the cluster's folder, for kubectl.
pub(super) fn write_kubeconfig(dir: &Path, kubeconfig: &str) -> Result<(), ClusterError> {
    write_private_file(&programs::admin_kubeconfig(dir), kubeconfig.as_bytes())
}

/// Asks for the server's version and creates the accounts.
pub(super) async fn connect(
    client: &kube::Client,
    kubeconfig: &str,
    dir: &Path,
    without: &ControllerSet,
) -> Result<ClusterFacts, ClusterError> {
    let version = client.apiserver_version().await.map_err(ClusterError::request("asking for the version"))?;
    Ok(ClusterFacts {
        identity: Identity::new(SiteName::Kind, programs::APISERVER, version.git_version),
        access: accounts::create_accounts(client, kubeconfig).await?,
        dir: dir.to_owned(),
        programs: BTreeMap::new(),
        without: without.clone(),
    })
}

impl Connect for KindCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    fn node(&self) -> Option<&KindNode> {
        Some(&self.node)
    }
}
