//! Validates what pods and pod templates share. Upstream: `ValidatePodTemplateSpec`,
//! `ValidatePodSpec`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::registry::validate::container;
use crate::registry::validate::scalars::choice;
use crate::types::field_error::FieldError;
use crate::types::names;

/// The annotation with the deletion cost of a pod, which ReplicaSets read.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Validates the annotations of a pod.
pub(crate) fn annotations(meta: &Value, path: &str) -> Option<FieldError> {
    let cost = meta["annotations"][DELETION_COST].as_str()?;
    let plain = |text: &str| text == "0" || !(text.starts_with('0') || text.starts_with('+') || text.starts_with("-0"));
    let fits = plain(cost) && cost.parse::<i32>().is_ok();
    (!fits).then(|| FieldError::invalid(&format!("{path}[{DELETION_COST}]"), cost, "must be a 32bit integer"))
}

pub(crate) fn spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let volumes = volumes(&mut errors, spec, path);
    let mut names = BTreeSet::new();
    if spec["containers"].as_array().is_none_or(Vec::is_empty) {
        errors.push(FieldError::required(&format!("{path}.containers"), ""));
    }
    errors.extend(container::list(spec, path, "containers", &volumes, &mut names));
    errors.extend(container::list(spec, path, "initContainers", &volumes, &mut names));
    choice(&mut errors, spec, path, "restartPolicy", &["Always", "OnFailure", "Never"]);
    choice(&mut errors, spec, path, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    errors.extend(super::meta::labels(&spec["nodeSelector"], &format!("{path}.nodeSelector")));
    for (index, gate) in spec["readinessGates"].as_array().into_iter().flatten().enumerate() {
        let (path, name) = (
            format!("{path}.readinessGates[{index}].conditionType"),
            gate["conditionType"].as_str().unwrap_or_default(),
        );
        errors.extend(names::key(name).into_iter().map(|wrong| FieldError::invalid(&path, name, wrong)));
    }
    for name in ["serviceAccountName", "nodeName"] {
        let path = format!("{path}.{name}");
        let value = spec[name].as_str().unwrap_or_default();
        if !value.is_empty() {
            errors
                .extend(names::dns_subdomain(value).into_iter().map(|wrong| FieldError::invalid(&path, value, wrong)));
        }
    }
    if let Some(deadline) =
        spec["activeDeadlineSeconds"].as_i64().filter(|deadline| !(1..=i64::from(i32::MAX)).contains(deadline))
    {
        let why = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(&format!("{path}.activeDeadlineSeconds"), deadline, why));
    }
    errors.extend(tolerations(&spec["tolerations"], &format!("{path}.tolerations")));
    errors
}

pub(crate) fn tolerations(list: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, one) in list.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        let (key, operator) = (text("key"), text("operator"));
        let at = |name: &str| format!("{path}.{name}");
        if !key.is_empty() {
            errors.extend(names::key(key).into_iter().map(|wrong| FieldError::invalid(&at("key"), key, wrong)));
        }
        if key.is_empty() && operator != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(FieldError::invalid(&at("operator"), operator, why));
        }
        if !one["tolerationSeconds"].is_null() && text("effect") != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(&at("effect"), text("effect"), why));
        }
        match operator {
            "" | "Equal" => {
                let wrong = names::label_value(text("value"));
                if !wrong.is_empty() {
                    errors.push(FieldError::invalid(&at("operator"), text("value"), wrong.join(";")));
                }
            }
            "Exists" if !text("value").is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(&at("operator"), text("value"), why));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                errors.push(FieldError::unsupported(&at("operator"), operator, &["Equal", "Exists", "Lt", "Gt"]));
            }
            _ => errors.push(FieldError::unsupported(&at("operator"), operator, &["Equal", "Exists"])),
        }
        if !text("effect").is_empty() {
            errors.extend(effect(text("effect"), &at("effect")));
        }
    }
    errors
}

/// Validates the effect of a taint or toleration.
pub(crate) fn effect(effect: &str, path: &str) -> Option<FieldError> {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    match effect {
        "" => Some(FieldError::required(path, "")),
        effect if EFFECTS.contains(&effect) => None,
        other => Some(FieldError::unsupported(path, other, &EFFECTS)),
    }
}

/// Validates volumes; returns the names of the valid ones.
fn volumes(errors: &mut Vec<FieldError>, spec: &Value, path: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (index, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.volumes[{index}]");
        let mut wrong = sources(volume, &path);
        let at = format!("{path}.name");
        let name = volume["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            wrong.push(FieldError::required(&at, ""));
        } else {
            wrong.extend(names::dns_label(name).into_iter().map(|why| FieldError::invalid(&at, name, why)));
        }
        if names.contains(name) {
            wrong.push(FieldError::duplicate(&at, name));
        }
        if wrong.is_empty() {
            names.insert(name.to_owned());
        }
        errors.extend(wrong);
    }
    names
}

/// A volume needs exactly one source.
fn sources(volume: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut found = 0;
    for (source, name) in [
        ("emptyDir", ""),
        ("hostPath", "path"),
        ("secret", "secretName"),
        ("downwardAPI", ""),
        ("configMap", "name"),
        ("projected", ""),
    ] {
        let Some(content) = volume.get(source).filter(|content| !content.is_null()) else { continue };
        found += 1;
        let path = format!("{path}.{source}");
        if found > 1 {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 volume type"));
        } else if !name.is_empty() && content[name].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(&format!("{path}.{name}"), ""));
        }
    }
    errors
}
