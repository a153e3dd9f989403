//! Watching: everything that happens on the cluster, kept as it happened, and the proof that
//! nothing more will.
//!
//! [`World`] is what the watches have delivered: the latest state of every object in the harness's own namespaces and, for each
//! one with an open journal, every version (`space`). What else is on a cluster passes by and is
//! not kept. `pods` and `sets` are indexes of a namespace, kept with each version, so that no
//! question costs more where there are more objects. Nothing is polled and nothing is read from the
//! API server once the watches run. A watch that lost events is a gap, and a gap makes a recording
//! inconclusive.
//!
//! [`settle`] decides when the world stands still, by `equations` that must hold (`balance` keeps which of them do not) and by a [`probe`] whose
//! flips must travel through the test environment's controllers and the subject's half while the
//! namespace is silent; the test environment's own pulse tells whose a silence is. What the journal
//! says is not judged here: that is `timeline` and `verdict`, which read recordings only.

mod balance;
mod bare;
pub mod catch_up;
mod equations;
pub mod namespace;
mod object;
mod pace;
mod pods;
pub mod probe;
mod pulse;
mod sets;
pub mod settle;
mod space;
pub mod still;
mod watch;
mod world;

pub use balance::Question;
pub use equations::REAL_GATE;
pub(crate) use equations::{deployment as deployment_status, replica_set_status};
pub use object::{Kind, Object};
pub use pods::PodState;
pub use probe::Probe;
pub use watch::{Watches, open, open_inside, open_those};
pub use world::World;

/// What goes wrong while watching. All of it is the test environment's.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// A first list failed.
    #[error("cannot list {kind}s on the cluster: {source}")]
    List {
        /// The kind.
        kind: Kind,
        /// What the client says.
        source: Box<kube::Error>,
    },
    /// The probe could not be set up.
    #[error("cannot set the probe up: {0}")]
    Probe(#[source] Box<kube::Error>),
    /// A namespace could not be made.
    #[error("{0}")]
    Namespace(#[source] Box<kube::Error>),
    /// The proof at boot failed.
    #[error("{0}")]
    Proof(String),
}
