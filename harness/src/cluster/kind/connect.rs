//! Connect: by two service accounts that are made by means of kind's own kubeconfig.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Kind, Node};
use crate::cluster::access::client_of;
use crate::cluster::facts::Facts;
use crate::cluster::place::write_private;
use crate::cluster::questions::Connect;
use crate::cluster::{ClusterError, SiteName, accounts, programs};
use crate::controllers::Controllers;
use crate::recording::Identity;

/// A client by a kubeconfig of kind's, which has a certificate.
pub(super) fn client(kubeconfig: &str) -> Result<kube::Client, ClusterError> {
    client_of(kubeconfig)
}

/// The kubeconfig in the cluster's folder, for kubectl.
pub(super) fn write_kubeconfig(dir: &Path, kubeconfig: &str) -> Result<(), ClusterError> {
    write_private(&programs::admin_kubeconfig(dir), kubeconfig.as_bytes())
}

/// Ask what the server is, and make the accounts.
pub(super) async fn connect(
    client: &kube::Client,
    kubeconfig: &str,
    dir: &Path,
    without: &Controllers,
) -> Result<Facts, ClusterError> {
    let version = client.apiserver_version().await.map_err(ClusterError::request("asking for the version"))?;
    Ok(Facts {
        identity: Identity::new(SiteName::Kind, programs::APISERVER, version.git_version),
        access: accounts::admit(client, kubeconfig).await?,
        dir: dir.to_owned(),
        programs: BTreeMap::new(),
        without: without.clone(),
    })
}

impl Connect for Kind {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn node(&self) -> Option<&Node> {
        Some(&self.node)
    }
}
