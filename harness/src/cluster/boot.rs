//! From a plan to a cluster that says it is ready.

use std::path::Path;

use super::kind::Kind;
use super::own::Own;
use super::{Cluster, ClusterError, Plan, Site, containers, place, processes, served};

/// Boot a cluster that belongs to this process: it ends when the last [`Cluster`] is dropped, or
/// with this process.
///
/// # Errors
/// See [`ClusterError`]; nothing is left behind then.
pub async fn boot(plan: &Plan) -> Result<Cluster, ClusterError> {
    boot_in(&place::of_user()?, plan).await
}

/// The same with its files in a new folder inside of `parent`, and always so that it can be
/// detached from this process.
pub(super) async fn boot_in(parent: &Path, plan: &Plan) -> Result<Cluster, ClusterError> {
    match &plan.site {
        Site::Sim => served::start(parent, plan).await.map(Cluster::Served),
        Site::ControlPlane => processes::start(parent, plan).await.map(Cluster::Processes),
        Site::Containers(wish) => containers::start(parent, plan, wish).await.map(Cluster::Containers),
        Site::Kind(wish) => Kind::start(parent, plan, wish).await.map(Cluster::Kind),
        Site::Kubeconfig(wish) => Own::start(parent, plan, wish).await.map(Cluster::Own),
    }
}
