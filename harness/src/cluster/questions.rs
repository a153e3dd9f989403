//! What every backend answers of a cluster that runs: is it what it says (prove), how is it
//! reached (connect), how does it end (end). `start` is a function of each: its arguments differ.
//!
//! Each backend implements the three in files of these names. A default is the answer of a cluster
//! that is the harness's own and thrown away.

use std::time::Duration;

use kube_apiserver_sim::ApiServer;

use super::ClusterError;
use super::facts::Facts;
use super::kind::Node;
use crate::supervise::{ProcessId, Until};

/// Is it what it says, and is no other controller of the kind at work there?
pub(super) trait Prove {
    /// Whether every process of it still runs.
    fn is_alive(&self) -> bool {
        true
    }

    /// Whether it has a controller that watches for nodes that died.
    fn watches_nodes(&self) -> bool {
        false
    }

    /// How long another controller may do nothing before it is believed not to be there.
    fn doubt(&self) -> Duration {
        Duration::from_millis(400)
    }
}

/// How is it reached, and as whom?
pub(super) trait Connect {
    /// Address, credentials, identity.
    fn facts(&self) -> &Facts;

    /// A client for the harness itself.
    async fn client(&self) -> Result<kube::Client, ClusterError> {
        self.facts().access.admin_client().await
    }

    /// The simulated server, where it is in this process and without a socket.
    fn in_virtual_time(&self) -> Option<&ApiServer> {
        None
    }

    /// The node that runs pods for real.
    fn node(&self) -> Option<&Node> {
        None
    }

    /// Let the subject write in a namespace of the harness's.
    async fn admit(&self, _namespace: &str) -> Result<(), ClusterError> {
        Ok(())
    }
}

/// How does it end, or what the harness has on it?
pub(super) trait End: Sized {
    /// Whether it ends with this process.
    fn belongs_here(&self) -> bool;

    /// The process that ends it, where there is one.
    fn supervisor(&self) -> Option<ProcessId> {
        None
    }

    /// Whether [`End::end`] removes by itself all that the harness has made on it.
    fn sweeps(&self) -> bool {
        false
    }

    /// Returns once it is no longer the harness's to use, and says why.
    async fn lost(&self) -> String {
        std::future::pending().await
    }

    /// Let it live on without this process, where it can.
    fn detach(self, _until: Until) -> Result<Self, ClusterError> {
        Ok(self)
    }

    /// End it if it is this process's, and wait until nothing is left.
    async fn end(self);

    /// End what another process has left of it. Blocks for as long as `patience`.
    fn abandon(&self, _patience: Duration) {}
}
