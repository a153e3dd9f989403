//! The data that every backend has: plain data, identical in every process that uses the cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use serde::{Deserialize, Serialize};

use super::ClusterAccess;
use crate::supervise::ProcessId;

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
