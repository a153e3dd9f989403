//! The kinds of workloads, and what holds one back from replacing its pods.
//!
//! Cases: `config-restart/s03-opt-in-true@safe`, `config-restart/paused-template-and-config`.

/// What can be restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// A Deployment.
    Deployment,
    /// A StatefulSet.
    StatefulSet,
    /// A DaemonSet; xing's controller knows none.
    DaemonSet,
    /// A CronJob; profile `reloader` alone knows these two.
    CronJob,
    /// A Job.
    Job,
    /// A Rollout of Argo Rollouts; the same profile knows it, with a flag.
    Rollout,
}

impl WorkloadKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Deployment, Self::StatefulSet, Self::DaemonSet, Self::CronJob, Self::Job, Self::Rollout];

    /// As the API has it.
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
}

/// Why a new template replaces no pods yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The Deployment is paused.
    Paused,
    /// The update strategy is OnDelete: whoever deletes a pod gets a new one.
    OnDelete,
}
