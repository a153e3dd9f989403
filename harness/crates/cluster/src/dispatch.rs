//! A running cluster: one of six backends, behind one interface, and its boot from a plan.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube_apiserver_sim::ApiServer;
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use lockstep_support::output;

use crate::backend::{ClusterFacts, Connect, Handover, HandoverBackend, Prove, Teardown};
use crate::existing::ExistingCluster;
use crate::kind::{self, KindCluster};
use crate::simulated::SimulatedCluster;
use crate::supervise::{DetachOptions, ProcessId};
use crate::supervised_cluster::SupervisedCluster;
use crate::user_dir::{self, FileLock, lock};
use crate::{ClusterAccess, ClusterError, ClusterPlan, Site, containers, processes, programs, simulated};

/// A handle on a running cluster. Dropping the owner's last clone ends it.
///
/// Only this module matches on the backend: every difference is a method.
#[derive(Debug, Clone)]
pub enum Cluster {
    /// A simulated server in this process, in virtual time.
    Simulated(SimulatedCluster),
    /// A simulated server in its own process, in real time.
    SimulatedProcess(SupervisedCluster),
    /// Local processes.
    Processes(SupervisedCluster),
    /// Upstream's images in containers.
    Containers(SupervisedCluster),
    /// A kind cluster.
    Kind(KindCluster),
    /// A user's cluster.
    Existing(ExistingCluster),
}

/// Calls the same method on each backend.
macro_rules! dispatch {
    ($cluster:expr, $backend:ident => $answer:expr) => {
        match $cluster {
            Cluster::Simulated($backend) => $answer,
            Cluster::SimulatedProcess($backend) => $answer,
            Cluster::Processes($backend) => $answer,
            Cluster::Containers($backend) => $answer,
            Cluster::Kind($backend) => $answer,
            Cluster::Existing($backend) => $answer,
        }
    };
}

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
pub(crate) async fn boot_in(parent: &Path, plan: &ClusterPlan) -> Result<Cluster, ClusterError> {
    match &plan.site {
        Site::Sim => simulated::start_server(parent, plan).await.map(Cluster::SimulatedProcess),
        Site::ControlPlane => processes::start(parent, plan).await.map(Cluster::Processes),
        Site::Containers(options) => containers::start(parent, plan, options).await.map(Cluster::Containers),
        Site::Kind(options) => KindCluster::start(parent, plan, options).await.map(Cluster::Kind),
        Site::Kubeconfig(options) => ExistingCluster::start(parent, plan, options).await.map(Cluster::Existing),
    }
}

/// Start: the other backends are booted from a plan.
impl Cluster {
    /// A simulated cluster in this process, without the controllers that the subject brings. With
    /// seed 0 its latency is fixed, with any other seed it is random.
    pub fn simulated(seed: u64, without: ControllerSet) -> Self {
        Self::Simulated(SimulatedCluster::start(seed, without, true))
    }

    /// Like [`Cluster::simulated`], without a garbage collector: the caller brings one.
    pub fn simulated_without_garbage_collector(seed: u64, without: ControllerSet) -> Self {
        Self::Simulated(SimulatedCluster::start(seed, without, false))
    }

    /// What another process needs to attach to it; `None` if only this process can use it.
    pub fn handover(&self) -> Option<Handover> {
        let at = match (self, self.supervisor()) {
            (Self::SimulatedProcess(_), Some(supervisor)) => HandoverBackend::SimulatedProcess { supervisor },
            (Self::Processes(_), Some(supervisor)) => HandoverBackend::Processes { supervisor },
            (Self::Containers(_), Some(supervisor)) => HandoverBackend::Containers { supervisor },
            (Self::Kind(kind), supervisor) => HandoverBackend::Kind { node: kind.node()?.clone(), supervisor },
            _ => return None,
        };
        Some(Handover { facts: self.facts().clone(), at })
    }
}

/// Attaches to a cluster that another process has started.
impl From<Handover> for Cluster {
    fn from(Handover { facts, at }: Handover) -> Self {
        match at {
            HandoverBackend::SimulatedProcess { supervisor } => {
                Self::SimulatedProcess(SupervisedCluster::attach(facts, supervisor))
            }
            HandoverBackend::Processes { supervisor } => Self::Processes(SupervisedCluster::attach(facts, supervisor)),
            HandoverBackend::Containers { supervisor } => {
                Self::Containers(SupervisedCluster::attach(facts, supervisor))
            }
            HandoverBackend::Kind { node, supervisor } => Self::Kind(KindCluster::attach(facts, node, supervisor)),
        }
    }
}

impl Cluster {
    /// Whether all its processes still run.
    pub fn is_alive(&self) -> bool {
        dispatch!(self, backend => backend.is_alive())
    }

    /// Which program has exited, and the lines of its log that say why; `None` while all programs
    /// run.
    pub fn describe_ended_program(&self) -> Option<String> {
        if self.is_alive() {
            return None;
        }
        let ended = self.programs().iter().find(|(_, process)| !process.is_alive()).map(|(name, _)| name.as_str());
        let program = ended.unwrap_or("supervisor");
        let log = std::fs::read_to_string(self.log(program)).unwrap_or_default();
        let excerpt: Vec<String> = output::excerpt(&log);
        let reason = if excerpt.is_empty() { "nothing".to_owned() } else { excerpt.join("; ") };
        Some(format!("the cluster's {program} ended; its log says: {reason}"))
    }

    /// Whether the cluster has a controller that watches for dead nodes.
    pub fn watches_nodes(&self) -> bool {
        dispatch!(self, backend => backend.watches_nodes())
    }

