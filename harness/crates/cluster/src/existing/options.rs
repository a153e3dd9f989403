//! The options of a user's cluster.

use std::path::PathBuf;

/// The user's cluster, as selected on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeconfigOptions {
    /// The files of the kubeconfig; see [`files`](super::files).
    pub files: Vec<PathBuf>,
    /// The context's name.
    pub context: String,
    /// Whether the user accepts that pods of cases may run on the cluster's own nodes.
    pub accept_unguarded_pods: bool,
}
