//! `kind`: a node with a kubelet in a container, and a control plane without the controllers under
//! test.
//!
//! ```text
//! flags, --kind-config ──► config (merged, pure) ──► tool (kind, docker) ──► prove ──► connect
//!                              └ fingerprint on the cluster: only an identical one is reused
//! ```
//!
//! * `config` adds a patch to the user's configuration that turns the controllers under test off.
//!   kind silently drops a patch that applies to nothing, so `prove` reads the controller manager's
//!   command line before the cluster is used. The probe proves the same from outside.
//! * `tool` is the only file that runs `kind` and the container engine.
//! * An existing cluster of this name is used if its fingerprint matches, and is not deleted. A
//!   cluster that this run creates is deleted at the end, however the harness ends, unless it is to
//!   be kept.
//! * `images` and `host_access` serve pods that run on the kubelet: their images, and for a subject
//!   that runs as pods the network path to the interceptor.
//!
//! The harness uses a separate kubeconfig and never writes to the user's.

mod config;
mod connect;
mod error;
mod host_access;
mod images;
mod node;
mod options;
mod prove;
mod start;
mod teardown;
mod tool;

use std::sync::Arc;

pub use error::KindError;
pub use host_access::MasqueradeRule;
pub use images::NodeImages;
pub use node::KindNode;
pub use options::KindOptions;
pub(crate) use start::available;
pub use teardown::down;
pub(crate) use teardown::keep_logs;

use super::facts::ClusterFacts;
use super::lock::FileLock;
use super::supervisor_handle::SupervisorHandle;

/// The name of a cluster if the user gives none.
const DEFAULT_NAME: &str = "lockstep";

/// A kind cluster.
#[derive(Debug, Clone)]
pub struct KindCluster {
    facts: ClusterFacts,
    node: KindNode,
    /// `None` if the cluster existed before, or is to be kept.
    supervisor: Option<SupervisorHandle>,
    /// Held by the process that uses the cluster, so that others wait; not by processes that attach
    /// to it.
    lock: Option<Arc<FileLock>>,
}
