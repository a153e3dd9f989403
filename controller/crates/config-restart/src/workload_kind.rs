//! The kinds of workloads, and what keeps a new template from replacing pods.
//!
//! Cases: `config-restart/safe-and-xing/s03-opt-in-true@safe`,
//! `config-restart/safe/paused-template-and-config`, `config-restart/reloader/rollout-not-served`.

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
