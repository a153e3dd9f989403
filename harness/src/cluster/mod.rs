//! Where cases run.
//!
//! | site | API server | the test environment's controllers | pods |
//! | --- | --- | --- | --- |
//! | `sim` | in this process, on virtual time; for a subject that is a process of its own, over HTTP in real time | this project's own ReplicaSet controller | moved by the case |
//! | `control-plane` | a local process | a local kube-controller-manager | moved by the case |
//! | `containers` | upstream's image in a container | the same | moved by the case |
//! | `kind` | in a node container | the node's own kube-controller-manager | moved by the case, or real |
//! | `kubeconfig` | the user's, left as it was | the user's own controllers | moved by the case |
//!
//! The controller manager is the *test environment's half*: it runs upstream's StatefulSet, DaemonSet, garbage collector, namespace, service account
//! and quota controllers, and of those that can be judged (Deployment, ReplicaSet) exactly the ones that the subject does not bring.
//!
//! ```text
//! Plan ──► boot ──► processes | containers | kind | own ──► Cluster { access, … }
//!            ^            ^           ^         └ engine
//!            |            └─ programs, ready: what the three programs are told, and the wait for them
//!      shared, standing
//! one for a whole nextest run; `lockstep cluster up` until `down`
//! ```
//!
//! * [`boot()`] starts a cluster that belongs to this process and ends with it.
//! * [`shared::obtain`] gives the trials of one nextest run one cluster between them.
//! * [`Standing`] is the one that `lockstep cluster up` leaves running.
//! * [`Access`] is all that anybody needs in order to talk to a cluster: address, CA, the harness's credential and the subject's
//!   token. The subject is `cluster-admin` where the server is thrown away, as what it may do is not what is judged;
//!   on a cluster of the user's own ([`own`]) it writes in the harness's namespaces and nowhere else ([`Cluster::admit`]).
//! * The simulated API server is a crate of its own, `kube-apiserver-sim`; `served` makes a cluster of it that listens.
//! * Only one subject at a time may act on a cluster: [`Cluster::exclusive`].
//! * What the harness makes carries its label, the id of this `installation` and one of its names (`ours`), so that whatever a run
//!   that was killed has left is found again, and nothing else is taken for it. `stock` reads from a controller manager's pod what it runs.
//!
//! Borders: knows processes, containers, files, sockets and how a control plane is put together; nothing of cases,
//! steps or verdicts. Nothing here is trusted to run no Deployments: that nobody does is proved by the
//! probe, in another room.

mod access;
mod accounts;
mod boot;
mod certificates;
pub mod containers;
mod engine;
mod environment;
mod error;
mod exclusive;
mod installation;
pub mod kind;
mod ours;
pub mod own;
mod place;
mod plan;
mod processes;
mod programs;
mod ready;
mod running;
mod served;
pub mod shared;
mod standing;
mod stock;

pub(crate) use access::kubeconfig;
pub use access::{Access, Credential, User};
pub use boot::boot;
pub(crate) use certificates::Authority;
pub use certificates::issue_control_plane;
pub use engine::EngineError;
pub use error::ClusterError;
pub use exclusive::Guard;
pub(crate) use installation::installation;
pub(crate) use ours::{INSTALLATION, MANAGER, OURS, delete_namespace, named_ours, namespace_labels, ours};
/// The program behind every cluster that is not simulated.
pub(crate) const APISERVER: &str = "kube-apiserver";

pub use plan::{DEFAULT_VERSION, Plan, Site, SiteName, is_version, minor};
pub use processes::{Binaries, available, binaries, controller_manager, found};
pub use running::Cluster;
pub use served::Served;
pub use standing::{Raised, Standing};
