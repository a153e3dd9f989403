//! A cluster that runs: one of six backends, and what all of them answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube_apiserver_sim::ApiServer;

use super::facts::Facts;
use super::handover::{At, Handover};
use super::kind::{self, Kind};
use super::lock::{Guard, lock};
use super::own::Own;
use super::questions::{Connect, End, Prove};
use super::simulated::Simulated;
use super::supervised::Supervised;
use super::{Access, ClusterError, programs, served};
use crate::controllers::Controllers;
use crate::output;
use crate::recording::Identity;
use crate::supervise::{ProcessId, Until};

/// A cluster, as a process that uses it knows it. The last clone that the owner drops ends it.
///
/// Outside of this room nothing matches on the backend: what differs is a method here.
#[derive(Debug, Clone)]
pub enum Cluster {
    /// In this process, on virtual time.
    Simulated(Simulated),
    /// The same over HTTP, in real time.
    Served(Supervised),
    /// Local processes.
    Processes(Supervised),
    /// Upstream's images in containers.
    Containers(Supervised),
    /// A node container of kind's.
    Kind(Kind),
    /// One of the user's own.
    Own(Own),
}

/// The same question to whichever it is.
macro_rules! each {
    ($cluster:expr, $backend:ident => $answer:expr) => {
        match $cluster {
            Cluster::Simulated($backend) => $answer,
            Cluster::Served($backend) => $answer,
            Cluster::Processes($backend) => $answer,
            Cluster::Containers($backend) => $answer,
            Cluster::Kind($backend) => $answer,
            Cluster::Own($backend) => $answer,
        }
    };
}

/// Start: the others are booted by a plan.
impl Cluster {
    /// A simulated one in this process, which leaves out what the subject brings. With seed 0 its
    /// latency is fixed, with any other it is random.
    pub fn simulated(seed: u64, without: Controllers) -> Self {
        Self::Simulated(Simulated::start(seed, without, true))
    }

    /// The same without a garbage collector: its owner brings one.
    pub fn simulated_without_garbage_collector(seed: u64, without: Controllers) -> Self {
        Self::Simulated(Simulated::start(seed, without, false))
    }

    /// What another process needs to attach to it; `None` where only this process can use it.
    pub fn hand_over(&self) -> Option<Handover> {
        let at = match (self, self.supervisor()) {
            (Self::Served(_), Some(supervisor)) => At::Served { supervisor },
            (Self::Processes(_), Some(supervisor)) => At::Processes { supervisor },
            (Self::Containers(_), Some(supervisor)) => At::Containers { supervisor },
            (Self::Kind(kind), supervisor) => At::Kind { node: kind.node()?.clone(), supervisor },
            _ => return None,
        };
        Some(Handover { facts: self.facts().clone(), at })
    }
}

/// Attach to a cluster that another process has started.
impl From<Handover> for Cluster {
    fn from(Handover { facts, at }: Handover) -> Self {
        match at {
            At::Served { supervisor } => Self::Served(Supervised::attach(facts, supervisor)),
            At::Processes { supervisor } => Self::Processes(Supervised::attach(facts, supervisor)),
            At::Containers { supervisor } => Self::Containers(Supervised::attach(facts, supervisor)),
            At::Kind { node, supervisor } => Self::Kind(Kind::attach(facts, node, supervisor)),
        }
    }
}

/// Prove.
impl Cluster {
    /// Whether every process of it still runs.
    pub fn is_alive(&self) -> bool {
        each!(self, backend => backend.is_alive())
    }

    /// What of it has ended, and the lines of its log that say why; `None` while every process of
    /// it runs.
    pub fn ended(&self) -> Option<String> {
        if self.is_alive() {
            return None;
        }
        let ended = self.programs().iter().find(|(_, process)| !process.is_alive()).map(|(name, _)| name.as_str());
        let program = ended.unwrap_or("supervisor");
        let log = std::fs::read_to_string(self.log(program)).unwrap_or_default();
        let excerpt: Vec<String> = output::excerpt(&log);
        let says = if excerpt.is_empty() { "nothing".to_owned() } else { excerpt.join("; ") };
        Some(format!("the cluster's {program} ended; its log says: {says}"))
    }

    /// Whether somebody on it watches for nodes that died.
    pub fn watches_nodes(&self) -> bool {
        each!(self, backend => backend.watches_nodes())
    }

    /// How long somebody's controller may keep still before it is believed not to be there.
    pub fn doubt(&self) -> Duration {
        each!(self, backend => backend.doubt())
    }

    /// Wait until no other subject acts on this cluster: two would run each other's Deployments.
    ///
    /// # Errors
    /// When the lock's file cannot be made.
    pub async fn exclusive(&self) -> Result<Guard, ClusterError> {
        lock(self.dir().join("subject.lock")).await
    }

