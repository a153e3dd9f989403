//! `kind`: a real node with a kubelet in a container, and on it a control plane whose Deployment
//! controller is off.
//!
//! ```text
//! flags, --kind-config ──► config (merged, pure) ──► tool (kind, docker) ──► prove ──► connect
//!                              └ fingerprint: kept on the cluster, so that only its like is used again
//! ```
//!
//! * `config` adds to the user's configuration what turns the controllers under test off. A patch
//!   that fits nothing is dropped by kind without a word, so `prove` reads the controller manager's
//!   command line before anything else is believed; the probe, in another room, proves the same
//!   from outside.
//! * `tool` is the one place that starts `kind` and the container engine.
//! * A cluster of this name that is there already is used if its fingerprint is the wanted one, and
//!   left as it was found. One that is made here goes at the end, however the harness ends, unless
//!   it is to be kept.
//! * `images` and `outside` are for pods that run for real: their images, and for a subject that
//!   runs as pods the way to the interceptor.
//!
//! The harness's own kubeconfig is kept apart: nothing is written to the user's.

mod config;
mod connect;
mod end;
mod error;
mod images;
mod node;
mod outside;
mod prove;
mod start;
mod tool;
mod wish;

use std::sync::Arc;

use super::facts::Facts;
use super::keeper::Keeper;
use super::lock::Guard;
pub use end::{down, keep_logs};
pub use error::KindError;
pub use images::Images;
pub use node::Node;
pub use outside::Way;
pub use start::available;
pub use wish::Wish;

/// The name of a cluster that nobody gave one.
const NAME: &str = "lockstep";

/// A cluster of kind's.
#[derive(Debug, Clone)]
pub struct Kind {
    facts: Facts,
    node: Node,
    /// None where it was there before, or is to stay.
    keeper: Option<Keeper>,
    /// Held by a process that uses the cluster by turns with others; not by those that attach to
    /// it.
    alone: Option<Arc<Guard>>,
}
