//! What the roles in `deploy/` allow.

use std::collections::BTreeSet;

use kube_apiserver_sim::Route;
use serde_yaml::Value;

const ROLES: [&str; 2] =
    [include_str!("../../deploy/cluster-role.yaml"), include_str!("../../deploy/leader-election-role.yaml")];
/// What the component `deploy/replicaset` adds.
const REPLICA_SET_ROLE: &str = include_str!("../../deploy/replicaset/cluster-role.yaml");

/// What the component `deploy/config-restart/reloader` adds.
const RELOADER_ROLE: &str = include_str!("../../deploy/config-restart/reloader/cluster-role.yaml");

/// What the component `deploy/config-restart/rollouts` adds.
const ROLLOUTS_ROLE: &str = include_str!("../../deploy/config-restart/rollouts/cluster-role.yaml");

/// What the components `metrics-auth` add, to either controller.
const METRICS_ROLES: [&str; 2] = [
    include_str!("../../deploy/metrics-auth/cluster-role.yaml"),
    include_str!("../../deploy/config-restart/metrics-auth/cluster-role.yaml"),
];

/// What `deploy/config-restart` gives.
const RESTART_ROLES: [&str; 2] = [
    include_str!("../../deploy/config-restart/cluster-role.yaml"),
    include_str!("../../deploy/config-restart/leader-election-role.yaml"),
];

/// One right: API group, resource (with its subresource), verb, and the one name that it is for;
/// empty: all.
pub(crate) type Right = (String, String, String, String);

/// All rights.
pub(crate) struct Rights(pub(crate) BTreeSet<Right>);

impl Default for Rights {
    /// Those that the manifests give.
    fn default() -> Self {
        Self::given_by(&ROLES)
    }
}

impl Rights {
    /// Those of a process with both controllers.
    pub(crate) fn of_both() -> Self {
        Self::default().and(Self::of_replica_sets())
    }

    /// Those that the component for the ReplicaSet controller gives, and no other.
    pub(crate) fn of_replica_sets() -> Self {
        Self::given_by(&[REPLICA_SET_ROLE])
    }

    /// Those of the config-restart controller.
    pub(crate) fn of_restarts() -> Self {
        Self::given_by(&RESTART_ROLES)
    }

    /// Those of the config-restart controller in profile `reloader`.
    pub(crate) fn of_reloader() -> Self {
        Self::of_restarts().and(Self::given_by(&[RELOADER_ROLE]))
    }

    /// The same with Rollouts.
    pub(crate) fn of_reloader_with_rollouts() -> Self {
        Self::of_reloader().and(Self::of_rollouts())
    }

    /// Those that the component for Rollouts gives, and no other.
    pub(crate) fn of_rollouts() -> Self {
        Self::given_by(&[ROLLOUTS_ROLE])
    }

    /// Those that securing the metrics takes, whichever controller's they are.
    pub(crate) fn of_metrics_auth() -> Self {
        let [first, second] = METRICS_ROLES.map(|role| Self::given_by(&[role]));
        assert_eq!(first.0, second.0);
        first
    }

    fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
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
    pub(crate) fn allow(&self, request: &Route) -> bool {
        let Route { verb, group, resource, subresource, name, .. } = request;
        let resource = format!("{resource}/{subresource}").trim_end_matches('/').to_owned();
        let right = |name: &str| (group.clone(), resource.clone(), verb.to_string(), name.to_owned());
        self.0.contains(&right("")) || self.0.contains(&right(name))
    }
}
