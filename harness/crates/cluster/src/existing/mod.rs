//! `kubeconfig`: an existing cluster of the user, which is not created or deleted.
//!
//! ```text
//! --yes-this-cluster ──► kubeconfig: context, server, CA ──► controllers off? (read-only)
//!                                                 └─► lease ──► sweep ──► rights ──► Cluster
//! ```
//!
//! * `kubeconfig` reads the user's kubeconfig as kubectl does, and `context` builds a client from
//!   one of its contexts. The harness uses the user's credentials. The interceptor connects to the
//!   same server with the subject's token, so what the interceptor does not support is refused
//!   before anything runs.
//! * `lease` admits one harness at a time, across machines. `sweep` removes everything with the
//!   harness's label and this installation's id: before the first case what a killed run left
//!   behind, and at the end everything. Objects with the label alone are reported and kept.
//! * `rights` gives the controller under test an account that can read Deployments, ReplicaSets and
//!   pods of the whole cluster, and write in the harness's namespaces only. The server confirms it
//!   before the account is used.
//! * `pod_guard` keeps pods off the user's nodes, no matter who creates them, and has the server
//!   prove it before anything runs.
//! * The harness creates namespaces, nodes without a kubelet, two roles, a binding and two
//!   admission policies, each labelled `app.kubernetes.io/managed-by=lockstep` and
//!   `lockstep/installation=ID`; it changes nothing else. The nodes have no label that a DaemonSet
//!   selects, a taint that pods do not tolerate, and no capacity. A DaemonSet that selects every
//!   node and tolerates every taint still gets a pod on each of them, which never starts and is
//!   removed with the node: `pod_guard` warns of it.
//!
//! As on every cluster, the probe proves that no other controller handles Deployments. If the
//! controller manager's command line is not visible, the probe waits longer: see
//! [`Cluster::quiet_period`](super::Cluster::quiet_period).

mod cluster;
mod context;
#[cfg(test)]
mod context_tests;
mod error;
mod kubeconfig;
mod lease;
mod pod_guard;
mod rights;
mod sweep;
mod tenancy;

pub use cluster::{ExistingCluster, down};
pub use context::ResolvedContext;
pub use error::ContextError;
pub(crate) use error::TenancyError;
pub use kubeconfig::{check, files, read};
pub(crate) use sweep::SweepReport;

pub use crate::ownership::label;
pub use crate::plan::KubeconfigOptions;
