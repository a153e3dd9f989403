//! What the user wishes of the images.

use crate::cluster::environment::variable;

/// What the user wishes of the images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// The registry, with a folder if there is one, that has kube-apiserver,
    /// kube-controller-manager and etcd; upstream's own where none is given.
    pub registry: Option<String>,
    /// The whole name of etcd's image; that of the version's kubeadm where none is given.
    pub etcd: Option<String>,
}

impl Wish {
    /// What the environment says: `LOCKSTEP_IMAGE_REGISTRY` and `LOCKSTEP_ETCD_IMAGE`.
    pub fn of_environment() -> Self {
        Self { registry: variable("LOCKSTEP_IMAGE_REGISTRY"), etcd: variable("LOCKSTEP_ETCD_IMAGE") }
    }
}
