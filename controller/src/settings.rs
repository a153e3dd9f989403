//! What an operator can choose.

use crate::clock::Clock;
use crate::hash::Minor;

/// How the controller runs and what it follows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Deployments looked after at the same time; upstream's `--concurrent-deployment-syncs`. Never one of them twice at once.
    pub concurrent_deployment_syncs: usize,
    /// Whose behaviour is followed.
    pub compatibility: Compatibility,
    /// Which minor's pod-template-hash names new ReplicaSets: that of the kube-controller-manager to be equal to, whatever the API
    /// server's own is. To name ReplicaSets as the controller of a 1.33 cluster did, `"1.33".parse()?`.
    pub hash: Minor,
    /// Whether `status.terminatingReplicas` is reported; upstream's gate `DeploymentReplicaSetTerminatingReplicas`.
    pub terminating_replicas: bool,
    /// The one namespace that is looked after; `None`: all.
    pub namespace: Option<String>,
    /// A limit that the controller sets to its own requests, lists and watches left out; `None`: none.
    pub rate_limit: Option<RateLimit>,
    /// Where time comes from; a simulation brings its own.
    pub clock: Clock,
}

/// How many requests are made; upstream's `--kube-api-qps` and `--kube-api-burst`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Requests a second in the long run; above zero.
    pub qps: f64,
    /// Requests that may be made at once; at least one.
    pub burst: u32,
}

/// Whose behaviour is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compatibility {
    /// kube-controller-manager v1.36, decision for decision, its known quirks included.
    #[default]
    Upstream,
    /// The same, with those of its quirks mended that leave a Deployment stuck or wrong: `deployment/mended.rs` lists them.
    Fixed,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            concurrent_deployment_syncs: 5,
            compatibility: Compatibility::Upstream,
            hash: Minor::default(),
            terminating_replicas: true,
            namespace: None,
            rate_limit: None,
            clock: Clock::system(),
        }
    }
}
