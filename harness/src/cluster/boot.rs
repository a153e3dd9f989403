//! From a plan to a cluster that says it is ready.

use std::path::Path;
use std::sync::Arc;

use super::{Cluster, ClusterError, Plan, Site, containers, kind, own, place, processes, served};
use crate::supervise::Supervisor;

/// A cluster, and who ends it; nobody does where it was there before, or is to stay.
pub(super) struct Booted {
    pub(super) cluster: Cluster,
    pub(super) supervisor: Option<Supervisor>,
}

/// Boot a cluster that belongs to this process: it ends when the last [`Cluster`] is dropped, or with this process.
///
/// # Errors
/// See [`ClusterError`]; nothing is left behind then.
pub async fn boot(plan: &Plan) -> Result<Cluster, ClusterError> {
    if plan.site == Site::Sim {
        return served::boot(&place::of_user()?, plan);
    }
    let Booted { mut cluster, supervisor } = boot_in(&place::of_user()?, plan).await?;
    cluster.owned = supervisor.map(Arc::new);
    Ok(cluster)
}

/// Boot a cluster with its files in a new folder inside of `parent`; it is the supervisor's to end.
pub(super) async fn boot_in(parent: &Path, plan: &Plan) -> Result<Booted, ClusterError> {
    match &plan.site {
        Site::Sim => served::stand_in(parent, plan).await,
        Site::ControlPlane => processes::boot_in(parent, plan).await,
        Site::Containers(wish) => containers::boot_in(parent, plan, wish).await,
        Site::Kind(wish) => kind::boot_in(parent, plan, wish).await,
        Site::Kubeconfig(wish) => own::boot_in(parent, plan, wish).await,
    }
}
