//! Fields that several kinds have and this server does not support.

use serde_json::Value;

use crate::registry::resource_list::{ResourceList, amounts, container_resources};

/// The unsupported fields of Jobs.
pub(crate) const UNSUPPORTED_OF_JOBS: [&str; 5] =
    ["podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes", "managedBy"];

/// Names the first of these fields that a spec has.
pub(crate) fn unsupported_field(kind: &str, spec: &Value, names: &[&str]) -> Option<String> {
    let found = names.iter().find(|name| !spec[**name].is_null());
    found.map(|name| format!("a {kind} with {name}"))
}

/// Pod-level resources that upstream would compare with those of the containers, and may reject.
pub(crate) fn pod_level_resources(pod: &Value) -> Option<String> {
    let own = &pod["spec"]["resources"];
    let containers = ["containers", "initContainers"].into_iter();
    let mut containers = containers.flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
    if !pod["spec"]["resourceClaims"].is_null() || containers.clone().any(|one| !one["resources"]["claims"].is_null()) {
        return Some("claims of devices".to_owned());
    }
    // Upstream compares nothing where neither requests nor limits are set.
    if own.as_object().is_none_or(serde_json::Map::is_empty) {
        return None;
    }
    let (requests, limits) = (amounts(&own["requests"]), amounts(&own["limits"]));
    let all = || requests.keys().chain(limits.keys());
    let is_plain = all().all(|name| matches!(name.as_str(), "cpu" | "memory")) && own["claims"].is_null();
    let within = |one: &ResourceList, most: &ResourceList| {
        one.iter().all(|(name, amount)| most.get(name).is_none_or(|most| amount <= most))
    };
    let fits = is_plain
        && all().next().is_some()
        && within(&requests, &limits)
        && within(&container_resources(pod, "requests"), &requests)
        && containers.all(|container| within(&amounts(&container["resources"]["limits"]), &limits));
    (!fits).then(|| "resources of a pod as a whole that do not cover those of its containers".to_owned())
}
