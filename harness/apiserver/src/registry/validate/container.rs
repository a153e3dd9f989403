//! Validates containers. Upstream: `validateContainerCommon`, `validateContainers`,
//! `validateInitContainers`.
//!
//! It does not know ephemeral containers, block devices, policies of resizes and rules of restarts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::registry::resource_list::{HUGE_PAGES, is_native};
use crate::registry::validate::scalars::{choice, invalid, items, port_number, text};
use crate::registry::validate::{environment, handlers, quantity, quota, security, volumes};
use crate::types::field_error::FieldError;
use crate::types::names;

/// Validates a list of containers; `names` are the names in use.
pub(crate) fn list(
    spec: &Value,
    path: &str,
    name: &str,
    volumes: &BTreeSet<String>,
    names: &mut BTreeSet<String>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let init = name == "initContainers";
    let mut host_ports = BTreeSet::new();
    let mut conflicts = Vec::new();
    for (container, path) in items(spec, name, path) {
        common(&mut errors, container, &path, volumes, spec);
        let name = text(container, "name");
        if !names.insert(name.to_owned()) {
            errors.push(FieldError::duplicate(&format!("{path}.name"), name));
        }
        if init {
            // Init containers run one by one.
            host_ports.clear();
            host_port_conflicts(&mut errors, container, &path, &mut host_ports);
        } else {
            host_port_conflicts(&mut conflicts, container, &path, &mut host_ports);
        }
        if !init || container["restartPolicy"] == "Always" {
            handlers::validate(&mut errors, container, &path, spec);
        } else {
            handlers::forbid(&mut errors, container, &path);
        }
    }
    errors.extend(conflicts);
    errors
}

fn common(errors: &mut Vec<FieldError>, container: &Value, path: &str, volumes: &BTreeSet<String>, spec: &Value) {
    match text(container, "name") {
        "" => errors.push(FieldError::required(&format!("{path}.name"), "")),
        name => errors.extend(invalid(&format!("{path}.name"), name, names::dns_label(name))),
    }
    if text(container, "image").is_empty() {
        errors.push(FieldError::required(&format!("{path}.image"), ""));
    }
    choice(errors, container, path, "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]);
    ports(errors, container, path);
    environment::validate(errors, container, path);
    volumes::mounts(errors, container, path, volumes);
    choice(errors, container, path, "imagePullPolicy", &["Always", "IfNotPresent", "Never"]);
    resources(errors, &container["resources"], &format!("{path}.resources"));
    security::container(errors, container, path, spec);
}

/// Upstream: `validateContainerPorts`.
fn ports(errors: &mut Vec<FieldError>, container: &Value, path: &str) {
    let mut known = BTreeSet::new();
    for (port, path) in items(container, "ports", path) {
        let name = text(port, "name");
        if !name.is_empty() {
            let wrong = names::port_name(name);
            if wrong.is_empty() && !known.insert(name) {
                errors.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
            errors.extend(invalid(&format!("{path}.name"), name, wrong));
        }
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.push(FieldError::required(&format!("{path}.containerPort"), "")),
            number => errors.extend(port_number(number, &format!("{path}.containerPort"))),
        }
        if let Some(number) = port["hostPort"].as_i64().filter(|number| *number != 0) {
            errors.extend(port_number(number, &format!("{path}.hostPort")));
        }
        choice(errors, port, &path, "protocol", &["SCTP", "TCP", "UDP"]);
    }
}

/// Upstream: `AccumulateUniqueHostPorts`.
fn host_port_conflicts(errors: &mut Vec<FieldError>, container: &Value, path: &str, known: &mut BTreeSet<String>) {
    for (port, path) in items(container, "ports", path) {
        let Some(number) = port["hostPort"].as_i64().filter(|number| *number != 0) else { continue };
        let used = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
        if !known.insert(used.clone()) {
            errors.push(FieldError::duplicate(&format!("{path}.hostPort"), used));
        }
    }
}

/// Upstream: `validateResourceRequirements`.
fn resources(errors: &mut Vec<FieldError>, resources: &Value, path: &str) {
    let is_huge = |name: &str| name.starts_with(HUGE_PAGES);
    let mut names = Vec::new();
    for list in ["limits", "requests"] {
        for (name, amount) in resources[list].as_object().into_iter().flatten() {
            names.push(name.as_str());
            let at = format!("{path}.{list}[{name}]");
            errors.extend(resource_name(name, &at));
            errors.extend(quantity::nonnegative(amount, &at));
            if quota::is_integer(name) {
                errors.extend(quantity::integer(amount, &at));
            }
            let text = amount.as_str().unwrap_or_default();
            let limit = resources["limits"].get(name);
            if list == "requests" {
                let can_exceed = is_native(name) && !is_huge(name);
                let order = limit.map(|limit| quantity::compare(amount, limit));
                let limit_error = |how: &str| {
                    let limit = limit.and_then(Value::as_str).unwrap_or_default();
                    FieldError::invalid(
                        &format!("{path}.requests"),
                        amount.clone(),
                        format!("must be {how} {name} limit of {limit}"),
                    )
                };
                match order {
                    None if !can_exceed => {
                        let why = "Limit must be set for non overcommitable resources";
                        errors.push(FieldError::required(&format!("{path}.limits"), why));
                    }
                    Some(order) if !can_exceed && order.is_ne() => errors.push(limit_error("equal to")),
                    Some(order) if order.is_gt() => errors.push(limit_error("less than or equal to")),
                    _ => {}
                }
            }
            if is_huge(name) && !quantity::is_multiple(text, name.strip_prefix(HUGE_PAGES).unwrap_or_default()) {
                let why = format!("{text} is not positive integer multiple of {name}");
                errors.push(FieldError::invalid(&at, text, why));
            }
        }
    }
    if names.iter().any(|name| is_huge(name)) && !names.iter().any(|name| matches!(*name, "cpu" | "memory")) {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
}

/// Validates the name of a resource of containers. Upstream: `validateContainerResourceName`.
pub(crate) fn resource_name(name: &str, path: &str) -> Vec<FieldError> {
    let mut errors = quota::resource_name(name, path);
    let known = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with(HUGE_PAGES);
    if !name.contains('/') && !known {
        errors.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
    }
    if !is_native(name) && name.starts_with("requests.") {
        errors.push(FieldError::invalid(path, name, "doesn't follow extended resource name standard"));
    }
    errors
}
