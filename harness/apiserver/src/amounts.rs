//! Amounts of resources, and how those of a pod's containers add up. Upstream: `PodRequests` and
//! `PodLimits` of component-helpers.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::Quantity;

/// Quantities by the names of resources.
pub(super) type Amounts = BTreeMap<String, Quantity>;

pub(super) const HUGE_PAGES: &str = "hugepages-";

/// Whether a resource is of Kubernetes' own.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

pub(super) fn amounts(list: &Value) -> Amounts {
    let all = list.as_object().into_iter().flatten();
    all.map(|(name, amount)| (name.clone(), Quantity::read(amount.as_str().unwrap_or_default()))).collect()
}

/// Whether a pod as a whole, and not a container of it, names requests or limits. Upstream:
/// `IsPodLevelRequestsSet` and `IsPodLevelLimitsSet`.
pub(super) fn says_resources(spec: &Value, which: &str) -> bool {
    spec["resources"][which].as_object().into_iter().flatten().any(|(name, _)| is_of_pods(name))
}

pub(super) fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES)
}

/// The requests or the limits of a whole pod. Upstream: `PodRequests` and `PodLimits`.
pub(super) fn of_pod(pod: &Value, which: &str) -> Amounts {
    let spec = &pod["spec"];
    let mut sum = of_containers(pod, which);
    let own = amounts(&spec["resources"][which]);
    sum.extend(own.into_iter().filter(|(name, _)| is_of_pods(name)));
    let mut overhead = amounts(&spec["overhead"]);
    if which == "limits" {
        overhead.retain(|name, _| sum.get(name).is_some_and(|limit| !limit.is_zero()));
    }
    add(&mut sum, &overhead);
    sum
}

/// What a pod requests as a whole unless it says otherwise, if it has limits as a whole: what its
/// containers request, or else its limits.
pub(super) fn default_requests(pod: &Value) -> Amounts {
    let mut requests = amounts(&pod["spec"]["resources"]["limits"]);
    if !requests.is_empty() {
        requests.extend(of_containers(pod, "requests"));
    }
    requests.retain(|name, _| is_of_pods(name));
    requests
}

/// The same of its containers alone. Upstream: `AggregateContainerRequests` and
/// `AggregateContainerLimits`.
pub(super) fn of_containers(pod: &Value, which: &str) -> Amounts {
    let spec = &pod["spec"];
    let mut sum = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut sum, &effective(pod, container, "containerStatuses", which));
    }
    // An init container runs beside the sidecars before it, and without the containers.
    let (mut sidecars, mut most) = (Amounts::new(), Amounts::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        if container["restartPolicy"] == "Always" {
            let own = effective(pod, container, "initContainerStatuses", which);
            add(&mut sum, &own);
            add(&mut sidecars, &own);
            maximum(&mut most, &sidecars);
        } else {
            let mut meanwhile = amounts(&container["resources"][which]);
            add(&mut meanwhile, &sidecars);
            maximum(&mut most, &meanwhile);
        }
    }
    maximum(&mut sum, &most);
    sum
}

/// A container's resources: while it is being resized the larger of what is wanted and what it has.
/// Upstream: `determineEffectiveRequests` and `determineEffectiveLimits`.
fn effective(pod: &Value, container: &Value, statuses: &str, which: &str) -> Amounts {
    let wanted = amounts(&container["resources"][which]);
    let mut all = pod["status"][statuses].as_array().into_iter().flatten();
    let status = all.find(|status| status["name"] == container["name"]);
    let Some(status) = status.filter(|status| status["resources"].is_object()) else { return wanted };
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut pending = conditions.filter(|condition| condition["type"] == "PodResizePending");
    let infeasible = pending.next().is_some_and(|condition| condition["reason"] == "Infeasible");
    let mut found = if infeasible { Amounts::new() } else { wanted };
    maximum(&mut found, &amounts(&status["resources"][which]));
    if which == "requests" {
        maximum(&mut found, &amounts(&status["allocatedResources"]));
    }
    found
}

/// Adds each amount.
pub(super) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        match sum.get_mut(name) {
            Some(there) => there.add(amount),
            None => drop(sum.insert(name.clone(), amount.clone())),
        }
    }
}

/// Keeps the larger of each amount.
fn maximum(all: &mut Amounts, others: &Amounts) {
    for (name, amount) in others {
        if all.get(name).is_none_or(|there| amount > there) {
            all.insert(name.clone(), amount.clone());
        }
    }
}
