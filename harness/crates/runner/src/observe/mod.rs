//! Watches the cluster, records what happens in the harness's namespaces, and proves that nothing
//! more will.
//!
//! [`WatchCache`] is what the watches have delivered: the latest state of every object in the
//! harness's own namespaces and, for each one with an open journal, every version
//! (`namespace_cache`). Objects in other namespaces are not stored. `pod_index` and
//! `replica_set_index` are indexes of a namespace, updated with each version, so that no query gets
//! slower with the number of objects. Nothing is polled, and nothing is read from the API server
//! once the watches run. A watch that lost events is a gap, and a gap makes a recording
//! inconclusive.
//!
//! `settle` decides when a namespace has settled: `equations` must hold (`equation_tracker`
//! stores which do not), and the flips of a `probe` must travel through the controllers of the
//! test environment and of the subject while the namespace is silent. The pulse distinguishes an
//! idle subject from a stalled test environment. Nothing is judged here: `timeline` and `verdict`
//! do that, from recordings alone.

mod equation_tracker;
mod equations;
pub mod namespace;
mod namespace_cache;
mod object;
mod pod_index;
pub(crate) mod probe;
mod pulse;
mod replica_set_index;
mod reported_deployments;
mod response_times;
pub(crate) mod settle;
pub(crate) mod virtual_settle;
mod watch;
mod watch_cache;

pub(crate) use equation_tracker::EquationScope;
pub(crate) use equations::REAL_GATE;
pub use equations::{deployment as deployment_status, replica_set_status};
pub use object::CachedObject;
pub(crate) use object::WatchedKind;
pub(crate) use pod_index::PodState;
pub(crate) use probe::Probe;
pub(crate) use watch::{WatchTasks, catch_up, open, open_in_process, open_kinds};
pub use watch_cache::WatchCache;

/// Errors of watching. The test environment is to blame for all of them.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The first list of a kind failed.
    #[error("cannot list {kind}s on the cluster: {source}")]
    List {
        /// The kind.
        kind: WatchedKind,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// The probe could not be created.
    #[error("cannot set the probe up: {0}")]
    Probe(#[source] Box<kube::Error>),
    /// A namespace could not be created.
    #[error("{0}")]
    Namespace(#[source] Box<kube::Error>),
    /// The test environment did not prove itself.
    #[error("{0}")]
    Proof(String),
}
