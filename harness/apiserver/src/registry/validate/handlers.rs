//! Validates what the kubelet runs in a container: probes and lifecycle handlers. Upstream:
//! `validateProbe`, `validateLifecycle`, `validateHandler`.
//!
//! It does not know stop signals, which are off by default.

use serde_json::Value;

use crate::registry::validate::scalars::{invalid, nonnegative, port_number};
use crate::types::field_error::FieldError;
use crate::types::names;

/// Validates the probes and the lifecycle of a container that stays; `spec` is that of its pod.
pub(crate) fn validate(errors: &mut Vec<FieldError>, container: &Value, path: &str, spec: &Value) {
    let lifecycle = &container["lifecycle"];
    for name in ["postStart", "preStop"] {
        if lifecycle[name].is_object() {
            handler(errors, &lifecycle[name], &format!("{path}.lifecycle.{name}"), spec);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container[name].is_object() {
            probe(errors, &container[name], &format!("{path}.{name}"), spec);
        }
    }
}

/// Refuses probes and a lifecycle of an init container that ends.
pub(crate) fn forbid(errors: &mut Vec<FieldError>, container: &Value, path: &str) {
    for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if !container[name].is_null() {
            let why = "may not be set for init containers without restartPolicy=Always";
            errors.push(FieldError::forbidden(&format!("{path}.{name}"), why));
        }
    }
}

fn probe(errors: &mut Vec<FieldError>, probe: &Value, path: &str, spec: &Value) {
    handler(errors, probe, path, spec);
    for name in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        nonnegative(errors, probe, path, name);
    }
    let number = |name: &str| probe[name].as_i64();
    let grace_path = format!("{path}.terminationGracePeriodSeconds");
    let grace = number("terminationGracePeriodSeconds");
    if let Some(grace) = grace.filter(|grace| *grace <= 0) {
        errors.push(FieldError::invalid(&grace_path, grace, "must be greater than 0"));
    }
    if path.ends_with("readinessProbe") {
        errors
            .extend(grace.map(|grace| FieldError::invalid(&grace_path, grace, "must not be set for readinessProbes")));
    } else if let Some(successes) = number("successThreshold").filter(|successes| *successes != 1) {
        errors.push(FieldError::invalid(&format!("{path}.successThreshold"), successes, "must be 1"));
    }
}

fn handler(errors: &mut Vec<FieldError>, handler: &Value, path: &str, spec: &Value) {
    let mut handlers = 0;
    for what in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = handler.get(what).filter(|action| !action.is_null()) else { continue };
        let path = format!("{path}.{what}");
        handlers += 1;
        if handlers > 1 {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 handler type"));
            continue;
        }
        match what {
            "exec" if action["command"].as_array().is_none_or(Vec::is_empty) => {
                errors.push(FieldError::required(&format!("{path}.command"), ""));
            }
            "httpGet" => http_get(errors, action, &path),
            "tcpSocket" | "grpc" => port(errors, &action["port"], &format!("{path}.port")),
            "sleep" => errors.extend(sleep(action, &path, spec)),
            _ => {}
        }
    }
    if handlers == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn http_get(errors: &mut Vec<FieldError>, get: &Value, path: &str) {
    if get["path"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required(&format!("{path}.path"), ""));
    }
    port(errors, &get["port"], &format!("{path}.port"));
    let scheme = get["scheme"].as_str().unwrap_or_default();
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.push(FieldError::unsupported(&format!("{path}.scheme"), scheme, &["HTTP", "HTTPS"]));
    }
    for header in get["httpHeaders"].as_array().into_iter().flatten() {
        let name = header["name"].as_str().unwrap_or_default();
        let fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !fits {
            let why = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex \
                       used for validation is '[-A-Za-z0-9]+')";
            errors.push(FieldError::invalid(&format!("{path}.httpHeaders"), name, why));
        }
    }
}

/// Upstream: `ValidatePortNumOrName`.
fn port(errors: &mut Vec<FieldError>, port: &Value, path: &str) {
    match port.as_str() {
        Some(name) => errors.extend(invalid(path, name, names::port_name(name))),
        None => errors.extend(port_number(port.as_i64().unwrap_or(0), path)),
    }
}

fn sleep(action: &Value, path: &str, spec: &Value) -> Option<FieldError> {
    let (seconds, grace) = (action["seconds"].as_i64().unwrap_or(0), spec["terminationGracePeriodSeconds"].as_i64()?);
    (!(0..=grace).contains(&seconds)).then(|| {
        let why = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        FieldError::invalid(path, seconds, why)
    })
}
