//! Validates what the specs of apps/v1 share: selectors, templates and scales. Upstream:
//! `ValidatePodTemplateSpecForReplicaSet`, `ValidateLabelSelector`.

use serde_json::Value;

use crate::http::selector::Selector;
use crate::registry::validate::scalars::nonnegative;
use crate::registry::validate::selectors::selector_of;
use crate::registry::validate::{meta, pod};
use crate::types::field_error::FieldError;
use crate::types::names;

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

pub(crate) fn selector(spec: &Value, of: &str) -> Vec<FieldError> {
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
pub(crate) fn is_selector(selector: &Value) -> bool {
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

pub(crate) fn template(spec: &Value, of: &str) -> Vec<FieldError> {
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
pub(crate) fn selector_mismatch(spec: &Value) -> Vec<FieldError> {
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

pub(crate) fn pod_template(template: &Value) -> Vec<FieldError> {
    pod_template_at(template, "spec.template")
}

/// Validates a pod template.
pub(crate) fn pod_template_at(template: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = meta::labels(&template["metadata"]["labels"], &format!("{path}.labels"));
    let annotations = format!("{path}.annotations");
    errors.extend(meta::annotations(&template["metadata"]["annotations"], &annotations));
    errors.extend(pod::annotations(&template["metadata"], &annotations));
    errors.extend(pod::spec(&template["spec"], &format!("{path}.spec")));
    if !template["spec"]["ephemeralContainers"][0].is_null() {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(&format!("{path}.spec.ephemeralContainers"), why));
    }
    errors
}

/// The selector of a Job must match its template; an absent selector matches nothing.
pub(crate) fn job_selector_mismatch(spec: &Value) -> Vec<FieldError> {
    selector_mismatch(spec)
}

pub(crate) fn restart_policy(spec: &Value, of: &str) -> Vec<FieldError> {
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
