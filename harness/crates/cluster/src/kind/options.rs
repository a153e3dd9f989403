//! The options of a kind cluster.

use std::path::PathBuf;

use crate::env_var::variable;

/// The options of a kind cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindOptions {
    /// Its name; `lockstep` by default.
    pub name: Option<String>,
    /// The node image; by default kind's for the version.
    pub image: Option<String>,
    /// A kind configuration, v1alpha4, which the harness extends.
    pub config: Option<PathBuf>,
    /// Keep it running after the run.
    pub keep: bool,
}

impl KindOptions {
    /// The options from `LOCKSTEP_NODE_IMAGE` and `LOCKSTEP_KIND_CONFIG`.
    pub fn from_env() -> Self {
        Self {
            image: variable("LOCKSTEP_NODE_IMAGE"),
            config: variable("LOCKSTEP_KIND_CONFIG").map(PathBuf::from),
            ..Self::default()
        }
    }
}