    /// How long the probe must see no other controller act before it concludes that there is none.
    pub fn quiet_period(&self) -> Duration {
        dispatch!(self, backend => backend.quiet_period())
    }

    /// Waits until no other subject acts on this cluster: two would act on each other's
    /// Deployments.
    ///
    /// # Errors
    /// When the lock file cannot be created.
    pub async fn lock_for_subject(&self) -> Result<FileLock, ClusterError> {
        lock(self.dir().join("subject.lock")).await
    }

    /// The requests so far that a simulated server does not support: results that depend on them
    /// prove nothing.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn unsupported_requests(&self) -> Result<Vec<String>, ClusterError> {
        match self {
            Self::Simulated(_) => Ok(self.virtual_time_server().map(ApiServer::unsupported).unwrap_or_default()),
            Self::SimulatedProcess(_) => simulated::unsupported_requests(&self.client().await?).await,
            _ => Ok(Vec::new()),
        }
    }
}

impl Cluster {
    /// The name of the site, and the server's version.
    pub fn identity(&self) -> &Identity {
        &self.facts().identity
    }

    /// The server's address and credentials.
    pub fn access(&self) -> &ClusterAccess {
        &self.facts().access
    }

    /// The cluster's folder: logs, kubeconfig, locks, data.
    pub fn dir(&self) -> &Path {
        &self.facts().dir
    }

    /// Its processes on this machine by name. For containers these are the processes that follow
    /// the logs and exit with the containers.
    pub fn programs(&self) -> &BTreeMap<String, ProcessId> {
        &self.facts().programs
    }

    /// The controllers that the cluster does not run, because the subject brings them.
    pub fn without(&self) -> &ControllerSet {
        &self.facts().without
    }

    /// A client for the harness. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the credential cannot be read, or no client can be built from it.
    pub async fn client(&self) -> Result<kube::Client, ClusterError> {
        dispatch!(self, backend => backend.client().await)
    }

    /// The simulated server, if it runs in this process in virtual time.
    pub fn virtual_time_server(&self) -> Option<&ApiServer> {
        dispatch!(self, backend => backend.virtual_time_server())
    }

    /// From now on gives objects of a namespace creation times not before `time`, because they are
    /// ordered by the second. Returns whether the server can do that; otherwise the caller waits.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn create_not_before(
        &self,
        client: &kube::Client,
        namespace: &str,
        time: jiff::Timestamp,
    ) -> Result<bool, ClusterError> {
        match self {
            Self::SimulatedProcess(_) => simulated::create_not_before(client, namespace, time).await.map(|()| true),
            _ => Ok(false),
        }
    }

    /// The node whose kubelet runs pods, if there is one.
    pub fn node(&self) -> Option<&kind::KindNode> {
        dispatch!(self, backend => backend.node())
    }

    /// Lets the subject write in one of the harness's namespaces. On a disposable cluster it may
    /// write anywhere.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn grant_namespace_access(&self, namespace: &str) -> Result<(), ClusterError> {
        dispatch!(self, backend => backend.grant_namespace_access(namespace).await)
    }

    /// The path of the harness's kubeconfig.
    pub fn admin_kubeconfig_path(&self) -> PathBuf {
        programs::admin_kubeconfig(self.dir())
    }

    /// The path of a program's log.
    pub fn log(&self, program: &str) -> PathBuf {
        programs::log(self.dir(), program)
    }

    /// The process id of a program.
    pub fn pid(&self, program: &str) -> Option<i32> {
        self.programs().get(program).map(|process| process.pid)
    }

    pub(super) fn facts(&self) -> &ClusterFacts {
        dispatch!(self, backend => backend.facts())
    }
}

impl Cluster {
    /// Whether this process owns the cluster, which then ends with it.
    pub fn is_owned(&self) -> bool {
        dispatch!(self, backend => backend.is_owned())
    }

    /// The supervisor that ends it; `None` if the cluster existed before, or is to be kept.
    pub fn supervisor(&self) -> Option<ProcessId> {
        dispatch!(self, backend => backend.supervisor())
    }

    /// Whether [`Cluster::end`] removes all objects that the harness created on it.
    pub fn removes_own_objects(&self) -> bool {
        dispatch!(self, backend => backend.removes_own_objects())
    }

    /// Returns the reason once the harness may not use this cluster any longer; never returns for a
    /// cluster of the harness.
    pub async fn wait_until_lost(&self) -> String {
        dispatch!(self, backend => backend.wait_until_lost().await)
    }

    /// Saves the logs of its node, which are removed with the cluster; returns the folder.
    pub async fn keep_logs(&self) -> Option<PathBuf> {
        kind::keep_logs(self.node()?).await
    }

    /// Ends the cluster, or the harness's use of it, and waits until nothing is left. Does nothing
    /// for a cluster that belongs to another process, or while another clone exists.
    pub async fn end(self) {
        dispatch!(self, backend => backend.end().await);
    }

    /// Lets it outlive this process.
    pub(super) fn detach(self, until: DetachOptions) -> Result<Self, ClusterError> {
        Ok(match self {
            Self::Simulated(backend) => Self::Simulated(backend.detach(until)?),
            Self::SimulatedProcess(backend) => Self::SimulatedProcess(backend.detach(until)?),
            Self::Processes(backend) => Self::Processes(backend.detach(until)?),
            Self::Containers(backend) => Self::Containers(backend.detach(until)?),
            Self::Kind(backend) => Self::Kind(backend.detach(until)?),
            Self::Existing(backend) => Self::Existing(backend.detach(until)?),
        })
    }

    /// Ends what another process has left of it. Blocks for at most `timeout`.
    pub(super) fn abandon(&self, timeout: Duration) {
        dispatch!(self, backend => backend.abandon(timeout));
    }
}
