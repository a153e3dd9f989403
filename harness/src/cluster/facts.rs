//! What is known of every cluster, whatever runs it: plain data, the same in each process that
//! uses it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Access;
use crate::controllers::Controllers;
use crate::recording::Identity;
use crate::supervise::ProcessId;

/// What all clusters share. Serialised it is a secret, as [`Access`] is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    /// The site's name, and the server's version.
    pub(super) identity: Identity,
    /// How to talk to it.
    pub(super) access: Access,
    /// Its folder: logs, kubeconfig, locks, data.
    pub(super) dir: PathBuf,
    /// Its processes on this machine by name: `etcd`, `kube-apiserver`, `kube-controller-manager`.
    /// Where those run in containers it is what reads each one's log, and ends with it.
    pub(super) programs: BTreeMap<String, ProcessId>,
    /// The controllers that it leaves to the subject.
    pub(super) without: Controllers,
}

impl Facts {
    /// End its programs at once. Their data is thrown away, so a graceful end would only take a
    /// second longer.
    pub(super) fn kill_programs(&self) {
        self.programs.values().for_each(ProcessId::kill_group);
    }
}
