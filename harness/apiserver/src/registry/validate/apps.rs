//! Validates the specs of apps/v1. Upstream: `ValidateDeploymentSpec`, `ValidateReplicaSetSpec`,
//! `ValidateStatefulSetSpec`, `ValidateDaemonSetSpec`.

use serde_json::Value;

use crate::http::selector::Selector;
use crate::registry::validate::scalars::nonnegative;
use crate::registry::validate::{meta, pod, strategies};
use crate::types::field_error::FieldError;
use crate::types::names;

pub(crate) fn deployment(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    errors.extend(selector(spec, "deployment"));
    errors.extend(template(spec, "ReplicaSet"));
    errors.extend(strategies::deployment(&spec["strategy"]));
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    nonnegative(&mut errors, spec, "spec", "revisionHistoryLimit");
    // A deprecated field, which is set by an annotation.
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

pub(crate) fn replica_set(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    errors.extend(selector(spec, "deployment"));
    errors.extend(template(spec, "ReplicaSet"));
    errors
}

/// Upstream: `ValidateStatefulSetSpec`.
pub(crate) fn stateful_set(spec: &Value, is_new: bool) -> Vec<FieldError> {
    let mut errors = strategies::stateful_set(spec);
    nonnegative(&mut errors, spec, "spec", "replicas");
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    nonnegative(&mut errors, &spec["ordinals"], "spec.ordinals", "start");
    // The field is immutable, so only creation validates it.
    if let Some(service) = spec["serviceName"].as_str().filter(|service| is_new && !service.is_empty()) {
        let wrong = names::dns_label(service);
        errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid("spec.serviceName", service, wrong)));
    }
    errors.extend(selector(spec, "statefulset"));
    errors.extend(template(spec, "StatefulSet"));
    errors
}

pub(crate) fn stateful_set_update(new: &Value, old: &Value) -> Option<FieldError> {
    let free = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let bare = |spec: &Value| {
        let mut spec = spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|name, _| !free.contains(&name.as_str()));
        }
        spec
    };
    (bare(new) != bare(old)).then(|| {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                   'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        FieldError::forbidden("spec", why)
    })
}

/// Upstream: `ValidateDaemonSetSpec`.
pub(crate) fn daemon_set(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !spec["selector"].is_null() {
        let mut wrong = selector(spec, "daemonset");
        // Upstream reports an empty selector after the labels.
        let empty = wrong.iter().position(FieldError::is_of_selector).map(|at| wrong.remove(at));
        errors.extend(wrong);
        errors.extend(selector_mismatch(spec));
        errors.extend(empty);
    } else {
        errors.extend(selector_mismatch(spec));
    }
    errors.extend(pod_template(&spec["template"]));
    errors.extend(restart_policy(spec, "DaemonSet"));
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    errors.extend(strategies::daemon_set(&spec["updateStrategy"]));
    nonnegative(&mut errors, spec, "spec", "revisionHistoryLimit");
    errors
}

pub(crate) fn selector_change(new: &Value, old: &Value) -> Option<FieldError> {
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    (new != old).then(|| FieldError::invalid_printed("spec.selector", selector_text(new), "field is immutable"))
}

/// Validates a scale.
pub(crate) fn scale(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    errors
}

/// Validates a selector.
pub(crate) fn selector_of(selector: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = meta::labels(&selector["matchLabels"], &format!("{at}.matchLabels"));
    for (index, one) in selector["matchExpressions"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{at}.matchExpressions[{index}]");
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
        errors.extend(names::key(key).into_iter().map(|wrong| FieldError::invalid(&path, key, wrong)));
        for (place, value) in one["values"].as_array().into_iter().flatten().enumerate() {
            let (path, value) =
                (format!("{at}.matchExpressions[{index}].values[{place}]"), value.as_str().unwrap_or_default());
            errors.extend(names::label_value(value).into_iter().map(|wrong| FieldError::invalid(&path, value, wrong)));
        }
    }
    errors
}

fn selector(spec: &Value, of: &str) -> Vec<FieldError> {
    const PATH: &str = "spec.selector";
    let selector = &spec["selector"];
    if selector.is_null() {
        return vec![FieldError::required(PATH, "")];
    }
    let mut errors = selector_of(selector, PATH);
    let is_empty = |name: &str| {
        selector[name].as_object().is_none_or(serde_json::Map::is_empty)
            && selector[name].as_array().is_none_or(Vec::is_empty)
    };
    if is_empty("matchLabels") && is_empty("matchExpressions") {
        errors.push(FieldError::invalid_printed(
            PATH,
            selector_text(selector),
            format!("empty selector is invalid for {of}"),
        ));
    }
    errors
}

