//! What an operator sets about the rules, as plain data.

use rollout_model::hash::KubernetesMinor;

/// Whose behaviour the rules follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSettings {
    /// Whose behaviour is followed.
    pub compatibility: Compatibility,
    /// The minor version whose pod-template-hash names new ReplicaSets: that of the
    /// kube-controller-manager to follow, whatever the API server's own is. To name ReplicaSets as
    /// the controller of a 1.33 cluster did, `"1.33".parse()?`.
    pub hash: KubernetesMinor,
    /// Whether `status.terminatingReplicas` is reported; upstream's gate
    /// `DeploymentReplicaSetTerminatingReplicas`.
    pub terminating_replicas: bool,
}

/// Whose behaviour is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compatibility {
    /// kube-controller-manager v1.36, decision for decision, its known quirks included.
    #[default]
    Upstream,
    /// The same, without those of its quirks that leave a Deployment stuck or wrong:
    /// `deployment/compatibility.rs` lists them.
    Fixed,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self { compatibility: Compatibility::Upstream, hash: KubernetesMinor::default(), terminating_replicas: true }
    }
}
