//! The options of a capture.

use std::time::Duration;

/// What to record.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// The Deployment's namespace.
    pub namespace: String,
    /// Its name.
    pub deployment: String,
    /// For how long; `None`: until a rollout is complete.
    pub length: Option<Duration>,
    /// The name of the cluster on the command line: its context.
    pub cluster: String,
}
