//! `kubeconfig`: a cluster of the user's own, which was there before and stays.
//!
//! ```text
//! --yes-this-cluster ──► file: context, server, CA ──► stock: is its Deployment controller off?      (nothing is written)
//!                                                          └─► lease ──► sweep ──► rights ──► Cluster
//! ```
//!
//! * `file` reads the user's kubeconfig as kubectl does, and `connection` makes a client of one of
//!   its contexts. The harness acts with the user's own credentials; the interceptor goes to the
//!   same server by the subject's token, so what the interceptor cannot do is refused before
//!   anything runs.
//! * `lease` keeps two harnesses apart, be they on two machines. `sweep` removes everything that
//!   carries the harness's label and this installation's id: what was left by a run that was killed
//!   before the first case, and all of it in the end. What carries the label alone is listed and
//!   stays.
//! * `rights` gives the controller under test an account that can read the whole cluster's
//!   Deployments, ReplicaSets and pods, and write in the harness's own namespaces only. The server
//!   says so itself before the account is used.
//! * `guard` keeps pods off the user's nodes, whoever creates them, and has the server prove it
//!   before anything runs.
//! * The harness makes namespaces, nodes that no kubelet runs, two roles, a binding and two
//!   admission policies, each labelled `app.kubernetes.io/managed-by=lockstep` and
//!   `lockstep/installation=ID`; it touches nothing else. The nodes carry no label that a DaemonSet
//!   selects and a taint that pods do not tolerate, and have room for none; a DaemonSet that
//!   selects nothing and tolerates everything gets a pod for each of them all the same, which never
//!   starts and goes with the node: `daemons` warns of it.
//!
//! That nobody looks after Deployments is proved by the probe, as everywhere. Where the controller
//! manager cannot be seen, it is given longer to betray itself: see
//! [`Cluster::doubt`](super::Cluster::doubt).

mod connect;
mod connection;
#[cfg(test)]
mod connection_tests;
mod daemons;
mod door;
mod end;
mod error;
mod file;
mod guard;
mod lease;
mod prove;
mod rights;
mod start;
mod sweep;
mod tenancy;
mod wish;

use std::sync::Arc;

use super::facts::Facts;
use super::lock::Guard;
pub use connect::label;
pub use connection::Connection;
pub use end::down;
pub use error::{OwnError, TenancyError};
pub use file::{check, files, read};
pub use sweep::Swept;
use tenancy::Tenancy;
pub use wish::Wish;

/// A stay on a cluster of the user's own.
#[derive(Debug, Clone)]
pub struct Own {
    facts: Facts,
    held: Arc<Held>,
}

/// What only the process has that stays there.
#[derive(Debug)]
struct Held {
    tenancy: Tenancy,
    /// On this machine the next harness waits for it.
    alone: Guard,
}
