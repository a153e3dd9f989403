//! Names and kinds of configs and workloads, and what keeps a new template from replacing pods.
//!
//! Cases: `config-restart/safe-and-xing/s03-opt-in-true@safe`,
//! `config-restart/safe/paused-template-and-config`, `config-restart/reloader/rollout-not-served`.

use std::fmt;

/// How many bytes of an annotation a message quotes.
pub(crate) const MAX_QUOTED_BYTES: usize = 100;

/// A kind of config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl ConfigKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::ConfigMap, Self::Secret];

    /// The kind as annotations name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Secret => "secret",
        }
    }
}

/// Identifies a config; its text is `configmap/default/settings`, which is also its key in
/// annotations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigName {
    /// Its kind.
    pub kind: ConfigKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ConfigName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

/// A kind that can be restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// A Deployment.
    Deployment,
    /// A StatefulSet.
    StatefulSet,
    /// A DaemonSet, which xing's controller does not restart.
    DaemonSet,
    /// A CronJob, which only profile `reloader` restarts.
    CronJob,
    /// A Job, which only profile `reloader` restarts.
    Job,
    /// A Rollout of Argo Rollouts, which only profile `reloader` restarts, with a flag.
    Rollout,
}

impl WorkloadKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Deployment, Self::StatefulSet, Self::DaemonSet, Self::CronJob, Self::Job, Self::Rollout];

    /// The kind's name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::CronJob => "CronJob",
            Self::Job => "Job",
            Self::Rollout => "Rollout",
        }
    }

    /// Whether a cluster may be without the kind. Reloader, too, starts without Rollouts then.
    pub fn is_optional(self) -> bool {
        self == Self::Rollout
    }
}

/// Why a new template replaces no pods yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deferral {
    /// The Deployment is paused.
    Paused,
    /// The update strategy is OnDelete: a pod is replaced only after a user deletes it.
    OnDelete,
}

/// Identifies a workload; its text is `deployment/default/web`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadName {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            WorkloadKind::Deployment => "deployment",
            WorkloadKind::StatefulSet => "statefulset",
            WorkloadKind::DaemonSet => "daemonset",
            WorkloadKind::CronJob => "cronjob",
            WorkloadKind::Job => "job",
            WorkloadKind::Rollout => "rollout",
        };
        write!(to, "{kind}/{}/{}", self.namespace, self.name)
    }
}
