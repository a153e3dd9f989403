//! The quota usage of objects. Upstream: the evaluators of pods, of services and of object counts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::registry::kinds::strategy_of;
use crate::registry::resource_list::{
    HUGE_PAGES, ResourceList, amounts, has_pod_level_resources, is_native, pod_resources,
};
use crate::registry::strategy::QuotaEvaluator;
use crate::types::kinds::ResourceKind;
use crate::types::quantity::Quantity;

/// The limits of a quota on pods, besides resources with a prefix.
const OF_PODS: [&str; 11] = [
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
const OF_SERVICES: [&str; 4] = ["count/services", "services", "services.nodeports", "services.loadbalancers"];
/// A quota of these requires each container of a pod to specify an amount.
const NEEDED: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
/// Resources with both requests and limits.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const REQUESTS: &str = "requests.";
const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a limit of a quota applies to a kind. Upstream: `MatchingResources`.
pub(crate) fn is_tracked(kind: &ResourceKind, name: &str) -> bool {
    match strategy_of(kind).quota_evaluator() {
        QuotaEvaluator::Ignored => false,
        QuotaEvaluator::Pods => {
            let requested = name.strip_prefix(REQUESTS);
            OF_PODS.contains(&name)
                || requested.unwrap_or(name).starts_with(HUGE_PAGES)
                || requested.is_some_and(|requested| !is_native(name) || requested.starts_with(DEVICE_CLASS))
        }
        QuotaEvaluator::Services => OF_SERVICES.contains(&name),
        QuotaEvaluator::ObjectCount => kind.namespaced && count_names(kind).iter().any(|count| count == name),
    }
}

/// The names of the object counts of a kind.
fn count_names(kind: &ResourceKind) -> Vec<String> {
    let mut names = vec![format!("count/{}", kind.resource())];
    if strategy_of(kind).has_legacy_quota_name() {
        names.push(kind.plural.to_owned());
    }
    names
}

/// The usage of an object.
pub(crate) fn usage(kind: &ResourceKind, body: &Value, now: Timestamp) -> ResourceList {
    match strategy_of(kind).quota_evaluator() {
        QuotaEvaluator::Pods => pod_usage(body, now),
        QuotaEvaluator::Services => service_usage(&body["spec"]),
        QuotaEvaluator::Ignored | QuotaEvaluator::ObjectCount => {
            count_names(kind).into_iter().map(|name| (name, Quantity::from_count(1))).collect()
        }
    }
}

/// Whether the resources of a pod count, not only its existence: until it ends, or is overdue after
/// a deletion. Upstream: `QuotaV1Pod`, which adds the grace period to the deletion time.
pub(crate) fn is_fully_charged(pod: &Value, now: Timestamp) -> bool {
    if matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")) {
        return false;
    }
    let until = pod["metadata"]["deletionTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    match (until, pod["metadata"]["deletionGracePeriodSeconds"].as_i64()) {
        (Some(until), Some(grace)) => {
            until.checked_add(SignedDuration::from_secs(grace)).is_ok_and(|overdue| now <= overdue)
        }
        _ => true,
    }
}

fn pod_usage(pod: &Value, now: Timestamp) -> ResourceList {
    let mut used = ResourceList::from([("count/pods".to_owned(), Quantity::from_count(1))]);
    if is_fully_charged(pod, now) {
        used.extend(by_quota_names(&pod_resources(pod, "requests"), &pod_resources(pod, "limits")));
    }
    used
}

fn service_usage(spec: &Value) -> ResourceList {
    let ports = || spec["ports"].as_array().into_iter().flatten();
    let is_balanced = spec["type"] == "LoadBalancer";
    let node_ports = match spec["type"].as_str() {
        Some("LoadBalancer") if spec["allocateLoadBalancerNodePorts"] == false => {
            ports().filter(|port| port["nodePort"].as_i64().is_some_and(|number| number != 0)).count()
        }
        Some("NodePort" | "LoadBalancer") => ports().count(),
        _ => 0,
    };
    let numbers = [1, 1, node_ports, usize::from(is_balanced)];
    OF_SERVICES.into_iter().zip(numbers).map(|(name, number)| (name.to_owned(), Quantity::from_count(number))).collect()
}

/// Requests and limits by the names that quotas use. Upstream: `podComputeUsageHelper`.
fn by_quota_names(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut used = ResourceList::from([("pods".to_owned(), Quantity::from_count(1))]);
    for name in COMPUTE {
        if let Some(request) = requests.get(name) {
            used.insert(name.to_owned(), request.clone());
            used.insert(format!("{REQUESTS}{name}"), request.clone());
        }
        if let Some(limit) = limits.get(name) {
            used.insert(format!("limits.{name}"), limit.clone());
        }
    }
    for (name, request) in requests {
        if name.starts_with(HUGE_PAGES) {
            used.insert(name.clone(), request.clone());
        }
        let is_extended = !is_native(name) && !name.starts_with(REQUESTS);
        if name.starts_with(HUGE_PAGES) || name.starts_with(DEVICE_CLASS) || is_extended {
            used.insert(format!("{REQUESTS}{name}"), request.clone());
        }
    }
    used
}

/// The error for containers that omit limited resources; `None` if they specify all. Upstream:
/// `Constraints`.
pub(crate) fn missing_amounts<'a>(pod: &Value, limited: impl Iterator<Item = &'a str>) -> Option<String> {
    let spec = &pod["spec"];
    if ["requests", "limits"].iter().any(|field| has_pod_level_resources(spec, field)) {
        return None;
    }
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let limited: Vec<&str> = limited.filter(|name| NEEDED.contains(name)).collect();
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            let resources = &container["resources"];
            let named_amounts = by_quota_names(&amounts(&resources["requests"]), &amounts(&resources["limits"]));
            for name in limited.iter().filter(|name| !named_amounts.contains_key(**name)) {
                missing.entry(name).or_default().push(container["name"].as_str().unwrap_or_default());
            }
        }
    }
    let all: Vec<String> = missing
        .into_iter()
        .map(|(name, mut containers)| {
            containers.sort_unstable();
            format!("{name} for: {}", containers.join(","))
        })
        .collect();
    (!all.is_empty()).then(|| format!("must specify {}", all.join("; ")))
}
