//! PodDisruptionBudgets, HorizontalPodAutoscalers and LimitRanges. Upstream:
//! `ValidatePodDisruptionBudget`, `ValidateHorizontalPodAutoscaler`, `ValidateLimitRange`.

use std::cmp::Ordering;

use serde_json::Value;

use super::{apps, nonnegative, quantity, strategies, words};
use crate::field::FieldError;

pub(super) fn budget(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let selector = apps::shown(&spec["selector"]);
        let policy = &spec["unhealthyPodEvictionPolicy"];
        let shown = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{selector},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}"
        );
        errors.push(FieldError::invalid_shown("spec", shown, "minAvailable and maxUnavailable cannot be both set"));
    }
    for (name, value) in [("minAvailable", least), ("maxUnavailable", most)] {
        errors.extend(strategies::share(value, &format!("spec.{name}")));
    }
    if !spec["selector"].is_null() {
        errors.extend(apps::selector_of(&spec["selector"], "spec.selector"));
    }
    let among = ["AlwaysAllow", "IfHealthyBudget"];
    if let Some(policy) = spec["unhealthyPodEvictionPolicy"].as_str().filter(|policy| !among.contains(policy)) {
        errors.push(FieldError::unsupported("spec.unhealthyPodEvictionPolicy", policy, &among));
    }
    errors
}

pub(super) fn counts(status: &Value, names: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in names {
        nonnegative(&mut errors, status, "status", name);
    }
    errors
}

pub(super) fn autoscaler(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (least, most) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64().unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < 1) {
        errors.push(FieldError::invalid("spec.minReplicas", least, "must be greater than or equal to 1"));
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
    for name in ["kind", "name"] {
        let path = format!("spec.scaleTargetRef.{name}");
        match target[name].as_str().unwrap_or_default() {
            "" => errors.push(FieldError::required(&path, "")),
            text => {
                let wrong = words::path_segment(text);
                errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid(&path, text, wrong)));
            }
        }
    }
    let version = target["apiVersion"].as_str().unwrap_or_default();
    if !version.contains('/') && target["kind"] != "ReplicationController" {
        let why = "apiVersion must specify API group";
        errors.push(FieldError::invalid("spec.scaleTargetRef.apiVersion", version, why));
    }
    for (at, metric) in spec["metrics"].as_array().into_iter().flatten().enumerate() {
        errors.extend(self::metric(metric, &format!("spec.metrics[{at}]")));
    }
    if least == Some(0) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden("spec.metrics", why));
    }
    errors
}

fn metric(metric: &Value, path: &str) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
    let mut errors = Vec::new();
    let kind = metric["type"].as_str().unwrap_or_default();
    if kind.is_empty() {
        errors.push(FieldError::required(&format!("{path}.type"), "must specify a metric source type"));
    }
    if !TYPES.contains(&kind) {
        errors.push(FieldError::unsupported(&format!("{path}.type"), kind, &TYPES));
    }
    let resource = &metric["resource"];
    let at = |name: &str| format!("{path}.resource.{name}");
    if resource.is_object() {
        if resource["name"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(&at("name"), "must specify a resource name"));
        }
        let target = &resource["target"];
        let kind = target["type"].as_str().unwrap_or_default();
        if kind.is_empty() {
            errors.push(FieldError::required(&at("target.type"), "must specify a metric target type"));
        }
        if !["Utilization", "Value", "AverageValue"].contains(&kind) {
            let why = "must be either Utilization, Value, or AverageValue";
            errors.push(FieldError::invalid(&at("target.type"), kind, why));
        }
        if let Some(used) = target["averageUtilization"].as_i64().filter(|used| *used < 1) {
            errors.push(FieldError::invalid(&at("target.averageUtilization"), used, "must be greater than 0"));
        }
        match (target["averageUtilization"].is_null(), target["averageValue"].is_null()) {
            (true, true) => {
                let why = "must set either a target raw value or a target utilization";
                errors.push(FieldError::required(&at("target.averageUtilization"), why));
            }
            (false, false) => {
                let why = "may not set both a target raw value and a target utilization";
                errors.push(FieldError::forbidden(&at("target.averageValue"), why));
            }
            _ => {}
        }
    } else if kind == "Resource" {
        let why = "must populate information for the given metric source";
        errors.push(FieldError::required(&format!("{path}.resource"), why));
    }
    if !TYPES.contains(&kind) {
        errors.push(FieldError::unsupported(&format!("{path}.type"), kind, &TYPES));
    }
    errors
}

/// A LimitRange whose items are all about containers.
pub(super) fn limit_range(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut types: Vec<&str> = Vec::new();
    for (at, limit) in spec["limits"].as_array().into_iter().flatten().enumerate() {
        let path = format!("spec.limits[{at}]");
        let kind = limit["type"].as_str().unwrap_or_default();
        if types.contains(&kind) {
            errors.push(FieldError::duplicate(&format!("{path}.type"), kind));
        }
        types.push(kind);
        let of = |list: &str| limit[list].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let mut names: Vec<&str> =
            ["max", "min", "default", "defaultRequest"].iter().flat_map(|list| of(list)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let value = |list: &str| limit[list].get(name);
            let mut above = |one: &str, other: &str, at: &str, shown: &str, words: (&str, &str)| {
                if let (Some(less), Some(more), Some(told)) = (value(one), value(other), value(shown))
                    && quantity::compare(less, more) == Ordering::Greater
                {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    let why = format!("{} {} is greater than {} {}", words.0, text(less), words.1, text(more));
                    errors.push(FieldError::invalid(&format!("{path}.{at}[{name}]"), text(told), why));
                }
            };
            above("min", "max", "min", "min", ("min value", "max value"));
            above("min", "defaultRequest", "defaultRequest", "defaultRequest", ("min value", "default request value"));
            above("defaultRequest", "max", "defaultRequest", "defaultRequest", ("default request value", "max value"));
            above(
                "defaultRequest",
                "default",
                "defaultRequest",
                "defaultRequest",
                ("default request value", "default limit value"),
            );
            above("min", "default", "default", "min", ("min value", "default value"));
            above("default", "max", "default", "max", ("default value", "max value"));
        }
    }
    errors
}
