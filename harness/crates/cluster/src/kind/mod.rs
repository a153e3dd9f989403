//! `kind`: a node with a kubelet in a container, and a control plane without the controllers under
//! test.
//!
//! ```text
//! flags, LOCKSTEP_KIND_CONFIG ──► config (merged, pure) ──► tool (kind, docker) ──► cluster
//!                              └ fingerprint on the cluster: only an identical one is reused
//! ```
//!
//! * `config` adds a patch to the user's configuration that turns the controllers under test off.
//!   kind silently drops a patch that applies to nothing, so `cluster` reads the controller
//!   manager's command line before the cluster is used. The probe proves the same from outside.
//! * `tool` is the only file that runs `kind` and the container engine.
//! * An existing cluster of this name is used if its fingerprint matches, and is not deleted. A
//!   cluster that this run creates is deleted at the end, however the harness ends, unless it is to
//!   be kept.
//! * `node` serves pods that run on the kubelet: their images, and for a subject that runs as pods
//!   the network path to the interceptor.
//!
//! The harness uses a separate kubeconfig and never writes to the user's.

mod cluster;
mod config;
mod error;
mod node;
mod tool;

pub use cluster::{KindCluster, down};
pub(crate) use cluster::{available, keep_logs};
pub use error::KindError;
pub use node::{KindNode, MasqueradeRule, NodeImages};

pub use crate::plan::KindOptions;
