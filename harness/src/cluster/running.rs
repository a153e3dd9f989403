//! A cluster that runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube_apiserver_sim::{ApiServer, Latency};
use tempfile::TempDir;

use serde::{Deserialize, Serialize};

use super::place::write_private;
use super::served::{self, Served};
use super::{Access, ClusterError, Credential, DEFAULT_VERSION, Guard, SiteName, accounts, kind, own, programs};
use crate::clock;
use crate::controllers::Controllers;
use crate::recording::Identity;
use crate::supervise::{ProcessId, Supervisor};

/// A cluster, as every process that uses it knows it. The last clone that the owner drops ends it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// The site's name, and the server's version.
    pub identity: Identity,
    /// How to talk to it.
    pub access: Access,
    /// Its folder: logs, kubeconfig, locks, data.
    pub dir: PathBuf,
    /// Its processes on this machine by name: `etcd`, `kube-apiserver`, `kube-controller-manager`. Where those run in
    /// containers it is what reads each one's log, and ends with it.
    pub programs: BTreeMap<String, ProcessId>,
    /// The process that ends it; nobody does where it was there before, or is to stay.
    pub supervisor: Option<ProcessId>,
    /// The controllers that it leaves to the subject.
    #[serde(default)]
    pub without: Controllers,
    /// Its node, where it is kind's.
    pub kind: Option<kind::Node>,
    /// It is in this process, and there is nothing else of it.
    #[serde(skip)]
    pub(crate) sim: Option<ApiServer>,
    /// The same over HTTP, in this process, with the folder for its files.
    #[serde(skip)]
    pub(super) served: Option<Arc<(Served, TempDir)>>,
    /// Held by the process that the cluster belongs to.
    #[serde(skip)]
    pub(super) owned: Option<Arc<Supervisor>>,
    /// Held by a process that uses a cluster by turns with others.
    #[serde(skip)]
    pub(super) alone: Option<Arc<Guard>>,
    /// Held by the process that uses a cluster of somebody's; never written down for another.
    #[serde(skip)]
    pub(super) tenancy: Option<Arc<own::Tenancy>>,
}

impl Cluster {
    /// A simulated one in this process, which leaves out what the subject brings. With seed 0 its
    /// latency is fixed, with any other it is random.
    pub fn simulated(seed: u64, without: Controllers) -> Self {
        let latency = if seed == 0 { Latency::Fixed } else { Latency::Random };
        let server = ApiServer::builder().seed(seed).latency(latency).clock(clock::now).build();
        let nothing = String::new;
        let access = Access {
            server: nothing(),
            server_name: None,
            ca_pem: nothing(),
            admin: Credential::Token(nothing()),
            subject_token: nothing(),
        };
        Self {
            identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
            access,
            dir: PathBuf::new(),
            programs: BTreeMap::new(),
            supervisor: None,
            without,
            kind: None,
            sim: Some(server),
            served: None,
            owned: None,
            alone: None,
            tenancy: None,
        }
    }

    /// A client for the harness itself. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the credential cannot be read, or makes no client.
    pub async fn client(&self) -> Result<kube::Client, ClusterError> {
        match &self.sim {
            Some(sim) => Ok(sim.client()),
            None => self.access.admin_client().await,
        }
    }

    /// A client for the test environment's controllers, where that is for this process to run.
    pub fn half(&self) -> Option<kube::Client> {
        let served = self.served.as_ref().map(|served| served.0.client());
        self.sim.as_ref().map(ApiServer::client).or(served)
    }

    /// The simulated server over HTTP in this process, if the cluster is one.
    pub(crate) fn served(&self) -> Option<&ApiServer> {
        self.served.as_ref().map(|served| served.0.server())
    }

    /// The requests so far that a simulated server does not support: results that depend on them
    /// prove nothing.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn unsupported(&self) -> Result<Vec<String>, ClusterError> {
        served::unsupported(self).await
    }

    /// The harness's kubeconfig file.
    pub fn admin_kubeconfig_path(&self) -> PathBuf {
        programs::admin_kubeconfig(&self.dir)
    }

    /// The log of one of its programs.
    pub fn log(&self, program: &str) -> PathBuf {
        programs::log(&self.dir, program)
    }

    /// The process number of one of its programs.
    pub fn pid(&self, program: &str) -> Option<i32> {
        self.programs.get(program).map(|process| process.pid)
    }

    /// Whether somebody on it watches for nodes that died.
    pub fn watches_nodes(&self) -> bool {
        self.kind.is_some() || self.tenancy.is_some()
    }

    /// How long somebody's controller may keep still before it is believed not to be there. Where the controller
    /// manager's command line cannot be seen, it may be one that is slow, or that is just changing its leader.
    pub fn doubt(&self) -> Duration {
        let unseen = self.tenancy.as_ref().is_some_and(|tenancy| !tenancy.seen_off());
        if unseen { Duration::from_secs(20) } else { Duration::from_millis(400) }
    }

    /// Let the subject write in a namespace of the harness's. Where the cluster is thrown away it may write anywhere.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn admit(&self, namespace: &str) -> Result<(), ClusterError> {
        match &self.tenancy {
            Some(tenancy) => tenancy.admit(namespace).await,
            None => Ok(()),
        }
    }

    /// Whether [`Cluster::shutdown`] removes by itself all that the harness has made on it.
    pub fn sweeps(&self) -> bool {
        self.tenancy.is_some()
    }

    /// Returns once this cluster is no longer the harness's to use, and says why; never where it is the harness's own.
    pub async fn lost(&self) -> String {
        let mut changes = match &self.tenancy {
            Some(tenancy) => tenancy.lost(),
            None => return std::future::pending().await,
        };
        match changes.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Whether every process of it still runs.
    pub fn is_alive(&self) -> bool {
        self.supervisor.is_none_or(|supervisor| supervisor.is_alive())
            && self.programs.values().all(ProcessId::is_alive)
    }

    /// Whether it ends with this process.
    pub fn belongs_here(&self) -> bool {
        self.owned.is_some() || self.served.is_some()
    }

    /// End it, or what the harness has on it, and wait until nothing is left. Does nothing for a cluster that belongs to somebody else, or that somebody still holds.
    pub async fn shutdown(mut self) {
        if let Some(supervisor) = self.owned.take().and_then(Arc::into_inner) {
            self.kill_programs();
            supervisor.shutdown().await;
        }
        // A kind cluster that stays keeps no account of this run's; the next makes its own.
        let stays = self.kind.is_some() && self.supervisor.is_none();
        if let (true, Some(_alone)) = (stays, self.alone.take().and_then(Arc::into_inner))
            && let Err(error) = accounts::dismiss(&self.access).await
        {
            tracing::warn!("the subject's account could not be removed, so its token ends by itself in a day: {error}");
        }
        if let Some(tenancy) = self.tenancy.take().and_then(Arc::into_inner) {
            tenancy.end().await;
        }
    }

    /// End its programs at once. Their data is thrown away, so a graceful end would only take a second longer.
    pub(super) fn kill_programs(&self) {
        self.programs.values().for_each(ProcessId::kill_group);
    }

    /// Write it down for other processes.
    pub(super) fn save(&self, path: &Path) -> Result<(), ClusterError> {
        write_private(path, &serde_json::to_vec_pretty(self).expect("a cluster is plain data"))
    }

    /// Read what another process wrote down; `None` if nothing usable stands there.
    pub(super) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}
