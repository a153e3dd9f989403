//! The interface of a running cluster that every backend implements: whether it is as required
//! (prove), how to reach it (connect), and how it ends (teardown). `start` is a function of each
//! backend, because its arguments differ.
//!
//! The defaults of the three traits suit a disposable cluster of the harness.

use std::time::Duration;

use kube_apiserver_sim::ApiServer;

use super::ClusterError;
use super::facts::ClusterFacts;
use super::kind::KindNode;
use crate::supervise::{DetachOptions, ProcessId};

/// Checks on the cluster's state.
pub(super) trait Prove {
    /// Whether all its processes still run.
    fn is_alive(&self) -> bool {
        true
    }

    /// Whether the cluster has a controller that watches for dead nodes.
    fn watches_nodes(&self) -> bool {
        false
    }

    /// How long the probe must see no other controller act before it concludes that there is none.
    fn quiet_period(&self) -> Duration {
        Duration::from_millis(400)
    }
}

/// Access to the cluster.
pub(super) trait Connect {
    /// Address, credentials, identity.
    fn facts(&self) -> &ClusterFacts;

    /// A client for the harness.
    async fn client(&self) -> Result<kube::Client, ClusterError> {
        self.facts().access.admin_client().await
    }

    /// The simulated server, if it runs in this process in virtual time.
    fn virtual_time_server(&self) -> Option<&ApiServer> {
        None
    }

    /// The node whose kubelet runs pods, if there is one.
    fn node(&self) -> Option<&KindNode> {
        None
    }

    /// Lets the subject write in one of the harness's namespaces.
    async fn grant_namespace_access(&self, _namespace: &str) -> Result<(), ClusterError> {
        Ok(())
    }
}

/// The end of the cluster, or of the harness's use of it.
pub(super) trait Teardown: Sized {
    /// Whether this process owns the cluster, which then ends with it.
    fn is_owned(&self) -> bool;

    /// The supervisor that ends it, if there is one.
    fn supervisor(&self) -> Option<ProcessId> {
        None
    }

    /// Whether [`Teardown::end`] removes all objects that the harness created on it.
    fn removes_own_objects(&self) -> bool {
        false
    }

    /// Returns the reason once the harness may not use the cluster any longer.
    async fn wait_until_lost(&self) -> String {
        std::future::pending().await
    }

    /// Lets it outlive this process, if it can.
    fn detach(self, _until: DetachOptions) -> Result<Self, ClusterError> {
        Ok(self)
    }

    /// Ends it if this process owns it, and waits until nothing is left.
    async fn end(self);

    /// Ends what another process has left of it. Blocks for at most `timeout`.
    fn abandon(&self, _timeout: Duration) {}
}
