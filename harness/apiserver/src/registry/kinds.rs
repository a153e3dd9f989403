//! The built-in kinds: one line for each.
//!
//! A kind is a file, `registry/<group>/<kind>.rs`, with its `KIND` and its strategy. Paths,
//! discovery, OpenAPI, tables, quotas and the controllers follow from its line here. The fields of
//! its type come with `scripts/api-types`, which reads the kinds from these files.

use crate::registry::strategy::{DefaultStrategy, Strategy};
use crate::registry::{
    apiextensions, apps, autoscaling, batch, coordination, core, discovery, events, networking, policy, rbac,
    scheduling,
};
use crate::types::kinds::{Kinds, ResourceKind, kind};

/// The built-in kinds with their strategies.
static BUILT_IN: [(&ResourceKind, &dyn Strategy); 31] = [
    (&core::namespace::KIND, &core::namespace::NamespaceStrategy),
    (&core::node::KIND, &core::node::NodeStrategy),
    (&core::pod::KIND, &core::pod::PodStrategy),
    (&core::event::KIND, &core::event::EventStrategy),
    (&core::config_map::KIND, &core::config_map::ConfigMapStrategy),
    (&core::secret::KIND, &core::secret::SecretStrategy),
    (&core::service_account::KIND, &core::service_account::ServiceAccountStrategy),
    (&core::resource_quota::KIND, &core::resource_quota::ResourceQuotaStrategy),
    (&core::service::KIND, &core::service::ServiceStrategy),
    (&core::limit_range::KIND, &core::limit_range::LimitRangeStrategy),
    (&apps::deployment::KIND, &apps::deployment::DeploymentRestStrategy),
    (&apps::replica_set::KIND, &apps::replica_set::ReplicaSetStrategy),
    (&apps::stateful_set::KIND, &apps::stateful_set::StatefulSetStrategy),
    (&apps::daemon_set::KIND, &apps::daemon_set::DaemonSetStrategy),
    (&batch::job::KIND, &batch::job::JobStrategy),
    (&batch::cron_job::KIND, &batch::cron_job::CronJobStrategy),
    (&coordination::lease::KIND, &coordination::lease::LeaseStrategy),
    (&discovery::endpoint_slice::KIND, &discovery::endpoint_slice::EndpointSliceStrategy),
    (&policy::pod_disruption_budget::KIND, &policy::pod_disruption_budget::PodDisruptionBudgetStrategy),
    (&autoscaling::horizontal_pod_autoscaler::KIND, &autoscaling::horizontal_pod_autoscaler::AutoscalerStrategy),
    (&apiextensions::custom_resource_definition::KIND, &apiextensions::custom_resource_definition::DefinitionStrategy),
    (&networking::ingress::KIND, &networking::ingress::IngressStrategy),
    (&networking::ingress_class::KIND, &networking::ingress_class::IngressClassStrategy),
    (&rbac::role::KIND, &rbac::role::RoleStrategy),
    (&rbac::role_binding::KIND, &rbac::role_binding::RoleBindingStrategy),
    (&rbac::cluster_role::KIND, &rbac::cluster_role::ClusterRoleStrategy),
    (&rbac::cluster_role_binding::KIND, &rbac::cluster_role_binding::ClusterRoleBindingStrategy),
    (&networking::network_policy::KIND, &networking::network_policy::NetworkPolicyStrategy),
    (&scheduling::priority_class::KIND, &scheduling::priority_class::PriorityClassStrategy),
    (&events::event::KIND, &events::event::EventsV1Strategy),
    (&autoscaling::v1::KIND, &autoscaling::v1::AutoscalerV1Strategy),
];

/// The built-in kinds; of several versions, the stored one stands first.
pub(crate) static KINDS: [&ResourceKind; BUILT_IN.len()] = {
    let mut kinds = [BUILT_IN[0].0; BUILT_IN.len()];
    let mut index = 0;
    while index < kinds.len() {
        kinds[index] = BUILT_IN[index].0;
        index += 1;
    }
    kinds
};

/// The group of access reviews.
pub(crate) const AUTHORIZATION: &str = "authorization.k8s.io";

/// The access reviews, which are not stored.
pub(crate) static REVIEWS: [ResourceKind; 2] = [
    review("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    review("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
];

const fn review(plural: &'static str, name: &'static str) -> ResourceKind {
    ResourceKind { namespaced: false, verbs: &["create"], ..kind(AUTHORIZATION, "v1", plural, name) }
}

pub(crate) fn strategy_of(kind: &ResourceKind) -> &'static dyn Strategy {
    BUILT_IN.iter().find(|(one, _)| one.is(kind)).map_or(&DefaultStrategy, |(_, strategy)| *strategy)
}

/// The other versions of a built-in kind, in which managers may own fields.
pub(crate) fn other_versions(kind: &ResourceKind) -> impl Iterator<Item = &'static ResourceKind> {
    let all = KINDS.into_iter().filter(|one| kind.custom.is_none() && one.version != kind.version);
    all.filter(|one| one.group == kind.group && one.plural == kind.plural)
}

impl Default for Kinds {
    /// The built-in kinds.
    fn default() -> Self {
        Self::new(&KINDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::table::TYPES;

    #[test]
    fn clients_find_the_type_of_every_built_in_kind() {
        for kind in KINDS {
            let found = TYPES.object_type(&kind.api_version(), kind.kind);
            assert_eq!(found, Some(kind.table_index()), "{} {}", kind.api_version(), kind.kind);
        }
    }
}
