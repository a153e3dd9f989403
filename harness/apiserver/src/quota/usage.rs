//! What an object uses of a quota. Upstream: the evaluators of pods, of services and of counts of
//! objects.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::amounts::{Amounts, HUGE_PAGES, amounts, is_native, of_pod, says_resources};
use crate::api::Quantity;
use crate::kinds::Kind;

/// What a quota can limit of pods besides resources that have a prefix.
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
/// A quota of these wants each container of a pod to name an amount.
const NEEDED: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
/// Resources of which a pod names both requests and limits.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const REQUESTS: &str = "requests.";
const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a quota with this name in its limits counts objects of a kind. Upstream:
/// `MatchingResources`.
pub(super) fn is_tracked(kind: &Kind, name: &str) -> bool {
    match kind.built_in() {
        // Upstream: `ignoredResources`.
        "Event" => false,
        "Pod" => {
            let requested = name.strip_prefix(REQUESTS);
            OF_PODS.contains(&name)
                || requested.unwrap_or(name).starts_with(HUGE_PAGES)
                || requested.is_some_and(|requested| !is_native(name) || requested.starts_with(DEVICE_CLASS))
        }
        "Service" => OF_SERVICES.contains(&name),
        _ => kind.namespaced && counts_of(kind).iter().any(|count| count == name),
    }
}

/// Whether a quota with this name in its limits counts objects of kinds that are not served, so
/// that none of it is ever used: claims of volumes and devices, and ReplicationControllers.
pub(super) fn is_unserved(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "persistentvolumeclaims",
        "count/persistentvolumeclaims",
        "requests.storage",
        "replicationcontrollers",
        "count/replicationcontrollers",
        "count/resourceclaims.resource.k8s.io",
    ];
    const ENDS: [&str; 3] = [
        ".storageclass.storage.k8s.io/requests.storage",
        ".storageclass.storage.k8s.io/persistentvolumeclaims",
        ".deviceclass.resource.k8s.io/devices",
    ];
    NAMES.contains(&name) || ENDS.iter().any(|end| name.ends_with(end))
}

/// The names under which objects of a kind are counted.
fn counts_of(kind: &Kind) -> Vec<String> {
    let mut names = vec![format!("count/{}", kind.resource())];
    // Upstream: `legacyObjectCountAliases`.
    if matches!(kind.built_in(), "ConfigMap" | "Secret" | "ResourceQuota") {
        names.push(kind.plural.to_owned());
    }
    names
}

/// What an object uses.
pub(super) fn usage(kind: &Kind, body: &Value, now: Timestamp) -> Amounts {
    match kind.built_in() {
        "Pod" => usage_of_pod(body, now),
        "Service" => of_service(&body["spec"]),
        _ => counts_of(kind).into_iter().map(|name| (name, Quantity::of(1))).collect(),
    }
}

/// Whether a pod counts for more than its being there: until it ends, or is overdue after a
/// deletion. Upstream: `QuotaV1Pod`, which adds the grace period to the time at which it is over.
pub(super) fn is_charged(pod: &Value, now: Timestamp) -> bool {
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

fn usage_of_pod(pod: &Value, now: Timestamp) -> Amounts {
    let mut used = Amounts::from([("count/pods".to_owned(), Quantity::of(1))]);
    if is_charged(pod, now) {
        used.extend(by_quota_names(&of_pod(pod, "requests"), &of_pod(pod, "limits")));
    }
    used
}

fn of_service(spec: &Value) -> Amounts {
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
    OF_SERVICES.into_iter().zip(numbers).map(|(name, number)| (name.to_owned(), Quantity::of(number))).collect()
}

/// Requests and limits under the names that quotas have for them. Upstream:
/// `podComputeUsageHelper`.
fn by_quota_names(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::from([("pods".to_owned(), Quantity::of(1))]);
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

/// What a pod's containers do not say although a quota limits it; `None` if they say all.
/// Upstream: `Constraints`.
pub(super) fn unsaid<'a>(pod: &Value, limited: impl Iterator<Item = &'a str>) -> Option<String> {
    let spec = &pod["spec"];
    if ["requests", "limits"].iter().any(|which| says_resources(spec, which)) {
        return None;
    }
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let limited: Vec<&str> = limited.filter(|name| NEEDED.contains(name)).collect();
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            let resources = &container["resources"];
            let said = by_quota_names(&amounts(&resources["requests"]), &amounts(&resources["limits"]));
            for name in limited.iter().filter(|name| !said.contains_key(**name)) {
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
