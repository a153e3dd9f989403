//! `control-plane`: etcd, kube-apiserver and kube-controller-manager as processes of this machine.
//!
//! They listen on loopback, store their files in one folder, and end with their supervisor.
//! `binaries` obtains the programs. `supervised_cluster` implements the running cluster.

mod binaries;
mod start;

pub(crate) use binaries::{Binaries, availability};
pub use binaries::{available, cache_dir, obtain_binaries, obtain_controller_manager};
pub(super) use start::start;
