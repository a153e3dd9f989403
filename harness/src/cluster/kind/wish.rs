//! What the user wishes of a kind cluster.

use std::path::PathBuf;

use crate::cluster::environment::variable;

/// What the user wishes of a kind cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Its name; `lockstep` where none is given.
    pub name: Option<String>,
    /// The node image; kind's own for the version where none is given.
    pub image: Option<String>,
    /// A kind configuration, v1alpha4, that the harness's own is merged into.
    pub config: Option<PathBuf>,
    /// Leave it running.
    pub keep: bool,
}

impl Wish {
    /// What the environment says: `LOCKSTEP_NODE_IMAGE` and `LOCKSTEP_KIND_CONFIG`.
    pub fn of_environment() -> Self {
        Self {
            image: variable("LOCKSTEP_NODE_IMAGE"),
            config: variable("LOCKSTEP_KIND_CONFIG").map(PathBuf::from),
            ..Self::default()
        }
    }
}
