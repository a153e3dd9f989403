//! The fields that the server sets itself before a write. Upstream: `BeforeCreate` and
//! `BeforeUpdate` of `registry/rest`.

use serde_json::{Value, json};

use crate::registry::autoscaling;
use crate::registry::defaults::{
    behavior, entry, items, pod_spec, requests_from_limits, requests_of_pod, service, set, spec,
};
use crate::registry::resource_list::{ResourceList, add, amounts};
use crate::registry::strategies::strategy_of;
use crate::registry::strategy::{keep, without_metadata};
use crate::types::kinds::{AUTOSCALER, DEFINITION, ResourceKind};

/// Whether the generation of a kind counts changes of its spec.
fn has_generation(kind: &ResourceKind) -> bool {
    if let Some(strategy) = strategy_of(kind) {
        return strategy.has_generation();
    }
    matches!(kind.built_in(), "Pod" | "CustomResourceDefinition")
}

/// The fields that the server resets after a write of the object or a subresource, so that no
/// manager owns them. Upstream: `GetResetFields`.
pub(crate) fn reset_fields(kind: &ResourceKind, subresource: &str) -> &'static [&'static [&'static str]] {
    if let Some(custom) = kind.custom {
        return match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ if custom.status => &[&["status"]],
            _ => &[],
        };
    }
    if let Some(strategy) = strategy_of(kind) {
        return strategy.reset_fields(subresource);
    }
    match (kind.built_in(), subresource) {
        ("Event", _) => &[],
        ("Pod", "status") => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
        (_, "status") => &[&["spec"]],
        _ => &[&["status"]],
    }
}

/// Converts fields that are stored as others: a Secret's `stringData`, a node's `podCIDR`.
/// Annotations of an autoscaler that stand for fields of v2 are dropped.
pub(crate) fn convert_fields(kind: &ResourceKind, body: &mut Value) {
    if let Some(strategy) = strategy_of(kind) {
        strategy.convert_fields(body);
    }
    if kind.built_in() == "HorizontalPodAutoscaler" && !kind.is_v1_autoscaler() {
        autoscaling::drop_field_annotations(body);
    }
}

/// Sets the defaults of an object.
pub(crate) fn set_defaults(kind: &ResourceKind, body: &mut Value) {
    if let Some(custom) = kind.custom {
        custom.fill(body);
        return;
    }
    if let Some(strategy) = strategy_of(kind) {
        strategy.set_defaults(body);
        return;
    }
    match kind.built_in() {
        "Pod" => {
            let spec = entry(body, "spec");
            pod_spec(spec);
            set(spec, "enableServiceLinks", json!(true));
            for list in ["containers", "initContainers"] {
                for container in items(spec, list) {
                    requests_from_limits(container);
                }
            }
            requests_of_pod(body);
        }
        "Service" => service(entry(body, "spec")),
        // v1 gets its default metric when it is converted to v2.
        "HorizontalPodAutoscaler" if kind.is_v1_autoscaler() => spec(body, &json!({"minReplicas": 1})),
        "HorizontalPodAutoscaler" => {
            spec(body, &json!({"minReplicas": 1}));
            if body["spec"]["metrics"].as_array().is_none_or(Vec::is_empty) {
                body["spec"]["metrics"] = json!([{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80}}}]);
            }
            if body["spec"]["behavior"].is_object() {
                behavior(&mut body["spec"]["behavior"]);
            }
        }
        "CustomResourceDefinition" => {
            let spec = entry(body, "spec");
            let kind = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
            let names = entry(spec, "names");
            set(names, "singular", kind.to_lowercase().into());
            if !kind.is_empty() {
                set(names, "listKind", format!("{kind}List").into());
            }
            if spec["conversion"].is_null() {
                spec["conversion"] = json!({"strategy": "None"});
            }
        }
        _ => {}
    }
}

