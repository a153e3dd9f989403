//! An operator's settings: plain data with defaults. The crates that interpret them declare theirs.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use controller_client::runtime::Reconcile;
use controller_client::{ClientSettings, Clock, RateLimit};
use controller_reconcilers::decisions::restarts::RestartSettings;
use controller_reconcilers::decisions::rollouts::{Compatibility, RuleSettings};
use controller_reconcilers::deployment::DeploymentReconciler;
use controller_reconcilers::replicaset::ReplicaSetReconciler;
use controller_reconcilers::restart::RestartController;
use rollout_model::hash::KubernetesMinor;
use thiserror::Error;

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
#[error(
    "{0:?} is not in the list of known controllers; use deployment, replicaset, config-restart, or * for the first two"
)]
pub struct UnknownController(String);

impl ControllerName {
    /// All controllers.
    pub const ALL: [Self; 3] = [Self::Deployment, Self::ReplicaSet, Self::ConfigRestart];

    /// Its short name, which its queue has, too.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => DeploymentReconciler::NAME,
            Self::ReplicaSet => ReplicaSetReconciler::NAME,
            Self::ConfigRestart => RestartController::NAME,
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

impl Settings {
    /// What the rules of Deployments and ReplicaSets read of them.
    pub(crate) fn rules(&self) -> RuleSettings {
        let Self { compatibility, hash, terminating_replicas, .. } = *self;
        RuleSettings { compatibility, hash, terminating_replicas }
    }

    /// What requests and watches read of them.
    pub(crate) fn client(&self) -> ClientSettings {
        let Self { rate_limit, resync_period, clock, .. } = *self;
        ClientSettings { namespace: self.namespace.clone(), rate_limit, resync_period, clock }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let RuleSettings { compatibility, hash, terminating_replicas } = RuleSettings::default();
        let ClientSettings { namespace, rate_limit, resync_period, clock } = ClientSettings::default();
        Self {
            controllers: [ControllerName::Deployment].into(),
            concurrent_deployment_syncs: 5,
            concurrent_replicaset_syncs: 5,
            compatibility,
            hash,
            terminating_replicas,
            namespace,
            rate_limit,
            resync_period,
            restart: RestartSettings::default(),
            clock,
        }
    }
}
