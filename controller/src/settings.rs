//! What an operator can choose.

use crate::clock::Clock;

/// How the controller runs and what it follows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Deployments looked after at the same time; upstream's `--concurrent-deployment-syncs`. Never one of them twice at once.
    pub concurrent_deployment_syncs: usize,
    /// Whose behaviour is followed.
    pub compatibility: Compatibility,
    /// Whether `status.terminatingReplicas` is reported; upstream's gate `DeploymentReplicaSetTerminatingReplicas`.
    pub terminating_replicas: bool,
    /// Where time comes from; a simulation brings its own.
    pub clock: Clock,
}

/// Whose behaviour is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compatibility {
    /// kube-controller-manager v1.36, decision for decision, its known quirks included.
    #[default]
    Upstream,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            concurrent_deployment_syncs: 5,
            compatibility: Compatibility::Upstream,
            terminating_replicas: true,
            clock: Clock::system(),
        }
    }
}