/// Prepares a new object: only the server sets its status and generation.
pub(crate) fn prepare_for_create(kind: &ResourceKind, body: &mut Value) {
    if has_generation(kind) || kind.custom.is_some() {
        body["metadata"]["generation"] = 1.into();
    }
    if kind.custom.is_some_and(|custom| custom.status) {
        body.as_object_mut().and_then(|body| body.remove("status"));
    }
    if let Some(strategy) = strategy_of(kind) {
        strategy.prepare_for_create(body);
    }
    match kind.built_in() {
        "Pod" => {
            if body["spec"]["terminationGracePeriodSeconds"].as_i64().is_some_and(|grace| grace < 0) {
                body["spec"]["terminationGracePeriodSeconds"] = 1.into();
            }
            body["status"] = json!({"phase": "Pending", "qosClass": qos_class(&body["spec"])});
        }
        "Service" | "HorizontalPodAutoscaler" => {
            body["status"] = json!({});
        }
        "CustomResourceDefinition" => {
            body["status"] = json!({"storedVersions": stored_versions(&body["spec"], &Value::Null)});
        }
        _ => {}
    }
}

fn next_generation(new: &mut Value, old: &Value) {
    let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
    new["metadata"]["generation"] = (generation + 1).into();
}

/// Prepares an update: the status is kept, and the generation counts changes of the spec.
pub(crate) fn prepare_for_update(kind: &ResourceKind, new: &mut Value, old: &Value) {
    if let Some(custom) = kind.custom {
        if custom.status {
            keep(new, old, "status");
        }
        if without_metadata(new) != without_metadata(old) {
            next_generation(new, old);
        }
        return;
    }
    if old.get("status").is_some() || new.get("status").is_some() {
        keep(new, old, "status");
    }
    if let Some(strategy) = strategy_of(kind) {
        strategy.prepare_for_update(new, old);
        if strategy.has_generation() && strategy.changes_generation(new, old) {
            next_generation(new, old);
        }
        return;
    }
    if kind.built_in() == "CustomResourceDefinition" {
        new["status"]["storedVersions"] = stored_versions(&new["spec"], &old["status"]["storedVersions"]);
    }
    if has_generation(kind) && new["spec"] != old["spec"] {
        next_generation(new, old);
    }
}

/// Restores an Ingress's empty list of rules after decoding: it is not stored, but upstream's
/// errors show it, and null if there was no list. Does the same for an autoscaler's empty list of
/// policies.
pub(crate) fn keep_empty_rules(kind: &ResourceKind, given: &Value, read: &mut Value) {
    if let Some(strategy) = strategy_of(kind) {
        strategy.restore_empty_lists(given, read);
    }
    // An empty list of policies differs from an absent one: it gets no defaults.
    for direction in ["scaleUp", "scaleDown"].into_iter().filter(|_| kind.built_in() == AUTOSCALER) {
        let policies = |body: &Value| body["spec"]["behavior"][direction]["policies"].clone();
        if policies(given).as_array().is_some_and(Vec::is_empty) {
            read["spec"]["behavior"][direction]["policies"] = json!([]);
        }
    }
}

/// Whether an Ingress has an empty list of rules.
pub(crate) fn has_empty_rules(kind: &ResourceKind, body: &Value) -> bool {
    strategy_of(kind).is_some_and(|strategy| strategy.has_empty_rules(body))
}

/// Removes an empty list of rules from an Ingress; returns whether there was one.
pub(crate) fn take_empty_rules(kind: &ResourceKind, body: &mut Value) -> bool {
    let empty = has_empty_rules(kind, body);
    if empty {
        body["spec"].as_object_mut().and_then(|spec| spec.remove("rules"));
    }
    empty
}

/// The versions in which objects of a definition may be stored.
fn stored_versions(spec: &Value, before: &Value) -> Value {
    let mut all = before.as_array().cloned().unwrap_or_default();
    let stored = spec["versions"].as_array().into_iter().flatten().find(|version| version["storage"] == true);
    if let Some(name) = stored.map(|version| version["name"].clone()).filter(|name| !all.contains(name)) {
        all.push(name);
    }
    Value::Array(all)
}

