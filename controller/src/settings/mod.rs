//! An operator's settings: plain data with defaults, for all modules.
//!
//! Nothing here interprets a setting. The modules whose rules it concerns do: `settings.rs`,
//! `window.rs`, `budget.rs` and `keyed.rs` of `restart/` implement the settings of restarts.

mod checksum_keys;
mod reloader;
mod restart;
mod webhook;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

pub(crate) use checksum_keys::ChecksumKey;
pub use checksum_keys::{ChecksumKeyError, ChecksumKeys, SecretChecksums};
pub(crate) use reloader::parse_go_bool;
pub use reloader::{ReloadStrategy, ReloaderAnnotations, ReloaderFlagError, ReloaderSettings};
pub use restart::{Budget, GroupSettings, Limit, Profile, RestartSettings, Window};
use thiserror::Error;
pub use webhook::{Webhook, WebhookFormat, WebhookUrl};

use crate::clock::Clock;
use crate::hash::KubernetesMinor;

/// Upstream's default of `--min-resync-period`.
pub const MIN_RESYNC_PERIOD: Duration = Duration::from_secs(12 * 60 * 60);

/// How the controller runs, and whose behaviour it follows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which controllers run; upstream's `--controllers`.
    pub controllers: BTreeSet<ControllerName>,
    /// Deployments of one namespace that are reconciled at the same time, and four times as many in
    /// all; upstream's `--concurrent-deployment-syncs`. The same one is never reconciled twice at
    /// once.
    pub concurrent_deployment_syncs: usize,
    /// ReplicaSets of one namespace that are reconciled at the same time, and four times as many in
    /// all; upstream's `--concurrent-replicaset-syncs`.
    pub concurrent_replicaset_syncs: usize,
    /// Whose behaviour is followed.
    pub compatibility: Compatibility,
    /// The minor version whose pod-template-hash names new ReplicaSets: that of the
    /// kube-controller-manager to follow, whatever the API server's own is. To name ReplicaSets as
    /// the controller of a 1.33 cluster did, `"1.33".parse()?`.
    pub hash: KubernetesMinor,
    /// Whether `status.terminatingReplicas` is reported; upstream's gate
    /// `DeploymentReplicaSetTerminatingReplicas`.
    pub terminating_replicas: bool,
    /// The one namespace to manage; `None` for all.
    pub namespace: Option<String>,
    /// Rate limit on the controller's requests except lists and watches; `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// The period after which everything is reconciled again, changed or not; `None` for never.
    /// Upstream draws it at random between `--min-resync-period` and twice that, once per process;
    /// here the caller does.
    pub resync_period: Option<Duration>,
    /// The config-restart controller's settings.
    pub restart: RestartSettings,
    /// The source of time; a simulation has its own.
    pub clock: Clock,
}

/// A controller of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ControllerName {
    /// Creates, scales and deletes ReplicaSets.
    Deployment,
    /// Creates and deletes pods.
    ReplicaSet,
    /// Restarts workloads whose ConfigMaps and Secrets have changed.
    ConfigRestart,
}

/// A name of no controller.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not in the list of known controllers; use deployment, replicaset, config-restart, or * for all")]
pub struct UnknownController(String);

impl ControllerName {
    /// All controllers.
    pub const ALL: [Self; 3] = [Self::Deployment, Self::ReplicaSet, Self::ConfigRestart];

    /// Its short name, which its queue has, too.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::ReplicaSet => "replicaset",
            Self::ConfigRestart => "config-restart",
        }
    }
}

impl FromStr for ControllerName {
    type Err = UnknownController;

    /// Parses a short name, or the name in kube-controller-manager since 1.28:
    /// `deployment-controller`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let short = text.strip_suffix("-controller").unwrap_or(text);
        let found = Self::ALL.into_iter().find(|name| name.as_str() == short);
        found.ok_or_else(|| UnknownController(text.to_owned()))
    }
}

/// Rate limit on requests; upstream's `--kube-api-qps` and `--kube-api-burst`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Requests per second in the long run; above zero.
    pub qps: f64,
    /// Requests in a burst; at least one.
    pub burst: u32,
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

impl Default for Settings {
    fn default() -> Self {
        Self {
            controllers: [ControllerName::Deployment].into(),
            concurrent_deployment_syncs: 5,
            concurrent_replicaset_syncs: 5,
            compatibility: Compatibility::Upstream,
            hash: KubernetesMinor::default(),
            terminating_replicas: true,
            namespace: None,
            rate_limit: None,
            resync_period: Some(MIN_RESYNC_PERIOD),
            restart: RestartSettings::default(),
            clock: Clock::system(),
        }
    }
}
