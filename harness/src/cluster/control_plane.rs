//! A control plane that runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::place::write_private;
use super::{Access, ClusterError, programs};
use crate::recording::Identity;
use crate::supervise::{ProcessId, Supervisor};

/// A cluster, as every process that uses it knows it. The last clone that the owner drops ends it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// `control-plane`, and the server's version.
    pub identity: Identity,
    /// How to talk to it.
    pub access: Access,
    /// Its folder: logs, kubeconfig, data.
    pub dir: PathBuf,
    /// Its processes by name: `etcd`, `kube-apiserver`, `kube-controller-manager`.
    pub programs: BTreeMap<String, ProcessId>,
    /// The process that ends them.
    pub supervisor: ProcessId,
    /// Held by the process that the cluster belongs to.
    #[serde(skip)]
    pub(super) owned: Option<Arc<Supervisor>>,
}

impl Cluster {
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

    /// Whether every process of it still runs.
    pub fn is_alive(&self) -> bool {
        self.supervisor.is_alive() && self.programs.values().all(ProcessId::is_alive)
    }

    /// End it and wait until nothing is left. Does nothing for a cluster that belongs to somebody else, or that somebody still holds.
    pub async fn shutdown(mut self) {
        if let Some(supervisor) = self.owned.take().and_then(Arc::into_inner) {
            self.kill_programs();
            supervisor.shutdown().await;
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
