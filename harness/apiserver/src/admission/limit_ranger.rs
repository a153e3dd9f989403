//! Applies LimitRanges to pods and their containers. Upstream: the LimitRanger admission plugin.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::core::limit_range;
use crate::registry::defaults::entry;
use crate::registry::resource_list::{amounts, container_resources, to_json};
use crate::registry::state::Server;
use crate::registry::validate::quantity::compare;
use crate::types::kinds::ResourceKind;
use crate::types::quantity::Quantity;

/// The annotation that lists the defaults that were set.
const ADDED: &str = "kubernetes.io/limit-ranger";

/// Sets defaults of a new pod before validation.
pub(crate) fn admit(server: &Server, namespace: &str, pod: &mut Value) {
    for limit in limits(server, namespace).iter().flatten().filter(|limit| limit["type"] == "Container") {
        let mut added = Vec::new();
        for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
            for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let named = container["name"].as_str().unwrap_or_default().to_owned();
                for (field, default, word) in
                    [("requests", "defaultRequest", "request"), ("limits", "default", "limit")]
                {
                    let names = fill(container, field, &limit[default]);
                    if !names.is_empty() {
                        added.push(format!("{} {word} for {what} {named}", names.join(", ")));
                    }
                }
            }
        }
        if !added.is_empty() {
            let annotations = entry(&mut pod["metadata"], "annotations");
            annotations[ADDED] = format!("LimitRanger plugin set: {}", added.join("; ")).into();
        }
    }
}

/// Rejects a new pod outside of the bounds, after validation.
pub(crate) fn validate(
    server: &Server,
    kind: &ResourceKind,
    namespace: &str,
    name: &str,
    pod: &Value,
) -> ApiResult<()> {
    for items in limits(server, namespace) {
        let mut wrong: Vec<String> = Vec::new();
        for limit in &items {
            let found = match limit["type"].as_str() {
                Some("Container") => {
                    let lists = ["containers", "initContainers"].into_iter();
                    let all = lists.flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
                    all.flat_map(|container| check(limit, &container["resources"])).collect()
                }
                Some("Pod") => check(limit, &json!({"requests": sum(pod, "requests"), "limits": sum(pod, "limits")})),
                _ => Vec::new(),
            };
            for why in found {
                // Upstream joins equal errors of several containers.
                if !wrong.contains(&why) {
                    wrong.push(why);
                }
            }
        }
        let message = match wrong.as_slice() {
            [] => continue,
            [one] => one.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        return Err(StatusError::forbidden(kind, name, &message));
    }
    Ok(())
}

/// The items of each LimitRange.
fn limits(server: &Server, namespace: &str) -> Vec<Vec<Value>> {
    let all = server.store.list(&limit_range::KIND, namespace);
    all.map(|one| one.body["spec"]["limits"].as_array().cloned().unwrap_or_default()).collect()
}

/// The requests or limits of a pod, without its overhead. Upstream: `podRequests`, `podLimits`.
fn sum(pod: &Value, field: &str) -> Value {
    let mut sum = container_resources(pod, field);
    let of_pod = amounts(&pod["spec"]["resources"][field]);
    sum.extend(of_pod.into_iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")));
    to_json(&sum)
}

/// Sets the resources that a container omits; returns their names.
fn fill(container: &mut Value, field: &str, defaults: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for (name, amount) in defaults.as_object().into_iter().flatten() {
        let is_set = container["resources"][field].get(name).is_some();
        if !is_set {
            if !container["resources"][field].is_object() {
                entry(container, "resources")[field] = json!({});
            }
            container["resources"][field][name] = amount.clone();
            names.push(name.clone());
        }
    }
    names
}

/// The violations of the bounds of an item.
fn check(limit: &Value, resources: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (bound, word, needed) in [("min", "minimum", "request"), ("max", "maximum", "limit")] {
        for (name, amount) in limit[bound].as_object().into_iter().flatten() {
            let bound_text = format!("{word} {name} usage per {} is {}", text(&limit["type"]), text(amount));
            let exceeds = |value: &Value| match bound {
                "min" => compare(value, amount) == Ordering::Less,
                _ => compare(value, amount) == Ordering::Greater,
            };
            let (request, most) = (resources["requests"].get(name), resources["limits"].get(name));
            let (first, second) = if bound == "min" { (request, most) } else { (most, request) };
            let other = if bound == "min" { "limit" } else { "request" };
            match (first, second) {
                (None, _) => wrong.push(format!("{bound_text}.  No {needed} is specified")),
                (Some(value), _) if exceeds(value) => {
                    wrong.push(format!("{bound_text}, but {needed} is {}", text(value)));
                }
                (_, Some(value)) if exceeds(value) => {
                    wrong.push(format!("{bound_text}, but {other} is {}", text(value)));
                }
                _ => {}
            }
        }
    }
    for (name, most) in limit["maxLimitRequestRatio"].as_object().into_iter().flatten() {
        wrong.extend(check_ratio(name, most, resources).map(|why| {
            let kind = text(&limit["type"]);
            format!("{name} max limit to request ratio per {kind} is {}, but {why}", text(most))
        }));
    }
    wrong
}

/// Compares the ratio of the limit and the request of a resource with the maximum. Upstream:
/// `limitRequestRatioConstraint`.
fn check_ratio(name: &str, most: &Value, resources: &Value) -> Option<String> {
    let thousandths = |value: &Value| Quantity::parse_stored(value.as_str().unwrap_or_default()).thousandths();
    let [request, limit] = ["requests", "limits"].map(|field| thousandths(&resources[field][name]));
    if request == 0 {
        return Some("no request is specified or request is 0".to_owned());
    }
    if limit == 0 {
        return Some("no limit is specified or limit is 0".to_owned());
    }
    let ratio = limit as f64 / request as f64;
    (ratio * 1000.0 > thousandths(most) as f64).then(|| format!("provided ratio is {ratio:.6}"))
}
