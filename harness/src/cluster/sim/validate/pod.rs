//! Pods and pod templates, as far as cases reach. Upstream: `ValidatePodTemplateSpec`, `ValidatePodSpec`, `ValidatePodUpdate`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::words;
use crate::cluster::sim::field::FieldError;

/// What a ReplicaSet's kill order reads.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Annotations that mean something for pods.
pub(super) fn annotations(meta: &Value, path: &str) -> Option<FieldError> {
    let cost = meta["annotations"][DELETION_COST].as_str()?;
    let plain = |text: &str| text == "0" || !(text.starts_with('0') || text.starts_with('+') || text.starts_with("-0"));
    let fits = plain(cost) && cost.parse::<i32>().is_ok();
    (!fits).then(|| FieldError::invalid(&format!("{path}[{DELETION_COST}]"), cost, "must be a 32bit integer"))
}

pub(super) fn spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let volumes = volumes(&mut errors, spec, path);
    let containers = spec["containers"].as_array().cloned().unwrap_or_default();
    if containers.is_empty() {
        errors.push(FieldError::required(&format!("{path}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        for (index, one) in spec[list].as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}.{list}[{index}]");
            container(&mut errors, one, &path, &volumes);
            let name = one["name"].as_str().unwrap_or_default();
            if !name.is_empty() && !names.insert(name.to_owned()) {
                errors.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
        }
    }
    choice(&mut errors, spec, path, "restartPolicy", &["Always", "OnFailure", "Never"]);
    choice(&mut errors, spec, path, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    super::nonnegative(&mut errors, spec, path, "terminationGracePeriodSeconds");
    errors
}

/// A pod's spec stands, but for a few fields.
pub(super) fn update(new: &Value, old: &Value) -> Option<FieldError> {
    let bare = |spec: &Value| {
        let mut spec = spec.clone();
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                container["image"] = Value::Null;
            }
        }
        for free in
            ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates", "nodeSelector"]
        {
            if let Value::Object(fields) = &mut spec {
                fields.remove(free);
            }
        }
        spec
    };
    (bare(new) != bare(old)).then(|| {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
                   `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
                   `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        FieldError::forbidden("spec", why)
    })
}

fn container(errors: &mut Vec<FieldError>, container: &Value, path: &str, volumes: &BTreeSet<String>) {
    match container["name"].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required(&format!("{path}.name"), "")),
        name => {
            let path = format!("{path}.name");
            errors.extend(words::dns_label(name).into_iter().map(|wrong| FieldError::invalid(&path, name, wrong)));
        }
    }
    if container["image"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required(&format!("{path}.image"), ""));
    }
    choice(errors, container, path, "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]);
    for (index, port) in container["ports"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.ports[{index}]");
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.push(FieldError::required(&format!("{path}.containerPort"), "")),
            1..=65535 => {}
            other => {
                let why = "must be between 1 and 65535, inclusive";
                errors.push(FieldError::invalid(&format!("{path}.containerPort"), other, why));
            }
        }
        choice(errors, port, &path, "protocol", &["TCP", "UDP", "SCTP"]);
    }
    for (index, variable) in container["env"].as_array().into_iter().flatten().enumerate() {
        if variable["name"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(&format!("{path}.env[{index}].name"), ""));
        }
    }
    for (index, mount) in container["volumeMounts"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.volumeMounts[{index}]");
        let name = mount["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            errors.push(FieldError::required(&format!("{path}.name"), ""));
        } else if !volumes.contains(name) {
            errors.push(FieldError::not_found(&format!("{path}.name"), name));
        }
        if mount["mountPath"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(&format!("{path}.mountPath"), ""));
        }
    }
    choice(errors, container, path, "imagePullPolicy", &["Always", "IfNotPresent", "Never"]);
}

fn volumes(errors: &mut Vec<FieldError>, spec: &Value, path: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (index, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.volumes[{index}].name");
        match volume["name"].as_str().unwrap_or_default() {
            "" => errors.push(FieldError::required(&path, "")),
            name => {
                let wrong = words::dns_label(name);
                errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid(&path, name, wrong)));
                if !names.insert(name.to_owned()) {
                    errors.push(FieldError::duplicate(&path, name));
                }
            }
        }
    }
    names
}

fn choice(errors: &mut Vec<FieldError>, object: &Value, path: &str, name: &str, among: &[&str]) {
    let path = format!("{path}.{name}");
    match object[name].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required(&path, "")),
        value if among.contains(&value) => {}
        value => errors.push(FieldError::unsupported(&path, value, among)),
    }
}
