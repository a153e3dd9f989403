//! Boots a cluster from a plan, until it is ready.

use std::path::Path;

use super::existing::ExistingCluster;
use super::kind::KindCluster;
use super::{Cluster, ClusterError, ClusterPlan, Site, containers, processes, simulated_process, user_dir};

/// Boots a cluster that belongs to this process: it ends when the last [`Cluster`] is dropped, or
/// with this process.
///
/// # Errors
/// See [`ClusterError`]; nothing is left behind in that case.
pub async fn boot(plan: &ClusterPlan) -> Result<Cluster, ClusterError> {
    boot_in(&user_dir::user_temp_dir()?, plan).await
}

/// Like [`boot`], with its files in a new folder in `parent`; the cluster can always be detached
/// from this process.
pub(super) async fn boot_in(parent: &Path, plan: &ClusterPlan) -> Result<Cluster, ClusterError> {
    match &plan.site {
        Site::Sim => simulated_process::start(parent, plan).await.map(Cluster::SimulatedProcess),
        Site::ControlPlane => processes::start(parent, plan).await.map(Cluster::Processes),
        Site::Containers(options) => containers::start(parent, plan, options).await.map(Cluster::Containers),
        Site::Kind(options) => KindCluster::start(parent, plan, options).await.map(Cluster::Kind),
        Site::Kubeconfig(options) => ExistingCluster::start(parent, plan, options).await.map(Cluster::Existing),
    }
}
