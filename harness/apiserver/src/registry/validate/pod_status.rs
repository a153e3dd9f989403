//! Validates the status of a pod. Upstream: `ValidatePodStatusUpdate`.
//!
//! It does not know the statuses of claims of devices, of users and of volumes.

use serde_json::Value;

use crate::registry::validate::scalars::address;
use crate::types::field_error::FieldError;
use crate::types::names;

/// The conditions that the kubelet sets.
const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];
const NEGATIVE: &str = "must be a non-negative integer";

/// Validates an update of the status of a pod.
pub(crate) fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (status, old_status, spec) = (&new["status"], &old["status"], &old["spec"]);
    let mut errors = conditions(&status["conditions"]);
    errors.extend(nominated_node(status, old));
    if let Some(generation) = status["observedGeneration"].as_i64().filter(|generation| *generation < 0) {
        errors.push(FieldError::invalid("status.observedGeneration", generation, NEGATIVE));
    }
    if status["qosClass"] != old_status["qosClass"] {
        errors.push(FieldError::invalid("status.qosClass", status["qosClass"].clone(), "field is immutable"));
    }
    for (list, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", "ephemeralContainers"),
    ] {
        errors.extend(restarts(&status[list], &old_status[list], list, (spec, containers)));
    }
    errors.extend(addresses(status, old_status, "podIPs"));
    if let Some(first) = status["hostIPs"].get(0)
        && first["ip"] != status["hostIP"]
    {
        errors.push(FieldError::invalid("status.hostIPs[0].ip", first["ip"].clone(), "must be equal to `hostIP`"));
    }
    errors.extend(addresses(status, old_status, "hostIPs"));
    errors
}

/// Keeps the deprecated address of a pod and its list of addresses in step. Upstream:
/// `Convert_v1_PodStatus_To_core_PodStatus`.
pub(crate) fn convert_addresses(status: &mut Value) {
    let address = status["podIP"].as_str().unwrap_or_default().to_owned();
    let first = status["podIPs"].get(0).map(|first| first["ip"].as_str().unwrap_or_default().to_owned());
    match first {
        Some(first) if address.is_empty() && !first.is_empty() => status["podIP"] = first.into(),
        first if !address.is_empty() && first.as_ref() != Some(&address) => {
            status["podIPs"] = serde_json::json!([{"ip": address}]);
        }
        _ => {}
    }
}

/// Upstream: `validatePodConditions`.
fn conditions(conditions: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, condition) in conditions.as_array().into_iter().flatten().enumerate() {
        let path = format!("status.conditions[{index}]");
        if let Some(generation) = condition["observedGeneration"].as_i64().filter(|generation| *generation < 0) {
            errors.push(FieldError::invalid(&format!("{path}.observedGeneration"), generation, NEGATIVE));
        }
        let name = condition["type"].as_str().unwrap_or_default();
        if !SYSTEM_CONDITIONS.contains(&name) {
            let path = format!("{path}.Type");
            errors.extend(names::key(name).into_iter().map(|wrong| FieldError::invalid(&path, name, wrong)));
        }
    }
    errors
}

/// A pod that is bound to a node cannot be nominated to another one. Upstream:
/// `ClearingNominatedNodeNameAfterBinding`.
fn nominated_node(status: &Value, old: &Value) -> Vec<FieldError> {
    const PATH: &str = "status.nominatedNodeName";
    let name = status["nominatedNodeName"].as_str().unwrap_or_default();
    if name.is_empty() || status["nominatedNodeName"] == old["status"]["nominatedNodeName"] {
        return Vec::new();
    }
    let wrong = names::dns_subdomain(name).into_iter();
    let mut errors: Vec<FieldError> = wrong.map(|wrong| FieldError::invalid(PATH, name, wrong)).collect();
    if old["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty()) {
        errors.push(FieldError::forbidden(PATH, "may not be set on pods that are already bound to a node"));
    }
    errors
}

/// A terminated container can run again only if its policy says so. Upstream:
/// `ValidateContainerStateTransition` and its equals for other lists.
fn restarts(new: &Value, old: &Value, list: &str, (spec, containers): (&Value, &str)) -> Vec<FieldError> {
    let all = |list: &'static str| spec[list].as_array().into_iter().flatten();
    let restarts_all = all("initContainers").chain(all("containers")).any(|container| {
        let rules = container["restartPolicyRules"].as_array().into_iter().flatten();
        rules.into_iter().any(|rule| rule["action"] == "RestartAllContainers")
    });
    if restarts_all && containers != "ephemeralContainers" {
        return Vec::new();
    }
    let mut errors = Vec::new();
    for (index, before) in old.as_array().into_iter().flatten().enumerate() {
        let Some(terminated) = before["state"].get("terminated") else { continue };
        let now = new.as_array().into_iter().flatten().find(|now| now["name"] == before["name"]);
        if now.is_none_or(|now| now["state"].get("terminated").is_some()) {
            continue;
        }
        let container = spec[containers].as_array().into_iter().flatten().find(|one| one["name"] == before["name"]);
        let exit_code = terminated["exitCode"].as_i64().unwrap_or(0);
        let is_allowed = containers != "ephemeralContainers"
            && container.is_some_and(|container| can_restart(container, spec, exit_code));
        if !is_allowed {
            let path = format!("status.{list}[{index}].state");
            errors.push(FieldError::forbidden(&path, "may not be transitioned to non-terminated state"));
        }
    }
    errors
}

/// Upstream: `ContainerShouldRestart`.
fn can_restart(container: &Value, spec: &Value, exit_code: i64) -> bool {
    let own = container["restartPolicy"].as_str();
    let rules = container["restartPolicyRules"].as_array().into_iter().flatten();
    let matching = rules.into_iter().find(|rule| {
        let codes = &rule["exitCodes"];
        let is_listed = codes["values"].as_array().into_iter().flatten().any(|code| *code == exit_code);
        match codes["operator"].as_str().unwrap_or_default() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
    });
    if own.is_some() && matching.is_some_and(|rule| rule["action"] == "Restart") {
        return true;
    }
    match own.or(spec["restartPolicy"].as_str()).unwrap_or_default() {
        "OnFailure" => exit_code != 0,
        "Never" => false,
        _ => true,
    }
}

/// Upstream: `validatePodIPs`, `validateHostIPs`.
fn addresses(status: &Value, old: &Value, list: &str) -> Vec<FieldError> {
    let of = |status: &Value| -> Vec<String> {
        let items = status[list].as_array().into_iter().flatten();
        items.map(|item| item["ip"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let (new, known) = (of(status), of(old));
    let path = format!("status.{list}");
    let mut errors = Vec::new();
    for (index, ip) in new.iter().enumerate().filter(|(_, ip)| !known.contains(ip)) {
        errors.extend(address(ip, &format!("{path}[{index}]")));
    }
    let six = new.iter().filter(|ip| ip.contains(':')).count();
    if new.len() > 2 || (new.len() == 2 && six != 1) {
        let printed: Vec<String> = new.iter().map(|ip| format!("{{\"IP\":\"{ip}\"}}")).collect();
        let why = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid_printed(&path, format!("[{}]", printed.join(",")), why));
    }
    errors
}
