//! One cluster for all trials of a nextest run.
//!
//! nextest runs every trial in its own process, and a boot takes seconds. So the first trial of a
//! run that needs a cluster boots one and lets its supervisor run until nextest ends; the others
//! find it in a folder named after the run's id, and attach. A failed boot is stored as well, and
//! every trial reports it at once. Without nextest the cluster belongs to this process.
//!
//! Parallel trials cannot share a cluster: two subjects on one cluster would act on each other's
//! Deployments. nextest gives each running trial of a group a slot, and each slot has its own
//! cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lockstep_recording::controllers::ControllerSet;
use lockstep_support::fingerprint::fingerprint;
use tokio::sync::Mutex;

use super::backend::Handover;
use super::dispatch::{boot, boot_in};
use super::plan::{sanitize_file_name, variable};
use super::user_dir::{lock, make_private_dir, user_temp_dir, write_private_file};
use super::{Cluster, ClusterError, ClusterPlan, DEFAULT_VERSION, Site, SiteName, containers, kind};
use crate::supervise::{DetachOptions, ProcessId, Supervisor};

/// nextest's variable for the run of a process.
const RUN_ID: &str = "NEXTEST_RUN_ID";
/// nextest's variable for the slot of a running trial in its group: a number from 0, or `none`.
const SLOT: &str = "NEXTEST_TEST_GROUP_SLOT";

/// The clusters of this process, or why they failed to boot.
static PROCESS_CLUSTERS: Mutex<BTreeMap<String, Result<Cluster, String>>> = Mutex::const_new(BTreeMap::new());

/// A nextest run, in which several processes share clusters.
#[derive(Debug, Clone)]
pub struct SharedRun {
    /// The run's id, with the slot.
    pub id: String,
    /// The process that ends when the run ends.
    pub process: ProcessId,
}

impl SharedRun {
    /// The nextest run of this process.
    pub(crate) fn from_nextest() -> Option<Self> {
        let id = variable(RUN_ID)?;
        // A wrapper may run between nextest and a trial; if ancestors are not visible, use the
        // parent.
        let process = ProcessId::ancestor("cargo-nextest").or_else(ProcessId::parent)?;
        Some(Self { id: id + &slot(), process })
    }
}

/// The cluster that a trial boots or shares, for a subject that brings these controllers; `None`
/// for sites without trials. Its version is that of the golden timelines, and its options come from
/// the environment.
pub fn plan(site: SiteName, without: ControllerSet) -> Option<ClusterPlan> {
    let plan = ClusterPlan::new(DEFAULT_VERSION).without(without);
    match site {
        SiteName::ControlPlane => Some(plan),
        // A user's cluster is named on the command line, each time.
        SiteName::Sim | SiteName::Kubeconfig => None,
        SiteName::Containers => Some(plan.at(Site::Containers(containers::ImageOptions::from_env()))),
        SiteName::Kind => {
            let process_id = || std::process::id().to_string();
            let run =
                SharedRun::from_nextest().map_or_else(process_id, |run| fingerprint(run.id.bytes())[..8].to_owned());
            let options = kind::KindOptions::from_env();
            // One cluster for each set of excluded controllers, with its own name: kind identifies
            // its clusters by name alone.
            let name = plan.without.iter().fold(format!("lockstep-{run}"), |name, out| format!("{name}-{out}"));
            Some(plan.at(Site::Kind(kind::KindOptions { name: Some(name), ..options })))
        }
    }
}

/// The real cluster with whose name that of a trial begins.
pub fn real_cluster(trial: &str) -> Option<SiteName> {
    let name = trial.split("::").next()?;
    let real = [SiteName::ControlPlane, SiteName::Containers, SiteName::Kind];
    real.into_iter().find(|site| site.as_str() == name)
}

/// The real cluster that the filter of a test program's command line asks for.
pub fn requested(filter: Option<&str>) -> Option<SiteName> {
    filter.and_then(real_cluster)
}

/// Whether trials of this site are to run. Those on real clusters take minutes and other programs,
/// so a nextest profile must select them, or without nextest the filter of the command line.
pub fn is_selected(site: SiteName, filter: Option<&str>) -> bool {
    let has_profiles = || SharedRun::from_nextest().is_some() || std::env::var_os("NEXTEST").is_some();
    site == SiteName::Sim || requested(filter) == Some(site) || has_profiles()
}

/// Whether trials can run on this site, as far as known without starting anything; if not, why.
/// The filter is that of the command line.
pub fn available(site: SiteName, filter: Option<&str>) -> Result<(), String> {
    if !is_selected(site, filter) {
        return Err(format!("only with the filter `{site}::`, or under cargo nextest, which has a profile for it"));
    }
    match site {
        SiteName::ControlPlane => super::available(DEFAULT_VERSION),
        SiteName::Kubeconfig => Err("a cluster of one's own is named on a command line".to_owned()),
        SiteName::Sim | SiteName::Containers | SiteName::Kind => availability(site).map(drop),
    }
}

