//! The strategies of the built-in kinds: one line for each.

use crate::registry::apps::daemon_set::DaemonSet;
use crate::registry::apps::deployment::Deployment;
use crate::registry::apps::replica_set::ReplicaSet;
use crate::registry::apps::stateful_set::StatefulSet;
use crate::registry::batch::cron_job::CronJob;
use crate::registry::batch::job::Job;
use crate::registry::coordination::lease::Lease;
use crate::registry::policy::pod_disruption_budget::PodDisruptionBudget;
use crate::registry::strategy::Strategy;
use crate::types::kinds::ResourceKind;

/// The strategies by the names of their kinds.
static STRATEGIES: [(&str, &dyn Strategy); 8] = [
    ("Deployment", &Deployment),
    ("ReplicaSet", &ReplicaSet),
    ("StatefulSet", &StatefulSet),
    ("DaemonSet", &DaemonSet),
    ("Job", &Job),
    ("CronJob", &CronJob),
    ("Lease", &Lease),
    ("PodDisruptionBudget", &PodDisruptionBudget),
];

/// The strategy of a built-in kind.
pub(crate) fn strategy_of(kind: &ResourceKind) -> Option<&'static dyn Strategy> {
    by_name(kind.built_in())
}

/// The strategy of the built-in kind with this name.
pub(crate) fn by_name(kind: &str) -> Option<&'static dyn Strategy> {
    STRATEGIES.iter().find(|(name, _)| *name == kind).map(|(_, strategy)| *strategy)
}
