//! Validates HorizontalPodAutoscalers of v2. Upstream: `ValidateHorizontalPodAutoscaler`.

use serde_json::Value;

use crate::registry::validate::quantity;
use crate::types::field_error::FieldError;
use crate::types::names;

/// The maximum period of a policy, in seconds.
const LONGEST_PERIOD: i64 = 1800;
/// The maximum stabilization window, in seconds.
const LONGEST_WINDOW: i64 = 3600;

/// Validates a spec; `old` is the spec before an update.
pub(crate) fn spec(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let lowest = i64::from(old.is_none_or(|old| old["minReplicas"] != 0));
    let (least, most) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64().unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < lowest) {
        let why = format!("must be greater than or equal to {lowest}");
        errors.push(FieldError::invalid("spec.minReplicas", least, why));
    }
    if most == 0 {
        errors.push(FieldError::required("spec.maxReplicas", "must be set and greater than 0"));
    } else if most < 0 {
        errors.push(FieldError::invalid("spec.maxReplicas", most, "must be greater than or equal to 1"));
    }
    if least.is_some_and(|least| most < least) {
        errors.push(FieldError::invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"));
    }
    let target = &spec["scaleTargetRef"];
    let before = old.map(|old| &old["scaleTargetRef"]);
    let version = match before {
        // An unchanged reference may stay invalid.
        Some(before) if before["apiVersion"] == target["apiVersion"] && before["kind"] == target["kind"] => {
            VersionRule::Any
        }
        _ if target["kind"] == "ReplicationController" => VersionRule::Parsed,
        _ => VersionRule::WithGroup,
    };
    errors.extend(reference(target, "spec.scaleTargetRef", version));
    let metrics = || spec["metrics"].as_array().into_iter().flatten();
    let before = old.and_then(|old| old["metrics"].as_array()).into_iter().flatten();
    let mut described = before.filter(|one| one["type"] == "Object").map(|one| &one["object"]["describedObject"]);
    let wrong = described.any(|one| one.is_object() && version_error(one, VersionRule::Parsed).is_some());
    let version = if wrong { VersionRule::Any } else { VersionRule::Parsed };
    for (at, one) in metrics().enumerate() {
        errors.extend(metric(one, &format!("spec.metrics[{at}]"), version));
    }
    if least == Some(0) && metrics().all(|one| one["type"] != "Object" && one["type"] != "External") {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden("spec.metrics", why));
    }
    for direction in ["scaleUp", "scaleDown"] {
        let of = &spec["behavior"][direction];
        if of.is_object() {
            errors.extend(rules(of, &format!("spec.behavior.{direction}")));
        }
    }
    errors
}

/// The rule for the apiVersion of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionRule {
    Any,
    Parsed,
    WithGroup,
}

fn version_error(target: &Value, rule: VersionRule) -> Option<String> {
    let version = target["apiVersion"].as_str().unwrap_or_default();
    match (rule, version.matches('/').count()) {
        (VersionRule::Any, _) => None,
        (_, 2..) => Some(format!("unexpected GroupVersion string: {version}")),
        (VersionRule::WithGroup, 0) => Some("apiVersion must specify API group".to_owned()),
        (VersionRule::WithGroup, _) if version.starts_with('/') => Some("apiVersion must specify API group".to_owned()),
        _ => None,
    }
}

fn reference(target: &Value, path: &str, version: VersionRule) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["kind", "name"] {
        errors.extend(segment(&target[name], &format!("{path}.{name}"), ""));
    }
    if let Some(why) = version_error(target, version) {
        let stated = target["apiVersion"].as_str().unwrap_or_default();
        errors.push(FieldError::invalid(&format!("{path}.apiVersion"), stated, why));
    }
    errors
}

/// Validates a required name that must be a path segment.
fn segment(name: &Value, path: &str, absent: &str) -> Vec<FieldError> {
    match name.as_str().unwrap_or_default() {
        "" => vec![FieldError::required(path, absent)],
        text => {
            let wrong = names::path_segment(text).into_iter();
            wrong.map(|wrong| FieldError::invalid(path, text, wrong)).collect()
        }
    }
}

/// The sources of a metric by its type, in the order in which they are validated.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

fn metric(metric: &Value, path: &str, version: VersionRule) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
    let mut errors = Vec::new();
    let kind = metric["type"].as_str().unwrap_or_default();
    if kind.is_empty() {
        errors.push(FieldError::required(&format!("{path}.type"), "must specify a metric source type"));
    }
    if !TYPES.contains(&kind) {
        errors.push(FieldError::unsupported(&format!("{path}.type"), kind, &TYPES));
    }
    let given: Vec<&str> = SOURCES.iter().map(|(_, field)| *field).filter(|name| metric[*name].is_object()).collect();
    if let Some(first) = given.first() {
        errors.extend(source(first, &metric[*first], &format!("{path}.{first}"), version));
    }
    let rule = SOURCES.iter().find(|(name, _)| *name == kind).map(|(_, field)| *field);
    match rule {
        Some(field) if !metric[field].is_object() => {
            let why = "must populate information for the given metric source";
            errors.push(FieldError::required(&format!("{path}.{field}"), why));
        }
        Some(_) => {}
        None => errors.push(FieldError::unsupported(&format!("{path}.type"), kind, &TYPES)),
    }
    if given.len() != 1 {
        for other in given.into_iter().filter(|name| Some(*name) != rule) {
            let why = "must populate the given metric source only";
            errors.push(FieldError::forbidden(&format!("{path}.{other}"), why));
        }
    }
    errors
}