/// Whether this machine has what the site needs, in words. Starts and downloads nothing.
///
/// # Errors
/// What is missing.
pub fn availability(site: SiteName) -> Result<&'static str, String> {
    match site {
        SiteName::Sim => Ok("ready; needs nothing"),
        SiteName::ControlPlane => super::availability(DEFAULT_VERSION),
        SiteName::Containers => {
            containers::available(DEFAULT_VERSION, &containers::ImageOptions::from_env()).map(|()| "ready")
        }
        SiteName::Kind => kind::available().map(|()| "ready"),
        SiteName::Kubeconfig => {
            Ok("for a cluster of yours whose Deployment controller is off: --yes-this-cluster CONTEXT")
        }
    }
}

/// The suffix of the run's id for a slot; empty for the first one.
fn slot() -> String {
    let slot = std::env::var(SLOT).ok().and_then(|slot| slot.parse::<u32>().ok());
    slot.filter(|slot| *slot > 0).map_or_else(String::new, |slot| format!("-slot-{slot}"))
}

/// The cluster of this run or process, without the Deployment controller.
pub async fn obtain(version: &str) -> Result<Cluster, ClusterError> {
    obtain_for(&ClusterPlan::new(version)).await
}

/// The cluster of this run or process for a plan; each plan has its own.
pub async fn obtain_for(plan: &ClusterPlan) -> Result<Cluster, ClusterError> {
    match SharedRun::from_nextest() {
        Some(run) => obtain_in(&run, plan).await,
        None => obtain_for_process(plan).await,
    }
}

/// The cluster of this process alone, booted on the first call.
async fn obtain_for_process(plan: &ClusterPlan) -> Result<Cluster, ClusterError> {
    let mut clusters = PROCESS_CLUSTERS.lock().await;
    let key = plan.key();
    match clusters.get(&key) {
        Some(Ok(cluster)) => Ok(cluster.clone()),
        Some(Err(why)) => Err(ClusterError::FailedEarlier(why.clone())),
        None => {
            let booted = boot(plan).await;
            clusters.insert(key, booted.as_ref().map(Cluster::clone).map_err(ToString::to_string));
            booted
        }
    }
}

/// Ends the clusters that [`obtain`] booted for this process alone, and waits until they are gone.
/// Without this call they end just after the process.
pub async fn release() {
    for (_, booted) in std::mem::take(&mut *PROCESS_CLUSTERS.lock().await) {
        if let Ok(cluster) = booted {
            cluster.end().await;
        }
    }
}

/// The cluster of a run: the first process boots it, the others attach to it.
pub async fn obtain_in(run: &SharedRun, plan: &ClusterPlan) -> Result<Cluster, ClusterError> {
    let folder = user_temp_dir()?.join(format!("run-{}-{}", sanitize_file_name(&run.id), plan.key()));
    make_private_dir(&folder)?;
    let _only_one = lock(folder.join("lock")).await?;
    let (state, failure) = (folder.join("cluster.json"), folder.join("failed"));
    if let Ok(why) = std::fs::read_to_string(&failure) {
        return Err(ClusterError::FailedEarlier(why));
    }
    if let Some(found) = Handover::load(&state).map(Cluster::from) {
        if found.is_alive() {
            return Ok(found);
        }
        // A part of the cluster was killed. Its supervisor stays until the run ends, and then
        // removes the folder.
        found.facts().kill_programs();
    }
    match boot_in(&folder, plan).await {
        Ok(cluster) => {
            if let Some(handover) = cluster.handover() {
                handover.save(&state)?;
            }
            cluster.detach(end_condition(run, &folder))
        }
        Err(error) => {
            record_failure(run, &folder, &failure, &error);
            Err(error)
        }
    }
}

/// Stores a failed boot, if possible: a trial that finds nothing boots again.
fn record_failure(run: &SharedRun, folder: &Path, failure: &Path, error: &ClusterError) {
    let stored = write_private_file(failure, error.to_string().as_bytes());
    let cleanup = Supervisor::start(folder, false).and_then(|sweeper| sweeper.detach(end_condition(run, folder)));
    if stored.is_err() || cleanup.is_err() {
        // Otherwise nothing would remove the file at the end of the run.
        let _ = std::fs::remove_file(failure);
    }
}

fn end_condition(run: &SharedRun, folder: &Path) -> DetachOptions {
    DetachOptions { process: Some(run.process), remove: PathBuf::from(folder) }
}
