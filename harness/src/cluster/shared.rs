//! One cluster for all trials of a run.
//!
//! nextest runs every trial in a process of its own, and a boot takes seconds. So the first trial
//! of a run that needs a cluster boots one and lets its supervisor live on until nextest itself is
//! gone; the others find it in a folder that the run's id names, and attach. A boot that failed is
//! remembered as well: the same words for every trial, at once. Without nextest the cluster belongs
//! to this process.
//!
//! Trials that may run side by side cannot share: two subjects on one cluster would run each
//! other's Deployments. nextest gives each trial of a group a slot while it runs, and each slot has
//! a cluster of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

use super::boot::{boot, boot_in};
use super::environment::variable;
use super::handover::Handover;
use super::lock::lock;
use super::place::{make_private, of_user, write_private};
use super::plan::plain;
use super::{Cluster, ClusterError, DEFAULT_VERSION, Plan, Site, SiteName, containers, kind};
use crate::controllers::Controllers;
use crate::fingerprint::fingerprint;
use crate::supervise::{ProcessId, Supervisor, Until};

/// Where nextest says which run a process belongs to.
const RUN_ID: &str = "NEXTEST_RUN_ID";
/// Where it says which of the group's places a trial has while it runs: a number from 0, or `none`.
const SLOT: &str = "NEXTEST_TEST_GROUP_SLOT";

/// The clusters that belong to this process, or why there are none.
static OWN: Mutex<BTreeMap<String, Result<Cluster, String>>> = Mutex::const_new(BTreeMap::new());

/// A run that several processes take part in.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id, the same in all of them that share a slot.
    pub id: String,
    /// The process with which the run ends.
    pub process: ProcessId,
}

impl Run {
    /// The nextest run that this process belongs to.
    pub fn of_nextest() -> Option<Self> {
        let id = variable(RUN_ID)?;
        // A wrapper may stand between nextest and a trial; where ancestors cannot be seen, the
        // parent has to do.
        let process = ProcessId::ancestor("cargo-nextest").or_else(ProcessId::parent)?;
        Some(Self { id: id + &slot(), process })
    }
}

/// What a trial boots, or shares, where there are trials, for a subject that brings these
/// controllers: the version that golden timelines come from, and of kind what the environment says.
pub fn plan(site: SiteName, without: Controllers) -> Option<Plan> {
    let plan = Plan::new(DEFAULT_VERSION).without(without);
    match site {
        SiteName::ControlPlane => Some(plan),
        // A cluster of the user's is named on a command line, each time.
        SiteName::Sim | SiteName::Kubeconfig => None,
        SiteName::Containers => Some(plan.at(Site::Containers(containers::Wish::of_environment()))),
        SiteName::Kind => {
            let own = || std::process::id().to_string();
            let run = Run::of_nextest().map_or_else(own, |run| fingerprint(run.id.bytes())[..8].to_owned());
            let wish = kind::Wish::of_environment();
            // One of each kind of test environment at a time, and kind knows its clusters by their
            // names alone.
            let name = plan.without.iter().fold(format!("lockstep-{run}"), |name, out| format!("{name}-{out}"));
            Some(plan.at(Site::Kind(kind::Wish { name: Some(name), ..wish })))
        }
    }
}

/// Whether trials can run there, as far as one can tell without starting anything; if not, why.
///
/// Only the local processes are for everybody: the others take a container engine and a minute, so
/// a profile of nextest's must ask for them.
pub fn available(site: SiteName) -> Result<(), String> {
    let outside = || Run::of_nextest().is_none() && std::env::var_os("NEXTEST").is_none();
    match site {
        SiteName::Containers | SiteName::Kind if outside() => {
            Err("only under cargo nextest, which has a profile for it".to_owned())
        }
        SiteName::ControlPlane => super::available(DEFAULT_VERSION),
        SiteName::Kubeconfig => Err("a cluster of one's own is named on a command line".to_owned()),
        SiteName::Sim | SiteName::Containers | SiteName::Kind => found(site).map(drop),
    }
}

/// Whether there is here what a cluster of this sort needs, in words. Nothing is started and
/// nothing fetched.
///
/// # Errors
/// What is lacking.
pub fn found(site: SiteName) -> Result<&'static str, String> {
    match site {
        SiteName::Sim => Ok("ready; needs nothing"),
        SiteName::ControlPlane => super::found(DEFAULT_VERSION),
        SiteName::Containers => {
            containers::available(DEFAULT_VERSION, &containers::Wish::of_environment()).map(|()| "ready")
        }
        SiteName::Kind => kind::available().map(|()| "ready"),
        SiteName::Kubeconfig => {
            Ok("for a cluster of yours whose Deployment controller is off: --yes-this-cluster CONTEXT")
        }
    }
}

/// What the first slot of a group has no need of, and each other adds to the run's id.
fn slot() -> String {
    let slot = std::env::var(SLOT).ok().and_then(|slot| slot.parse::<u32>().ok());
    slot.filter(|slot| *slot > 0).map_or_else(String::new, |slot| format!("-slot-{slot}"))
}

/// The cluster of this run, or of this process, with the test environment's controllers whole.
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

/// The cluster that this process has for itself, booted on the first call.
async fn obtain_own(plan: &Plan) -> Result<Cluster, ClusterError> {
    let mut own = OWN.lock().await;
    let key = plan.key();
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

/// End what [`obtain`] booted for this process alone, and wait until it is gone. Without it that
/// happens just after the process.
pub async fn release() {
    for (_, booted) in std::mem::take(&mut *OWN.lock().await) {
        if let Ok(cluster) = booted {
            cluster.end().await;
        }
    }
}

/// The cluster of a run: attached to, or booted by whoever comes first.
pub async fn obtain_in(run: &Run, plan: &Plan) -> Result<Cluster, ClusterError> {
    let folder = of_user()?.join(format!("run-{}-{}", plain(&run.id), plan.key()));
    make_private(&folder)?;
    let _only_one = lock(folder.join("lock")).await?;
    let (state, failure) = (folder.join("cluster.json"), folder.join("failed"));
    if let Ok(why) = std::fs::read_to_string(&failure) {
        return Err(ClusterError::Remembered(why));
    }
    if let Some(found) = Handover::load(&state).map(Cluster::from) {
        if found.is_alive() {
            return Ok(found);
        }
        // Somebody killed a part of it. Its supervisor stays until the run ends, and removes the
        // folder then.
        found.facts().kill_programs();
    }
    match boot_in(&folder, plan).await {
        Ok(cluster) => {
            if let Some(handover) = cluster.hand_over() {
                handover.save(&state)?;
            }
            cluster.detach(until(run, &folder))
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