    /// The requests so far that a simulated server does not support: results that depend on them
    /// prove nothing.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn unsupported(&self) -> Result<Vec<String>, ClusterError> {
        match self {
            Self::Simulated(_) => Ok(self.in_virtual_time().map(ApiServer::unsupported).unwrap_or_default()),
            Self::Served(_) => served::unsupported(&self.client().await?).await,
            _ => Ok(Vec::new()),
        }
    }
}

/// Connect.
impl Cluster {
    /// The site's name, and the server's version.
    pub fn identity(&self) -> &Identity {
        &self.facts().identity
    }

    /// How to talk to it.
    pub fn access(&self) -> &Access {
        &self.facts().access
    }

    /// Its folder: logs, kubeconfig, locks, data.
    pub fn dir(&self) -> &Path {
        &self.facts().dir
    }

    /// Its processes on this machine by name. Where they run in containers it is what reads each
    /// one's log, and ends with it.
    pub fn programs(&self) -> &BTreeMap<String, ProcessId> {
        &self.facts().programs
    }

    /// The controllers that it leaves to the subject.
    pub fn without(&self) -> &Controllers {
        &self.facts().without
    }

    /// A client for the harness itself. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the credential cannot be read, or makes no client.
    pub async fn client(&self) -> Result<kube::Client, ClusterError> {
        each!(self, backend => backend.client().await)
    }

    /// The simulated server, where it is in this process, on virtual time and without a socket.
    pub(crate) fn in_virtual_time(&self) -> Option<&ApiServer> {
        each!(self, backend => backend.in_virtual_time())
    }

    /// From now on objects of a namespace are created at this time or later, as their order is by
    /// the second. Says whether the server can do that; otherwise the caller waits.
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
            Self::Served(_) => served::create_not_before(client, namespace, time).await.map(|()| true),
            _ => Ok(false),
        }
    }

    /// The node that runs pods for real, where there is one.
    pub fn node(&self) -> Option<&kind::Node> {
        each!(self, backend => backend.node())
    }

    /// Let the subject write in a namespace of the harness's. Where the cluster is thrown away it
    /// may write anywhere.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn admit(&self, namespace: &str) -> Result<(), ClusterError> {
        each!(self, backend => backend.admit(namespace).await)
    }

    /// The harness's kubeconfig file.
    pub fn admin_kubeconfig_path(&self) -> PathBuf {
        programs::admin_kubeconfig(self.dir())
    }

    /// The log of one of its programs.
    pub fn log(&self, program: &str) -> PathBuf {
        programs::log(self.dir(), program)
    }

    /// The process number of one of its programs.
    pub fn pid(&self, program: &str) -> Option<i32> {
        self.programs().get(program).map(|process| process.pid)
    }

    pub(super) fn facts(&self) -> &Facts {
        each!(self, backend => backend.facts())
    }
}

/// End.
impl Cluster {
    /// Whether it ends with this process.
    pub fn belongs_here(&self) -> bool {
        each!(self, backend => backend.belongs_here())
    }

    /// The process that ends it; none where it was there before, or is to stay.
    pub fn supervisor(&self) -> Option<ProcessId> {
        each!(self, backend => backend.supervisor())
    }

    /// Whether [`Cluster::end`] removes by itself all that the harness has made on it.
    pub fn sweeps(&self) -> bool {
        each!(self, backend => backend.sweeps())
    }

    /// Returns once this cluster is no longer the harness's to use, and says why; never where it is
    /// the harness's own.
    pub async fn lost(&self) -> String {
        each!(self, backend => backend.lost().await)
    }

    /// Keep the logs of its node, where they go with the cluster; returns the folder.
    pub async fn keep_logs(&self) -> Option<PathBuf> {
        kind::keep_logs(self.node()?).await
    }

    /// End it, or what the harness has on it, and wait until nothing is left. Does nothing for a
    /// cluster that belongs to another process, or while another clone is left.
    pub async fn end(self) {
        each!(self, backend => backend.end().await);
    }

    /// Let it live on without this process.
    pub(super) fn detach(self, until: Until) -> Result<Self, ClusterError> {
        Ok(match self {
            Self::Simulated(backend) => Self::Simulated(backend.detach(until)?),
            Self::Served(backend) => Self::Served(backend.detach(until)?),
            Self::Processes(backend) => Self::Processes(backend.detach(until)?),
            Self::Containers(backend) => Self::Containers(backend.detach(until)?),
            Self::Kind(backend) => Self::Kind(backend.detach(until)?),
            Self::Own(backend) => Self::Own(backend.detach(until)?),
        })
    }

    /// End what another process has left of it. Blocks for as long as `patience`.
    pub(super) fn abandon(&self, patience: Duration) {
        each!(self, backend => backend.abandon(patience));
    }
}
