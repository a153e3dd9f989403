//! A cluster as one process leaves it to others, in a file of the cluster's folder.
//!
//! Plain data. What must not be written down has no place here: a server in this process, a lock
//! or a supervisor that this process holds, a stay on a cluster of the user's own.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ClusterError;
use super::facts::Facts;
use super::kind::Node;
use super::place::write_private;
use crate::supervise::ProcessId;

/// What another process needs to attach to a cluster. Serialised it is a secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    pub(super) facts: Facts,
    pub(super) at: At,
}

/// The backends that another process can attach to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum At {
    /// A simulated server that is a program of its own.
    Served { supervisor: ProcessId },
    /// Local processes.
    Processes { supervisor: ProcessId },
    /// Containers.
    Containers { supervisor: ProcessId },
    /// kind's node; without a supervisor it was there before, or is to stay.
    Kind { node: Node, supervisor: Option<ProcessId> },
}

impl Handover {
    /// Write it down for other processes.
    pub(super) fn save(&self, path: &Path) -> Result<(), ClusterError> {
        write_private(path, &serde_json::to_vec_pretty(self).expect("a handover is plain data"))
    }

    /// Read what another process wrote down; `None` if nothing usable stands there.
    pub(super) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}
