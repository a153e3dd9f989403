//! What an operator can choose: plain data with its defaults, for all rooms alike.
//!
//! Choices come in, by field; the rooms read them. Borders: nothing in here says what a choice
//! leads to. That is for the room whose rules are chosen: `settings.rs`, `window.rs`, `budget.rs`
//! and `keyed.rs` of `restart/` add to the types of restarts what they mean.

mod checksum_keys;
mod reloader;
mod restart;
mod webhook;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

pub(crate) use checksum_keys::ChecksumKey;
pub use checksum_keys::{ChecksumKeyError, ChecksumKeys, SecretChecksums};
pub(crate) use reloader::truth;
pub use reloader::{ReloadStrategy, ReloaderAnnotations, ReloaderFlagError, ReloaderSettings};
pub use restart::{Budget, Limit, Profile, RestartSettings, Turns, Window};
use thiserror::Error;
pub use webhook::{Webhook, WebhookForm, WebhookUrl};

use crate::clock::Clock;
use crate::hash::KubernetesMinor;

/// Upstream's default of `--min-resync-period`.
pub const MIN_RESYNC_PERIOD: Duration = Duration::from_secs(12 * 60 * 60);

/// How the controller runs and what it follows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which controllers run; upstream's `--controllers`.
    pub controllers: BTreeSet<ControllerName>,
    /// Deployments of one namespace looked after at the same time, and four times as many in all;
    /// upstream's `--concurrent-deployment-syncs`. Never one of them twice at once.
    pub concurrent_deployment_syncs: usize,
    /// ReplicaSets of one namespace looked after at the same time, and four times as many in all;
    /// upstream's `--concurrent-replicaset-syncs`.
    pub concurrent_replicaset_syncs: usize,
    /// Whose behaviour is followed.
    pub compatibility: Compatibility,
    /// Which minor's pod-template-hash names new ReplicaSets: that of the kube-controller-manager
    /// to be equal to, whatever the API server's own is. To name ReplicaSets as the controller of a
    /// 1.33 cluster did, `"1.33".parse()?`.
    pub hash: KubernetesMinor,
    /// Whether `status.terminatingReplicas` is reported; upstream's gate
    /// `DeploymentReplicaSetTerminatingReplicas`.
    pub terminating_replicas: bool,
    /// The one namespace that is looked after; `None`: all.
    pub namespace: Option<String>,
    /// A limit that the controller sets to its own requests, lists and watches left out; `None`:
    /// none.
    pub rate_limit: Option<RateLimit>,
    /// After how long everything is looked at again, whether it changed or not; `None`: never.
    /// Upstream draws it at random between `--min-resync-period` and twice that, once for a
    /// process; here whoever makes the settings does.
    pub resync_period: Option<Duration>,
    /// How restarts for changed configs are decided.
    pub restart: RestartSettings,
    /// Where time comes from; a simulation brings its own.
    pub clock: Clock,
}

/// One controller of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ControllerName {
    /// Makes, sizes and deletes ReplicaSets.
    Deployment,
    /// Makes and deletes pods.
    ReplicaSet,
    /// Restarts workloads whose ConfigMaps and Secrets have changed.
    ConfigRestart,
}

/// A name that is none of a controller here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not in the list of known controllers; use deployment, replicaset, config-restart, or * for all")]
pub struct UnknownController(String);

impl ControllerName {
    /// All of them.
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

    /// Reads a short name, or the one that kube-controller-manager has used since 1.28:
    /// `deployment-controller`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let short = text.strip_suffix("-controller").unwrap_or(text);
        let found = Self::ALL.into_iter().find(|name| name.as_str() == short);
        found.ok_or_else(|| UnknownController(text.to_owned()))
    }
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
    /// The same, without those of its quirks that leave a Deployment stuck or wrong:
    /// `deployment/fixed.rs` lists them.
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