/// The number of sources that do not belong to the type of a metric. Upstream reports several in
/// the order of a Go map.
pub(crate) fn extra_sources(metric: &Value) -> usize {
    let kind = metric["type"].as_str().unwrap_or_default();
    SOURCES.iter().filter(|(name, field)| *name != kind && metric[*field].is_object()).count()
}

fn source(name: &str, source: &Value, path: &str, version: VersionRule) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let of_target = &source["target"];
    let at = |name: &str| format!("{path}.{name}");
    let has = |name: &str| !of_target[name].is_null();
    match name {
        "object" => errors.extend(reference(&source["describedObject"], &at("describedObject"), version)),
        "resource" | "containerResource" if source["name"].as_str().unwrap_or_default().is_empty() => {
            errors.push(FieldError::required(&at("name"), "must specify a resource name"));
        }
        _ => {}
    }
    if name == "containerResource" {
        match source["container"].as_str().unwrap_or_default() {
            "" => errors.push(FieldError::required(&at("container"), "must specify a container")),
            text => {
                let wrong = names::dns_label(text).into_iter();
                errors.extend(wrong.map(|wrong| FieldError::invalid(&at("container"), text, wrong)));
            }
        }
    }
    if matches!(name, "object" | "external" | "pods") {
        errors.extend(segment(&source["metric"]["name"], &at("metric.name"), "must specify a metric name"));
    }
    errors.extend(target(of_target, &at("target")));
    let required = |name: &str, why: &str| FieldError::required(&at(&format!("target.{name}")), why);
    let forbidden = |name: &str, why: &str| FieldError::forbidden(&at(&format!("target.{name}")), why);
    match name {
        "object" if !has("value") && !has("averageValue") => {
            errors.push(required("averageValue", "must set either a target value or averageValue"));
        }
        "external" if !has("value") && !has("averageValue") => {
            let why = "must set either a target value for metric or a per-pod target";
            errors.push(required("averageValue", why));
        }
        "external" if has("value") && has("averageValue") => {
            let why = "may not set both a target value for metric and a per-pod target";
            errors.push(forbidden("value", why));
        }
        "pods" if !has("averageValue") => {
            errors.push(required("averageValue", "must specify a positive target averageValue"));
        }
        "resource" | "containerResource" if !has("averageUtilization") && !has("averageValue") => {
            let why = "must set either a target raw value or a target utilization";
            errors.push(required("averageUtilization", why));
        }
        "resource" | "containerResource" if has("averageUtilization") && has("averageValue") => {
            let why = "may not set both a target raw value and a target utilization";
            errors.push(forbidden("averageValue", why));
        }
        _ => {}
    }
    errors
}

fn target(target: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |name: &str| format!("{path}.{name}");
    let kind = target["type"].as_str().unwrap_or_default();
    if kind.is_empty() {
        errors.push(FieldError::required(&at("type"), "must specify a metric target type"));
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let why = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(&at("type"), kind, why));
    }
    for name in ["value", "averageValue"] {
        if let Some(text) = target[name].as_str().filter(|_| !quantity::is_positive(&target[name])) {
            errors.push(FieldError::invalid(&at(name), text, "must be positive"));
        }
    }
    if let Some(used) = target["averageUtilization"].as_i64().filter(|used| *used < 1) {
        errors.push(FieldError::invalid(&at("averageUtilization"), used, "must be greater than 0"));
    }
    errors
}

fn rules(rules: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(window) = rules["stabilizationWindowSeconds"].as_i64() {
        let at = format!("{path}.stabilizationWindowSeconds");
        if window < 0 {
            errors.push(FieldError::invalid(&at, window, "must be greater than or equal to zero"));
        }
        if window > LONGEST_WINDOW {
            errors.push(FieldError::invalid(&at, window, format!("must be less than or equal to {LONGEST_WINDOW}")));
        }
    }
    let among = ["Disabled", "Max", "Min"];
    if let Some(select) = rules["selectPolicy"].as_str().filter(|select| !among.contains(select)) {
        errors.push(FieldError::unsupported(&format!("{path}.selectPolicy"), select, &among));
    }
    let policies = rules["policies"].as_array().map_or(&[][..], Vec::as_slice);
    if policies.is_empty() {
        errors.push(FieldError::required(&format!("{path}.policies"), "must specify at least one Policy"));
    }
    for (number, policy) in policies.iter().enumerate() {
        let at = |name: &str| format!("{path}.policies[{number}].{name}");
        let among = ["Percent", "Pods"];
        let kind = policy["type"].as_str().unwrap_or_default();
        if !among.contains(&kind) {
            errors.push(FieldError::unsupported(&at("type"), kind, &among));
        }
        for name in ["value", "periodSeconds"] {
            let value = policy[name].as_i64().unwrap_or(0);
            if value <= 0 {
                errors.push(FieldError::invalid(&at(name), value, "must be greater than zero"));
            }
            if name == "periodSeconds" && value > LONGEST_PERIOD {
                let why = format!("must be less than or equal to {LONGEST_PERIOD}");
                errors.push(FieldError::invalid(&at(name), value, why));
            }
        }
    }
    errors.extend(quantity::nonnegative(&rules["tolerance"], &format!("{path}.tolerance")));
    errors
}
