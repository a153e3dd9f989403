//! The node of a kind cluster.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The node of a kind cluster that runs pods for real.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name as a Node and as a container.
    pub name: String,
    /// The container engine's program.
    pub engine: PathBuf,
}
