//! Validates containers. Upstream: `validateContainerCommon`, `validateContainers`,
//! `validateProbe`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::registry::resource_list::{HUGE_PAGES, is_native};
use crate::registry::validate::scalars::{choice, nonnegative};
use crate::registry::validate::{quantity, quota};
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
    for (index, one) in spec[name].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.{name}[{index}]");
        common(&mut errors, one, &path, volumes);
        let name = one["name"].as_str().unwrap_or_default();
        if !names.insert(name.to_owned()) {
            errors.push(FieldError::duplicate(&format!("{path}.name"), name));
        }
        let stays = !init || one["restartPolicy"] == "Always";
        for what in ["livenessProbe", "readinessProbe", "startupProbe"] {
            let Some(found) = one.get(what).filter(|found| !found.is_null()) else { continue };
            let path = format!("{path}.{what}");
            if stays {
                probe(&mut errors, found, &path);
            } else {
                let why = "may not be set for init containers without restartPolicy=Always";
                errors.push(FieldError::forbidden(&path, why));
            }
        }
    }
    errors
}

fn common(errors: &mut Vec<FieldError>, container: &Value, path: &str, volumes: &BTreeSet<String>) {
    match container["name"].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required(&format!("{path}.name"), "")),
        name => {
            let path = format!("{path}.name");
            errors.extend(names::dns_label(name).into_iter().map(|wrong| FieldError::invalid(&path, name, wrong)));
        }
    }
    if container["image"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required(&format!("{path}.image"), ""));
    }
    choice(errors, container, path, "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]);
    ports(errors, container, path);
    for (index, variable) in container["env"].as_array().into_iter().flatten().enumerate() {
        errors.extend(source(variable, &format!("{path}.env[{index}].valueFrom")));
        let path = format!("{path}.env[{index}].name");
        match variable["name"].as_str().unwrap_or_default() {
            "" => errors.push(FieldError::required(&path, "")),
            name if name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=') => {}
            name => {
                let why =
                    "a valid environment variable name must consist only of printable ASCII characters other than '='";
                errors.push(FieldError::invalid(&path, name, why));
            }
        }
    }
    let mut places = BTreeSet::new();
    for (index, mount) in container["volumeMounts"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.volumeMounts[{index}]");
        let name = mount["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            errors.push(FieldError::required(&format!("{path}.name"), ""));
        }
        if !volumes.contains(name) {
            errors.push(FieldError::not_found(&format!("{path}.name"), name));
        }
        let place = mount["mountPath"].as_str().unwrap_or_default();
        if place.is_empty() {
            errors.push(FieldError::required(&format!("{path}.mountPath"), ""));
        }
        if !places.insert(place) {
            errors.push(FieldError::invalid(&format!("{path}.mountPath"), place, "must be unique"));
        }
    }
    choice(errors, container, path, "imagePullPolicy", &["Always", "IfNotPresent", "Never"]);
    resources(errors, &container["resources"], &format!("{path}.resources"));
}

fn ports(errors: &mut Vec<FieldError>, container: &Value, path: &str) {
    let mut names = BTreeSet::new();
    for (index, port) in container["ports"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.ports[{index}]");
        let name = port["name"].as_str().unwrap_or_default();
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(&format!("{path}.name"), name));
        }
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.push(FieldError::required(&format!("{path}.containerPort"), "")),
            number => errors.extend(port_number(number, &format!("{path}.containerPort"))),
        }
        choice(errors, port, &path, "protocol", &["SCTP", "TCP", "UDP"]);
    }
}

fn port_number(number: i64, path: &str) -> Option<FieldError> {
    let fits = (1..=65535).contains(&number);
    (!fits).then(|| FieldError::invalid(path, number, "must be between 1 and 65535, inclusive"))
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

fn probe(errors: &mut Vec<FieldError>, probe: &Value, path: &str) {
    let mut handlers = 0;
    for what in ["exec", "httpGet", "tcpSocket", "grpc"] {
        let Some(handler) = probe.get(what).filter(|handler| !handler.is_null()) else { continue };
        let path = format!("{path}.{what}");
        handlers += 1;
        if handlers > 1 {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 handler type"));
            continue;
        }
        if what == "exec" && handler["command"].as_array().is_none_or(Vec::is_empty) {
            errors.push(FieldError::required(&format!("{path}.command"), ""));
        }
        if matches!(what, "httpGet" | "tcpSocket")
            && let Some(number) = handler["port"].as_i64()
        {
            errors.extend(port_number(number, &format!("{path}.port")));
        }
    }
    if handlers == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
    for name in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        nonnegative(errors, probe, path, name);
    }
}

/// Validates the source of a variable. Upstream: `validateEnvVarValueFrom`.
fn source(variable: &Value, path: &str) -> Option<FieldError> {
    const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let from = variable.get("valueFrom").filter(|from| !from.is_null())?;
    let sources = SOURCES.iter().filter(|known| !from[**known].is_null()).count();
    let has_value = variable["value"].as_str().is_some_and(|value| !value.is_empty());
    let why = match sources {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if has_value => "may not be specified when `value` is not empty",
        1 => return None,
        _ => "may not have more than one field specified at a time",
    };
    Some(FieldError::invalid(path, "", why))
}
