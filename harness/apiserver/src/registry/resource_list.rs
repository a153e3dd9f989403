//! Resource lists and the sums over the containers of a pod. Upstream: `PodRequests` and
//! `PodLimits` of component-helpers.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::types::quantity::Quantity;

/// Quantities by resource name. Upstream: `ResourceList`.
pub(crate) type ResourceList = BTreeMap<String, Quantity>;

pub(crate) const HUGE_PAGES: &str = "hugepages-";

/// Whether a resource name belongs to Kubernetes itself.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

pub(crate) fn amounts(list: &Value) -> ResourceList {
    let all = list.as_object().into_iter().flatten();
    all.map(|(name, amount)| (name.clone(), Quantity::parse_stored(amount.as_str().unwrap_or_default()))).collect()
}

/// Whether the pod-level resources of a spec set requests or limits (`field`). Upstream:
/// `IsPodLevelRequestsSet` and `IsPodLevelLimitsSet`.
pub(crate) fn has_pod_level_resources(spec: &Value, field: &str) -> bool {
    spec["resources"][field].as_object().into_iter().flatten().any(|(name, _)| is_pod_level_resource(name))
}

pub(crate) fn is_pod_level_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES)
}

/// The requests or limits of a pod, including pod-level resources and overhead. Upstream:
/// `PodRequests` and `PodLimits`.
pub(crate) fn pod_resources(pod: &Value, field: &str) -> ResourceList {
    let spec = &pod["spec"];
    let mut sum = container_resources(pod, field);
    let pod_level = amounts(&spec["resources"][field]);
    sum.extend(pod_level.into_iter().filter(|(name, _)| is_pod_level_resource(name)));
    let mut overhead = amounts(&spec["overhead"]);
    if field == "limits" {
        overhead.retain(|name, _| sum.get(name).is_some_and(|limit| !limit.is_zero()));
    }
    add(&mut sum, &overhead);
    sum
}

/// Default pod-level requests of a pod with pod-level limits: the requests of its containers, or
/// else the limits.
pub(crate) fn default_requests(pod: &Value) -> ResourceList {
    let mut requests = amounts(&pod["spec"]["resources"]["limits"]);
    if !requests.is_empty() {
        requests.extend(container_resources(pod, "requests"));
    }
    requests.retain(|name, _| is_pod_level_resource(name));
    requests
}

/// The requests or limits of the containers alone. Upstream: `AggregateContainerRequests` and
/// `AggregateContainerLimits`.
pub(crate) fn container_resources(pod: &Value, field: &str) -> ResourceList {
    let spec = &pod["spec"];
    let mut sum = ResourceList::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut sum, &effective_resources(pod, container, "containerStatuses", field));
    }
    // An init container runs beside the sidecars started before it, but not beside the containers.
    let (mut sidecars, mut peak) = (ResourceList::new(), ResourceList::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        if container["restartPolicy"] == "Always" {
            let pod_level = effective_resources(pod, container, "initContainerStatuses", field);
            add(&mut sum, &pod_level);
            add(&mut sidecars, &pod_level);
            maximum(&mut peak, &sidecars);
        } else {
            let mut with_sidecars = amounts(&container["resources"][field]);
            add(&mut with_sidecars, &sidecars);
            maximum(&mut peak, &with_sidecars);
        }
    }
    maximum(&mut sum, &peak);
    sum
}

/// A container's resources. While it is being resized, the larger of the requested and the actual
/// amount counts. Upstream: `determineEffectiveRequests` and `determineEffectiveLimits`.
fn effective_resources(pod: &Value, container: &Value, statuses: &str, field: &str) -> ResourceList {
    let declared = amounts(&container["resources"][field]);
    let mut all = pod["status"][statuses].as_array().into_iter().flatten();
    let status = all.find(|status| status["name"] == container["name"]);
    let Some(status) = status.filter(|status| status["resources"].is_object()) else { return declared };
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut pending = conditions.filter(|condition| condition["type"] == "PodResizePending");
    let infeasible = pending.next().is_some_and(|condition| condition["reason"] == "Infeasible");
    let mut effective = if infeasible { ResourceList::new() } else { declared };
    maximum(&mut effective, &amounts(&status["resources"][field]));
    if field == "requests" {
        maximum(&mut effective, &amounts(&status["allocatedResources"]));
    }
    effective
}

pub(crate) fn add(sum: &mut ResourceList, more: &ResourceList) {
    for (name, amount) in more {
        match sum.get_mut(name) {
            Some(current) => current.add(amount),
            None => drop(sum.insert(name.clone(), amount.clone())),
        }
    }
}

/// Keeps the larger of each amount.
fn maximum(all: &mut ResourceList, amounts: &ResourceList) {
    for (name, amount) in amounts {
        if all.get(name).is_none_or(|current| amount > current) {
            all.insert(name.clone(), amount.clone());
        }
    }
}

/// Encodes amounts for a status.
pub(crate) fn to_json(amounts: &ResourceList) -> Value {
    amounts.iter().map(|(name, amount)| (name.clone(), Value::from(amount.to_string()))).collect()
}
