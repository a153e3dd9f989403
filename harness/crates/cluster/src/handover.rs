//! The description of a cluster by which another process attaches to it, stored in the cluster's
//! folder.
//!
//! It is plain data. It has no fields for what cannot be shared: a server in this process, a lock
//! or a supervisor that this process holds, the tenancy of a user's cluster.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ClusterError;
use super::facts::ClusterFacts;
use super::kind::KindNode;
use super::user_dir::write_private_file;
use crate::supervise::ProcessId;

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
pub(super) enum HandoverBackend {
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
    pub(super) fn save(&self, path: &Path) -> Result<(), ClusterError> {
        write_private_file(path, &serde_json::to_vec_pretty(self).expect("a handover is plain data"))
    }

    /// Reads a description; `None` if the file has no usable one.
    pub(super) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}
