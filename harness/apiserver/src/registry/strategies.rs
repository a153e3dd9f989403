//! The strategies of the built-in kinds: one line for each.

use crate::registry::apps::daemon_set::DaemonSetStrategy;
use crate::registry::apps::deployment::DeploymentRestStrategy;
use crate::registry::apps::replica_set::ReplicaSetStrategy;
use crate::registry::apps::stateful_set::StatefulSetStrategy;
use crate::registry::batch::cron_job::CronJobStrategy;
use crate::registry::batch::job::JobStrategy;
use crate::registry::coordination::lease::LeaseStrategy;
use crate::registry::core::config_map::ConfigMapStrategy;
use crate::registry::core::limit_range::LimitRangeStrategy;
use crate::registry::core::namespace::NamespaceStrategy;
use crate::registry::core::node::NodeStrategy;
use crate::registry::core::resource_quota::ResourceQuotaStrategy;
use crate::registry::core::secret::SecretStrategy;
use crate::registry::core::service_account::ServiceAccountStrategy;
use crate::registry::discovery::endpoint_slice::EndpointSliceStrategy;
use crate::registry::networking::ingress::IngressStrategy;
use crate::registry::networking::ingress_class::IngressClassStrategy;
use crate::registry::policy::pod_disruption_budget::PodDisruptionBudgetStrategy;
use crate::registry::strategy::Strategy;
use crate::types::kinds::ResourceKind;

/// The strategies by the names of their kinds.
static STRATEGIES: [(&str, &dyn Strategy); 18] = [
    ("Namespace", &NamespaceStrategy),
    ("Node", &NodeStrategy),
    ("ConfigMap", &ConfigMapStrategy),
    ("Secret", &SecretStrategy),
    ("ServiceAccount", &ServiceAccountStrategy),
    ("ResourceQuota", &ResourceQuotaStrategy),
    ("LimitRange", &LimitRangeStrategy),
    ("Deployment", &DeploymentRestStrategy),
    ("ReplicaSet", &ReplicaSetStrategy),
    ("StatefulSet", &StatefulSetStrategy),
    ("DaemonSet", &DaemonSetStrategy),
    ("Job", &JobStrategy),
    ("CronJob", &CronJobStrategy),
    ("Lease", &LeaseStrategy),
    ("EndpointSlice", &EndpointSliceStrategy),
    ("PodDisruptionBudget", &PodDisruptionBudgetStrategy),
    ("Ingress", &IngressStrategy),
    ("IngressClass", &IngressClassStrategy),
];

/// The strategy of a built-in kind.
pub(crate) fn strategy_of(kind: &ResourceKind) -> Option<&'static dyn Strategy> {
    by_name(kind.built_in())
}

/// The strategy of the built-in kind with this name.
pub(crate) fn by_name(kind: &str) -> Option<&'static dyn Strategy> {
    STRATEGIES.iter().find(|(name, _)| *name == kind).map(|(_, strategy)| *strategy)
}

/// Whether the contents of an object are deleted before it.
pub(crate) fn deletes_contents_first(kind: &ResourceKind) -> bool {
    strategy_of(kind).is_some_and(|strategy| strategy.deletes_contents_first())
}
