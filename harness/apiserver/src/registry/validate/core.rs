//! Validates the kinds of core/v1 except pods and quotas. Upstream:
//! `ValidateConfigMap`, `ValidateSecret`, `ValidateNode`, `ValidateNamespaceStatusUpdate`.

use serde_json::Value;

use crate::registry::validate::{pod, quantity};
use crate::types::field_error::FieldError;
use crate::types::names;

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