/// Prepares a status update: all other fields are kept, with few exceptions.
pub(crate) fn prepare_for_status_update(kind: &ResourceKind, new: &mut Value, old: &Value) {
    if kind.custom.is_some() {
        let status = new.get("status").cloned();
        let version = new["metadata"]["resourceVersion"].clone();
        *new = old.clone();
        new["metadata"]["resourceVersion"] = version;
        match (new.as_object_mut(), status) {
            (Some(fields), Some(status)) => drop(fields.insert("status".to_owned(), status)),
            (Some(fields), None) => drop(fields.remove("status")),
            (None, _) => {}
        }
        return;
    }
    keep(new, old, "spec");
    if let Some(strategy) = strategy_of(kind) {
        strategy.prepare_for_status_update(new, old);
    }
    match kind.built_in() {
        // Decoded definitions have a default for these.
        "CustomResourceDefinition" if new["status"]["storedVersions"].as_array().is_none_or(Vec::is_empty) => {
            new["status"]["storedVersions"] = stored_versions(&old["spec"], &Value::Null);
        }
        "Pod" => {
            keep_meta(new, old, "deletionTimestamp");
            keep_meta(new, old, "ownerReferences");
            if new["status"].get("qosClass").is_none() {
                keep(&mut new["status"], &old["status"], "qosClass");
            }
            if new["status"].get("observedGeneration").is_none() {
                keep(&mut new["status"], &old["status"], "observedGeneration");
            }
        }
        _ => {}
    }
}

fn keep_meta(new: &mut Value, old: &Value, name: &str) {
    keep(&mut new["metadata"], &old["metadata"], name);
}

/// The QoS class of a pod. Upstream: `ComputePodQOS`.
fn qos_class(spec: &Value) -> &'static str {
    let containers =
        ["containers", "initContainers"].into_iter().flat_map(|list| spec[list].as_array().into_iter().flatten());
    // Pod-level resources take precedence over those of containers.
    let all: Vec<&Value> = match &spec["resources"] {
        Value::Null => containers.map(|container| &container["resources"]).collect(),
        own => vec![own],
    };
    let counted = |field: &str| -> Vec<ResourceList> {
        let of = |resources: &&Value| {
            let mut counted = amounts(&resources[field]);
            counted.retain(|name, amount| matches!(name.as_str(), "cpu" | "memory") && amount.is_positive());
            counted
        };
        all.iter().map(of).collect()
    };
    let (requests, limits) = (counted("requests"), counted("limits"));
    let sum = |all: &[ResourceList]| {
        let mut sum = ResourceList::new();
        all.iter().for_each(|one| add(&mut sum, one));
        sum
    };
    if requests.iter().chain(&limits).all(ResourceList::is_empty) {
        return "BestEffort";
    }
    let full = limits.iter().all(|one| one.len() == 2) && sum(&requests) == sum(&limits);
    if full { "Guaranteed" } else { "Burstable" }
}

/// Whether PUT creates an absent object. Upstream: `AllowCreateOnUpdate`.
pub(crate) fn allows_create_on_update(kind: &ResourceKind) -> bool {
    strategy_of(kind)
        .map_or_else(|| matches!(kind.built_in(), "Event" | "Service"), |strategy| strategy.allow_create_on_update())
}

/// Whether an update must have a resourceVersion. Upstream: `AllowUnconditionalUpdate`.
pub(crate) fn requires_version(kind: &ResourceKind) -> bool {
    strategy_of(kind).map_or_else(
        || kind.custom.is_some() || kind.built_in() == DEFINITION,
        |strategy| !strategy.allow_unconditional_update(),
    )
}

/// Drops the empty lists that etcd does not preserve.
pub(crate) fn drop_empty_lists(kind: &ResourceKind, body: &mut Value) {
    for name in unstored_lists(kind) {
        if body[*name].as_array().is_some_and(Vec::is_empty) {
            body[*name] = Value::Null;
        }
    }
}

/// The lists that are not stored if they are empty.
pub(crate) fn unstored_lists(kind: &ResourceKind) -> &'static [&'static str] {
    strategy_of(kind).map_or(&[], |strategy| strategy.unstored_lists())
}