/// Prints a selector as upstream does.
pub(crate) fn selector_text(selector: &Value) -> String {
    if selector.is_null() {
        return "null".to_owned();
    }
    let fields = ["matchLabels", "matchExpressions"];
    let fields = fields.iter().filter_map(|name| Some(format!("\"{name}\":{}", selector.get(*name)?)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Whether upstream can convert a label selector.
fn is_selector(selector: &Value) -> bool {
    let key = |key: &str| names::key(key).is_empty();
    let label = |value: &Value| names::label_value(value.as_str().unwrap_or_default()).is_empty();
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let one = |one: &Value| {
        let values = one["values"].as_array().map(Vec::as_slice).unwrap_or_default();
        let operator = match one["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" => !values.is_empty(),
            "Exists" | "DoesNotExist" => values.is_empty(),
            _ => false,
        };
        operator && key(one["key"].as_str().unwrap_or_default()) && values.iter().all(label)
    };
    labels.into_iter().all(|(name, value)| key(name) && label(value))
        && selector["matchExpressions"].as_array().into_iter().flatten().all(one)
}

fn template(spec: &Value, of: &str) -> Vec<FieldError> {
    if !is_selector(&spec["selector"]) {
        let why = if of == "StatefulSet" { "" } else { "invalid label selector" };
        return vec![FieldError::invalid_printed("spec.selector", selector_text(&spec["selector"]), why)];
    }
    let mut errors = selector_mismatch(spec);
    errors.extend(pod_template(&spec["template"]));
    if of == "StatefulSet" {
        let meta = &spec["template"]["metadata"];
        errors.extend(meta::labels(&meta["labels"], "spec.template.labels"));
        errors.extend(meta::annotations(&meta["annotations"], "spec.template.annotations"));
        errors.extend(pod::annotations(meta, "spec.template.annotations"));
    }
    errors.extend(restart_policy(spec, of));
    errors
}

/// The selector must match the template. An absent selector matches nothing, and an empty one is
/// not checked.
fn selector_mismatch(spec: &Value) -> Vec<FieldError> {
    if !is_selector(&spec["selector"]) {
        return Vec::new();
    }
    let selector = Selector::of_object(&spec["selector"]);
    let labels = &spec["template"]["metadata"]["labels"];
    if spec["selector"].is_null() || (!selector.is_empty() && !selector.matches_labels(labels)) {
        let why = "`selector` does not match template `labels`";
        return vec![FieldError::invalid("spec.template.metadata.labels", labels.clone(), why)];
    }
    Vec::new()
}

fn pod_template(template: &Value) -> Vec<FieldError> {
    pod_template_at(template, "spec.template")
}

/// Validates a pod template.
pub(crate) fn pod_template_at(template: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = meta::labels(&template["metadata"]["labels"], &format!("{path}.labels"));
    let annotations = format!("{path}.annotations");
    errors.extend(meta::annotations(&template["metadata"]["annotations"], &annotations));
    errors.extend(pod::annotations(&template["metadata"], &annotations));
    errors.extend(pod::spec(&template["spec"], &format!("{path}.spec")));
    errors
}

/// The selector of a Job must match its template; an absent selector matches nothing.
pub(crate) fn job_selector_mismatch(spec: &Value) -> Vec<FieldError> {
    selector_mismatch(spec)
}

fn restart_policy(spec: &Value, of: &str) -> Vec<FieldError> {
    const PATH: &str = "spec.template.spec";
    let mut errors = Vec::new();
    let template = &spec["template"]["spec"];
    let restart = template["restartPolicy"].as_str().unwrap_or_default();
    if restart != "Always" {
        errors.push(FieldError::unsupported(&format!("{PATH}.restartPolicy"), restart, &["Always"]));
    }
    if !template["activeDeadlineSeconds"].is_null() {
        let why = format!("activeDeadlineSeconds in {of} is not Supported");
        errors.push(FieldError::forbidden(&format!("{PATH}.activeDeadlineSeconds"), &why));
    }
    errors
}
