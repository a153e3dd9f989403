//! What is to be recorded of a live cluster.

use std::time::Duration;

/// What is to be recorded.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The Deployment's namespace.
    pub namespace: String,
    /// Its name.
    pub deployment: String,
    /// For how long; `None`: until a rollout is complete.
    pub length: Option<Duration>,
    /// What the cluster is called on the command line: its context.
    pub cluster: String,
}
