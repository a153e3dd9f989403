//! Validates the kinds of core/v1 except pods and quotas. Upstream:
//! `ValidateConfigMap`, `ValidateSecret`, `ValidateNode`, `ValidateNamespaceStatusUpdate`.

use serde_json::Value;

use crate::registry::validate::{meta, pod, quantity};
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;
use crate::types::names;

/// The size limit of the data of a ConfigMap or Secret.
const DATA: usize = 1 << 20;

/// Validates a ConfigMap or Secret.
pub(crate) fn data(kind: &ResourceKind, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for field in ["data", "binaryData"] {
        for (key, value) in object[field].as_object().into_iter().flatten() {
            size += value.as_str().unwrap_or_default().len();
            let path = format!("{field}[{key}]");
            errors
                .extend(names::config_key(key).into_iter().map(|wrong| FieldError::invalid(&path, key.clone(), wrong)));
            if field == "data" && object["binaryData"].get(key).is_some() {
                errors.push(FieldError::invalid(&path, key.clone(), "duplicate of key present in binaryData"));
            }
        }
    }
    if size > DATA {
        errors.push(FieldError::too_long(if kind.built_in() == "Secret" { "data" } else { "" }, DATA));
    }
    let needed: &[&str] = match object["type"].as_str() {
        Some("kubernetes.io/tls") => &["tls.crt", "tls.key"],
        Some("kubernetes.io/ssh-auth") => &["ssh-privatekey"],
        _ => &[],
    };
    for name in needed.iter().filter(|name| object["data"].get(**name).is_none()) {
        errors.push(FieldError::required(&format!("data[{name}]"), ""));
    }
    errors
}

/// Validates an update of a ConfigMap or Secret.
pub(crate) fn data_update(kind: &ResourceKind, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if kind.built_in() == "Secret" && new["type"] != old["type"] {
        errors.push(FieldError::invalid("type", new["type"].clone(), "field is immutable"));
    }
    if old["immutable"] == true {
        let why = "field is immutable when `immutable` is set";
        if new["immutable"] != true {
            errors.push(FieldError::forbidden("immutable", why));
        }
        for field in ["data", "binaryData"] {
            if new[field] != old[field] {
                errors.push(FieldError::forbidden(field, why));
            }
        }
    }
    errors.extend(meta::create(&new["metadata"], names::dns_subdomain, true));
    errors.extend(data(kind, new));
    errors
}

pub(crate) fn node(object: &Value, new: bool) -> Vec<FieldError> {
    let mut errors = taints(&object["spec"]["taints"]);
    for which in ["capacity", "allocatable"] {
        for (name, amount) in object["status"][which].as_object().into_iter().flatten() {
            errors.extend(quantity::nonnegative(amount, &format!("status.{which}[{name}]")));
        }
    }
    for (index, range) in object["spec"]["podCIDRs"].as_array().into_iter().flatten().enumerate().filter(|_| new) {
        let range = range.as_str().unwrap_or_default();
        if range
            .split_once('/')
            .is_none_or(|(address, bits)| address.parse::<std::net::IpAddr>().is_err() || bits.parse::<u8>().is_err())
        {
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.push(FieldError::invalid(&format!("spec.podCIDRs[{index}]"), range, why));
        }
    }
    errors
}

pub(crate) fn node_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let ranges = |object: &Value| object["spec"]["podCIDRs"].as_array().cloned().unwrap_or_default();
    if !ranges(old).is_empty() && ranges(new) != ranges(old) {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden("spec.podCIDRs", why));
    }
    errors.extend(taints(&new["spec"]["taints"]));
    errors
}

fn taints(taints: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known: Vec<(&str, &str)> = Vec::new();
    for (index, taint) in taints.as_array().into_iter().flatten().enumerate() {
        // Upstream's path is that of metadata.
        let path = format!("metadata.taints[{index}]");
        let text = |name: &str| taint[name].as_str().unwrap_or_default();
        let (key, value) = (text("key"), text("value"));
        let at = format!("{path}.key");
        errors.extend(names::key(key).into_iter().map(|wrong| FieldError::invalid(&at, key, wrong)));
        let wrong = names::label_value(value);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&format!("{path}.value"), value, wrong.join(";")));
        }
        errors.extend(pod::effect(text("effect"), &format!("{path}.effect")));
        if known.contains(&(text("effect"), key)) {
            let shown = format!(
                "{{\"Key\":\"{key}\",\"Value\":\"{value}\",\"Effect\":\"{}\",\"TimeAdded\":null}}",
                text("effect")
            );
            errors.push(FieldError::duplicate_printed(&path, shown, "taints must be unique by key and effect pair"));
        }
        known.push((text("effect"), key));
    }
    errors
}

pub(crate) fn namespace_status(new: &Value) -> Option<FieldError> {
    let phase = new["status"]["phase"].as_str().unwrap_or_default();
    let (expected, state) = match new["metadata"]["deletionTimestamp"].is_null() {
        true => ("Active", "empty"),
        false => ("Terminating", "not empty"),
    };
    (phase != expected).then(|| {
        let why = format!("may only be '{expected}' if `deletionTimestamp` is {state}");
        FieldError::invalid("status.Phase", phase, why)
    })
}
