//! The options of the images.

use crate::env_var::variable;

/// The options of the images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// The registry, with a folder if there is one, that has kube-apiserver,
    /// kube-controller-manager and etcd; `None` for upstream's.
    pub registry: Option<String>,
    /// The full name of etcd's image; `None` for the one of the version's kubeadm.
    pub etcd: Option<String>,
}

impl ImageOptions {
    /// The options from `LOCKSTEP_IMAGE_REGISTRY` and `LOCKSTEP_ETCD_IMAGE`.
    pub fn from_env() -> Self {
        Self { registry: variable("LOCKSTEP_IMAGE_REGISTRY"), etcd: variable("LOCKSTEP_ETCD_IMAGE") }
    }
}
