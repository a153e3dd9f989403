//! `control-plane`: etcd, kube-apiserver and kube-controller-manager as processes of this machine.
//!
//! They listen on loopback, keep their files in one folder, and end with their supervisor. Where the programs come from stands
//! in `binaries`; how they are started, in `boot`.

mod binaries;
mod boot;
mod ports;

pub use binaries::{Binaries, available, binaries, controller_manager, found};
pub(super) use boot::boot_in;
