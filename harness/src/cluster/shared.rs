//! One cluster for all trials of a run.
//!
//! nextest runs every trial in a process of its own, and a boot takes seconds. So the first trial of a
//! run that needs a control plane boots one and lets its supervisor live on until nextest itself is
//! gone; the others find it in a folder that the run's id names, and attach. A boot that failed is
//! remembered as well: the same words for every trial, at once. Without nextest the cluster belongs to
//! this process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

use super::boot::{Plan, boot, boot_in};
use super::exclusive::lock;
use super::place::{make_private, of_user, write_private};
use super::{Cluster, ClusterError};
use crate::supervise::{ProcessId, Supervisor, Until};

/// Where nextest says which run a process belongs to.
const RUN_ID: &str = "NEXTEST_RUN_ID";

/// The clusters that belong to this process, or why there are none.
static OWN: Mutex<BTreeMap<String, Result<Cluster, String>>> = Mutex::const_new(BTreeMap::new());

/// A run that several processes take part in.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id, the same in all of them.
    pub id: String,
    /// The process with which the run ends.
    pub process: ProcessId,
}

impl Run {
    /// The nextest run that this process belongs to.
    pub fn of_nextest() -> Option<Self> {
        let id = std::env::var(RUN_ID).ok().filter(|id| !id.is_empty())?;
        // A wrapper may stand between nextest and a trial; where ancestors cannot be seen, the parent has to do.
        let process = ProcessId::ancestor("cargo-nextest").or_else(ProcessId::parent)?;
        Some(Self { id, process })
    }
}

/// The control plane of this run, or of this process, with the lab's half whole.
pub async fn obtain(version: &str) -> Result<Cluster, ClusterError> {
    obtain_for(&Plan::new(version)).await
}

/// The same for any plan: each has its own cluster.
pub async fn obtain_for(plan: &Plan) -> Result<Cluster, ClusterError> {
    match Run::of_nextest() {
        Some(run) => obtain_in(&run, plan).await,
        None => obtain_own(plan).await,
    }
}

/// The control plane that this process has for itself, booted on the first call.
async fn obtain_own(plan: &Plan) -> Result<Cluster, ClusterError> {
    let mut own = OWN.lock().await;
    let key = key(plan);
    match own.get(&key) {
        Some(Ok(cluster)) => Ok(cluster.clone()),
        Some(Err(why)) => Err(ClusterError::Remembered(why.clone())),
        None => {
            let booted = boot(plan).await;
            own.insert(key, booted.as_ref().map(Cluster::clone).map_err(ToString::to_string));
            booted
        }
    }
}

/// End what [`obtain`] booted for this process alone, and wait until it is gone. Without it that happens just after the process.
pub async fn release() {
    for (_, booted) in std::mem::take(&mut *OWN.lock().await) {
        if let Ok(cluster) = booted {
            cluster.shutdown().await;
        }
    }
}

/// The control plane of a run: attached to, or booted by whoever comes first.
pub async fn obtain_in(run: &Run, plan: &Plan) -> Result<Cluster, ClusterError> {
    let folder = of_user()?.join(format!("run-{}-{}", plain(&run.id), key(plan)));
    make_private(&folder)?;
    let _only_one = lock(folder.join("lock")).await?;
    let (state, failure) = (folder.join("cluster.json"), folder.join("failed"));
    if let Ok(why) = std::fs::read_to_string(&failure) {
        return Err(ClusterError::Remembered(why));
    }
    if let Some(found) = Cluster::load(&state) {
        if found.is_alive() {
            return Ok(found);
        }
        // Somebody killed a part of it. Its supervisor stays until the run ends, and removes the folder then.
        found.kill_programs();
    }
    match boot_in(&folder, plan).await {
        Ok((cluster, supervisor)) => {
            cluster.save(&state)?;
            supervisor.detach(until(run, &folder))?;
            Ok(cluster)
        }
        Err(error) => {
            remember(run, &folder, &failure, &error);
            Err(error)
        }
    }
}

/// Best effort: a trial that finds nothing tries again for itself.
fn remember(run: &Run, folder: &Path, failure: &Path, error: &ClusterError) {
    let kept = write_private(failure, error.to_string().as_bytes());
    let swept = Supervisor::start(folder, false).and_then(|sweeper| sweeper.detach(until(run, folder)));
    if kept.is_err() || swept.is_err() {
        // Nobody would remove it at the end of the run.
        let _ = std::fs::remove_file(failure);
    }
}

fn until(run: &Run, folder: &Path) -> Until {
    Until { gone: Some(run.process), remove: PathBuf::from(folder) }
}

/// What tells the clusters of one run apart.
fn key(plan: &Plan) -> String {
    plan.without.iter().fold(plain(&plan.version), |key, left_out| format!("{key}-no-{}", plain(left_out)))
}

/// Fit for a file's name.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_folders_of_their_own() {
        assert_eq!(key(&Plan::new("v1.36.3")), "v1.36.3");
        assert_eq!(key(&Plan::new("../v1").without(["replicaset", "a/b"])), ".._v1-no-a_b-no-replicaset");
    }
}
