//! `control-plane`: etcd, kube-apiserver and kube-controller-manager as processes of this machine.
//!
//! They listen on loopback, keep their files in one folder, and end with their supervisor. Where
//! the programs come from stands in `binaries`. How it is reached and how it ends once it runs
//! stands in `supervised`.

mod binaries;
mod connect;
mod ports;
mod prove;
mod start;

pub use binaries::{Binaries, available, binaries, cache, controller_manager, found};
pub(super) use start::start;
