//! Where cases run.
//!
//! `control-plane`: a real etcd, kube-apiserver and kube-controller-manager as local processes on
//! loopback, in a folder of their own, gone without a trace when the harness is. No kubelet and no
//! scheduler: pods move only when the case says so. The controller manager is the *lab's half*: it runs
//! upstream's ReplicaSet, StatefulSet, DaemonSet, garbage collector, namespace, service account and
//! quota controllers, never the Deployment controller, and none that the subject brings itself.
//!
//! ```text
//! binaries -> place -> boot (certificates, ports, programs) -> ControlPlane
//!                        ^            ^
//!                     shared       standing
//! one for a whole nextest run      `lockstep cluster up` until `down`
//! ```
//!
//! * [`binaries()`] finds or makes the programs, with the script that lies in `scripts/`.
//! * [`boot()`] starts a cluster that belongs to this process and ends with it.
//! * [`shared::obtain`] gives the trials of one nextest run one cluster between them.
//! * [`Standing`] is the one that `lockstep cluster up` leaves running.
//! * [`Access`] is all that anybody needs in order to talk to a cluster: address, CA and two tokens.
//!   The subject's token is `cluster-admin` by a ClusterRoleBinding: this server is thrown away, and
//!   what the subject may do is not what is judged here.
//! * Only one subject at a time may act on a cluster: [`Cluster::exclusive`].
//!
//! Borders: knows processes, files, sockets and how a control plane is put together; nothing of cases,
//! edges or verdicts. Nothing here is trusted to run Deployments: that nobody does is proved by the
//! canary, in another room.

mod access;
mod binaries;
mod boot;
mod certificates;
mod control_plane;
mod error;
mod exclusive;
mod place;
mod ports;
mod programs;
pub mod shared;
mod standing;

pub(crate) use access::kubeconfig;
pub use access::{Access, User};
pub use binaries::{Binaries, DEFAULT_VERSION, available, binaries, is_version};
pub use boot::{Plan, boot};
pub(crate) use certificates::Authority;
pub use control_plane::Cluster;
pub use error::ClusterError;
pub use exclusive::Guard;
pub use standing::{Raised, Standing};
