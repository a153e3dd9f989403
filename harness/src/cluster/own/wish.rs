//! Which cluster of their own the user named.

use std::path::PathBuf;

/// Which cluster the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The files of the kubeconfig: see [`files`](super::files).
    pub files: Vec<PathBuf>,
    /// The context, in the user's own words on the command line.
    pub context: String,
    /// Whether the user accepts that the server cannot keep pods of cases off the cluster's own
    /// nodes.
    pub unguarded: bool,
}
