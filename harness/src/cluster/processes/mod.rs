//! `control-plane`: etcd, kube-apiserver and kube-controller-manager as processes of this machine.
//!
//! They listen on loopback, keep their files in one folder, and end with their supervisor. Where
//! the programs come from stands in `binaries`.

mod binaries;
mod connect;
mod end;
mod ports;
mod prove;
mod start;

use super::facts::Facts;
use super::keeper::Keeper;
pub use binaries::{Binaries, available, binaries, cache, controller_manager, found};

/// A control plane of local processes.
#[derive(Debug, Clone)]
pub struct Processes {
    facts: Facts,
    keeper: Keeper,
}
