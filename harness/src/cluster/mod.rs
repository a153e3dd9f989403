//! Where cases run: six backends, and what all of them answer.
//!
//! | backend | start | prove | connect | end |
//! | --- | --- | --- | --- | --- |
//! | `simulated`: `sim`, virtual time | a server in memory for each case | nothing: it is part of this process | calls, no socket | with its last clone |
//! | `served`: `sim`, real time | the same server over HTTP, a program | the program says that it listens | TLS on loopback, its own tokens | by its supervisor |
//! | `processes`: `control-plane` | etcd, kube-apiserver, kube-controller-manager | the server is ready; the harness wrote the command lines | TLS on loopback, the harness's tokens | by their supervisor |
//! | `containers` | the same three from upstream's images | the same, and the server names its version | a port published on 127.0.0.1 | by their supervisor, which runs the engine's command |
//! | `kind` | `kind create`, or the cluster of that name | its mark, the controller manager's command line, a ready node | two service accounts | by its supervisor; one that stays loses the accounts |
//! | `own`: `kubeconfig` | the user's cluster, and a lease on it | the controller manager's command line if seen, the subject's rights, what keeps pods off nodes | as the user; the subject by an account | everything of the harness's is removed, the cluster stays |
//!
//! Pods are moved by the case everywhere; on `kind` they can be real. The test environment's
//! controllers are this project's own beside a simulated server, else a kube-controller-manager:
//! upstream's StatefulSet, DaemonSet, garbage collector, namespace, service account and quota
//! controllers, and of those that can be judged (Deployment, ReplicaSet) exactly the ones that the
//! subject does not bring. That no other controller of the kind is at work is not believed of any
//! cluster: the probe, in another room, proves it from outside.
//!
//! # How it fits together
//!
//! ```text
//! Plan ──► boot ──► start of a backend ──► Cluster ──► Environment, in another room
//!            ^                               │  ^
//!     shared, standing ◄──── Handover ◄──────┘  │
//!            └──────────────────────────────────┘ attach
//! ```
//!
//! * Each backend is a folder with the files `start`, `prove`, `connect` and `end`. The last three
//!   implement the traits of `questions`; `start` is a function, as its arguments differ. The three
//!   whose programs a supervisor runs (served, processes, containers) are one type from then on:
//!   `supervised`.
//! * [`Cluster`] is an enum of the six. Nothing outside of this room matches on it.
//! * `facts` is the plain data that all share: identity, [`Access`], folder, programs, and which
//!   controllers are left out. `keeper` is the supervisor of those that have one.
//! * [`boot()`] starts a cluster that belongs to this process and ends with it. [`shared::obtain`]
//!   gives the trials of one nextest run one cluster between them; [`Standing`] is the one that
//!   `lockstep cluster up` leaves running. Both leave a [`Handover`], which has fields only for
//!   what another process can use.
//! * [`Access`] is address, CA, the harness's credential and the subject's token. The subject is
//!   `cluster-admin` where the server is thrown away, as what it may do is not what is judged; on a
//!   cluster of the user's own it writes in the harness's namespaces and nowhere else
//!   ([`Cluster::admit`]).
//! * Only one subject at a time may act on a cluster: [`Cluster::exclusive`].
//! * `client` makes every client, and `dial` is its way to the server, by the proxy that `proxy`
//!   chooses, if there is one.
//! * `programs`, `ready` and `certificates` are what local processes and containers share; `engine`
//!   is the container engine's command, `accounts` and `stock` are for clusters that were not made
//!   with the harness's tokens in them.
//! * What the harness makes carries its label, the id of this `installation` and one of its names
//!   (`ours`), so that whatever a run that was killed has left is found again, and nothing else is
//!   taken for it.
//!
//! Borders: knows processes, containers, files, sockets and how a control plane is put together;
//! nothing of cases, steps or verdicts.

mod access;
mod accounts;
mod answer_limit;
mod boot;
mod certificates;
mod client;
pub mod containers;
mod dial;
mod engine;
mod environment;
mod error;
mod facts;
mod handover;
mod installation;
mod keeper;
pub mod kind;
mod lock;
mod ours;
pub mod own;
mod place;
mod plan;
mod processes;
mod programs;
mod proxy;
#[cfg(test)]
pub(crate) mod proxy_fixture;
mod questions;
mod ready;
mod running;
mod served;
pub mod shared;
mod simulated;
mod standing;
mod stock;
mod supervised;

pub use crate::versions::{DEFAULT_VERSION, is_version, minor};
pub use access::{Access, Credential, User};
pub(crate) use access::{LIMIT, client_of, kubeconfig};
pub(crate) use answer_limit::{PAGES, TooMuch};
pub use boot::boot;
pub(crate) use certificates::Authority;
pub use certificates::issue_control_plane;
pub(crate) use dial::{Dial, basic_of_address};
pub use engine::EngineError;
pub use error::ClusterError;
pub use handover::Handover;
pub(crate) use installation::installation;
pub use lock::Guard;
pub(crate) use lock::lock_of_user;
pub(crate) use ours::{INSTALLATION, MANAGER, OURS, delete_namespace, named_ours, namespace_labels, ours};
pub use plan::{Plan, Site, SiteName};
pub use processes::{Binaries, available, binaries, cache, controller_manager, found};
pub use proxy::Proxy;
pub use running::Cluster;
pub use served::{ROLE as SERVER_ROLE, SimulatedServer};
pub use standing::{Raised, Standing};
