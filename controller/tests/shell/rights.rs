//! The rights that the roles in `deploy/` grant.

use std::collections::BTreeSet;

use kube_apiserver_sim::RequestInfo;
use serde_yaml::Value;

const ROLES: [&str; 2] =
    [include_str!("../../deploy/cluster-role.yaml"), include_str!("../../deploy/leader-election-role.yaml")];
/// The role of the component `deploy/replicaset`.
const REPLICA_SET_ROLE: &str = include_str!("../../deploy/replicaset/cluster-role.yaml");

/// The role of the component `deploy/config-restart/reloader`.
const RELOADER_ROLE: &str = include_str!("../../deploy/config-restart/reloader/cluster-role.yaml");

/// The role of the component `deploy/config-restart/rollouts`.
const ROLLOUTS_ROLE: &str = include_str!("../../deploy/config-restart/rollouts/cluster-role.yaml");

/// The roles of the components `metrics-auth` of both controllers.
const METRICS_ROLES: [&str; 2] = [
    include_str!("../../deploy/metrics-auth/cluster-role.yaml"),
    include_str!("../../deploy/config-restart/metrics-auth/cluster-role.yaml"),
];

/// The roles of `deploy/config-restart`.
const RESTART_ROLES: [&str; 2] = [
    include_str!("../../deploy/config-restart/cluster-role.yaml"),
    include_str!("../../deploy/config-restart/leader-election-role.yaml"),
];

/// One right: API group, resource (with its subresource), verb, and the only allowed name, or empty
/// for all names.
pub(crate) type Right = (String, String, String, String);

pub(crate) struct Rights(pub(crate) BTreeSet<Right>);

impl Default for Rights {
    /// The rights of the Deployment controller's manifests.
    fn default() -> Self {
        Self::given_by(&ROLES)
    }
}

impl Rights {
    /// The rights of a process with both controllers.
    pub(crate) fn of_both() -> Self {
        Self::default().and(Self::of_replica_sets())
    }

    /// The rights of the ReplicaSet component alone.
    pub(crate) fn of_replica_sets() -> Self {
        Self::given_by(&[REPLICA_SET_ROLE])
    }

    /// The rights of the config-restart controller.
    pub(crate) fn of_restarts() -> Self {
        Self::given_by(&RESTART_ROLES)
    }

    /// The rights of the config-restart controller in profile `reloader`.
    pub(crate) fn of_reloader() -> Self {
        Self::of_restarts().and(Self::given_by(&[RELOADER_ROLE]))
    }

    /// The same with the right to Rollouts.
    pub(crate) fn of_reloader_with_rollouts() -> Self {
        Self::of_reloader().and(Self::of_rollouts())
    }

    /// The rights of the Rollouts component alone.
    pub(crate) fn of_rollouts() -> Self {
        Self::given_by(&[ROLLOUTS_ROLE])
    }

    /// The rights to check access to the metrics.
    pub(crate) fn of_metrics_auth() -> Self {
        let [first, second] = METRICS_ROLES.map(|role| Self::given_by(&[role]));
        assert_eq!(first.0, second.0);
        first
    }

    fn and(mut self, added_rights: Self) -> Self {
        self.0.extend(added_rights.0);
        self
    }

    fn given_by(manifests: &[&str]) -> Self {
        let roles = manifests.iter().flat_map(|text| crate::deploy::documents(text));
        let rules = roles.filter(|role| !role["rules"].is_null());
        let rules = rules.flat_map(|role| role["rules"].as_sequence().unwrap().clone());
        Self(rules.flat_map(|rule| rights(&rule)).collect())
    }
}

fn rights(rule: &Value) -> Vec<Right> {
    let all = |field: &str| -> Vec<String> {
        let values = rule[field].as_sequence().cloned().unwrap_or_default();
        values.iter().map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let mut names = all("resourceNames");
    if names.is_empty() {
        names.push(String::new());
    }
    let mut found = Vec::new();
    for group in all("apiGroups") {
        for resource in all("resources") {
            for verb in all("verbs") {
                found.extend(names.iter().map(|name| (group.clone(), resource.clone(), verb.clone(), name.clone())));
            }
        }
    }
    found
}

impl Rights {
    /// Whether a request is allowed.
    pub(crate) fn allow(&self, request: &RequestInfo) -> bool {
        let RequestInfo { verb, group, resource, subresource, name, .. } = request;
        let resource = format!("{resource}/{subresource}").trim_end_matches('/').to_owned();
        let right = |name: &str| (group.clone(), resource.clone(), verb.to_string(), name.to_owned());
        self.0.contains(&right("")) || self.0.contains(&right(name))
    }
}
