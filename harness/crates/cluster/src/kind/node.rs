//! The node of a kind cluster.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The node of a kind cluster, whose kubelet runs pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindNode {
    /// Its name as a Node object and as a container.
    pub name: String,
    /// The container engine's program.
    pub engine: PathBuf,
}
