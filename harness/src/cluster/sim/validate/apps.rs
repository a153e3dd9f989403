//! Deployments and ReplicaSets. Upstream: `ValidateDeploymentSpec`, `ValidateReplicaSetSpec`, `Validate…Status`.

use serde_json::Value;

use super::{meta, nonnegative, pod, words};
use crate::cluster::sim::field::FieldError;
use crate::cluster::sim::select::Selector;

pub(super) fn deployment(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    errors.extend(selector(spec));
    errors.extend(template(spec));
    errors.extend(strategy(&spec["strategy"]));
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    nonnegative(&mut errors, spec, "spec", "revisionHistoryLimit");
    // Where the annotation of old stands in the server's own form.
    if let Some(version) = spec["rollbackTo"]["revision"].as_i64().filter(|version| *version < 0) {
        errors.push(FieldError::invalid("spec.rollback.version", version, "must be greater than or equal to 0"));
    }
    nonnegative(&mut errors, spec, "spec", "progressDeadlineSeconds");
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64()
        && deadline <= spec["minReadySeconds"].as_i64().unwrap_or(0)
    {
        let why = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, why));
    }
    errors
}

/// ReplicaSets; of StatefulSets and DaemonSets, which cases only look at, the same is checked.
pub(super) fn replica_set(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    errors.extend(selector(spec));
    errors.extend(template(spec));
    errors
}

pub(super) fn same_selector(new: &Value, old: &Value) -> Option<FieldError> {
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    (new != old).then(|| FieldError::invalid("spec.selector", new.clone(), "field is immutable"))
}

/// The number that a scale asks for.
pub(in super::super) fn scale(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    errors
}

fn selector(spec: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.selector";
    let selector = &spec["selector"];
    if selector.is_null() {
        return vec![FieldError::required(PATH, "")];
    }
    let mut errors = meta::labels(&selector["matchLabels"], &format!("{PATH}.matchLabels"));
    for (index, one) in selector["matchExpressions"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{PATH}.matchExpressions[{index}]");
        let values = one["values"].as_array().map_or(0, Vec::len);
        match one["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values == 0 => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&format!("{path}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let why = "not a valid selector operator";
                errors.push(FieldError::invalid(&format!("{path}.operator"), other, why));
            }
        }
        let key = one["key"].as_str().unwrap_or_default();
        let path = format!("{path}.key");
        errors.extend(words::key(key).into_iter().map(|wrong| FieldError::invalid(&path, key, wrong)));
    }
    let is_empty = |name: &str| {
        selector[name].as_object().is_none_or(serde_json::Map::is_empty)
            && selector[name].as_array().is_none_or(Vec::is_empty)
    };
    if is_empty("matchLabels") && is_empty("matchExpressions") {
        errors.push(FieldError::invalid(PATH, selector.clone(), "empty selector is invalid for deployment"));
    }
    errors
}

fn template(spec: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.template";
    let mut errors = Vec::new();
    let template = &spec["template"];
    let selector = Selector::of_object(&spec["selector"]);
    let labels = &template["metadata"]["labels"];
    if !spec["selector"].is_null() && !selector.is_empty() && !selector.matches_labels(labels) {
        let why = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid(&format!("{PATH}.metadata.labels"), labels.clone(), why));
    }
    errors.extend(meta::labels(labels, &format!("{PATH}.labels")));
    let annotations = format!("{PATH}.annotations");
    errors.extend(meta::annotations(&template["metadata"]["annotations"], &annotations));
    errors.extend(pod::annotations(&template["metadata"], &annotations));
    errors.extend(pod::spec(&template["spec"], &format!("{PATH}.spec")));
    let restart = template["spec"]["restartPolicy"].as_str().unwrap_or_default();
    if restart != "Always" {
        errors.push(FieldError::unsupported(&format!("{PATH}.spec.restartPolicy"), restart, &["Always"]));
    }
    if !template["spec"]["activeDeadlineSeconds"].is_null() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.push(FieldError::forbidden(&format!("{PATH}.spec.activeDeadlineSeconds"), why));
    }
    errors
}

fn strategy(strategy: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.strategy";
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str().unwrap_or_default() {
        "Recreate" if rolling.is_null() => Vec::new(),
        "Recreate" => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            vec![FieldError::forbidden(&format!("{PATH}.rollingUpdate"), why)]
        }
        "RollingUpdate" => rolling_update(rolling, &format!("{PATH}.rollingUpdate")),
        _ => vec![FieldError::unsupported(PATH, strategy.clone(), &["Recreate", "RollingUpdate"])],
    }
}

fn rolling_update(rolling: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["maxUnavailable", "maxSurge"] {
        let (value, path) = (&rolling[name], format!("{path}.{name}"));
        match value {
            Value::String(text) => {
                errors.extend(words::percent(text).map(|why| FieldError::invalid(&path, text.clone(), why)));
            }
            Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
                errors.push(FieldError::invalid(&path, value.clone(), "must be greater than or equal to 0"));
            }
            _ => {}
        }
    }
    let unavailable = &rolling["maxUnavailable"];
    let path = format!("{path}.maxUnavailable");
    if amount(unavailable) == 0 && amount(&rolling["maxSurge"]) == 0 {
        errors.push(FieldError::invalid(&path, unavailable.clone(), "may not be 0 when `maxSurge` is 0"));
    }
    if unavailable.as_str().is_some_and(|text| words::percent(text).is_none()) && amount(unavailable) > 100 {
        errors.push(FieldError::invalid(&path, unavailable.clone(), "must not be greater than 100%"));
    }
    errors
}

/// The number of an int-or-percent; one that is neither is nothing.
fn amount(value: &Value) -> i64 {
    match value {
        Value::String(text) => text.strip_suffix('%').unwrap_or(text).parse().unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    }
}

pub(super) fn deployment_status(status: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    no_more_than_replicas(&mut errors, status, &["updatedReplicas", "readyReplicas", "availableReplicas"]);
    let collisions = |status: &Value| status["collisionCount"].as_i64();
    if let Some(before) = collisions(old)
        && collisions(status).is_none_or(|now| now < before)
    {
        let now = collisions(status).unwrap_or(0);
        errors.push(FieldError::invalid("status.collisionCount", now, "cannot be decremented"));
    }
    errors
}

pub(super) fn replica_set_status(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    no_more_than_replicas(&mut errors, status, &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]);
    errors
}

fn no_more_than_replicas(errors: &mut Vec<FieldError>, status: &Value, names: &[&str]) {
    let number = |name: &str| status[name].as_i64().unwrap_or(0);
    for name in names {
        if number(name) > number("replicas") {
            let path = format!("status.{name}");
            errors.push(FieldError::invalid(&path, number(name), "cannot be greater than status.replicas"));
        }
    }
    if number("availableReplicas") > number("readyReplicas") {
        let why = "cannot be greater than readyReplicas";
        errors.push(FieldError::invalid("status.availableReplicas", number("availableReplicas"), why));
    }
}
