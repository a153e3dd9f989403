//! The data that every backend has: plain data, identical in every process that uses the cluster,
//! and its file in the cluster's folder, by which another process attaches to the cluster.
//!
//! It has no fields for what cannot be shared: a server in this process, a lock or a supervisor
//! that this process holds, the tenancy of a user's cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use serde::{Deserialize, Serialize};

use crate::kind::KindNode;
use crate::supervise::ProcessId;
use crate::user_dir::write_private_file;
use crate::{ClusterAccess, ClusterError};

/// The data of a cluster. Its serialised form is a secret, as [`ClusterAccess`] is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterFacts {
    /// The name of the site, and the server's version.
    pub(super) identity: Identity,
    /// The server's address and credentials.
    pub(super) access: ClusterAccess,
    /// The cluster's folder: logs, kubeconfig, locks, data.
    pub(super) dir: PathBuf,
    /// Its processes on this machine by name: `etcd`, `kube-apiserver`, `kube-controller-manager`.
    /// For containers these are the processes that follow the logs and exit with the containers.
    pub(super) programs: BTreeMap<String, ProcessId>,
    /// The controllers that the cluster does not run, because the subject brings them.
    pub(super) without: ControllerSet,
}

impl ClusterFacts {
    /// Kills its programs. Their data is deleted, so a graceful end would only cost a second.
    pub(super) fn kill_programs(&self) {
        self.programs.values().for_each(ProcessId::kill_group);
    }
}

/// What another process needs to attach to a cluster. Its serialised form is a secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    pub(super) facts: ClusterFacts,
    pub(super) at: HandoverBackend,
}

/// The backends that another process can attach to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HandoverBackend {
    /// A simulated server in its own process.
    #[serde(rename = "served")]
    SimulatedProcess { supervisor: ProcessId },
    /// Local processes.
    Processes { supervisor: ProcessId },
    /// Containers.
    Containers { supervisor: ProcessId },
    /// A kind node; without a supervisor if the cluster existed before or is to be kept.
    Kind { node: KindNode, supervisor: Option<ProcessId> },
}

impl Handover {
    /// Writes the description to a file.
    pub(crate) fn save(&self, path: &Path) -> Result<(), ClusterError> {
        write_private_file(path, &serde_json::to_vec_pretty(self).expect("a handover is plain data"))
    }

    /// Reads a description; `None` if the file has no usable one.
    pub(crate) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}
