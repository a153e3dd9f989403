//! Validates what the statuses of apps/v1 share.

use serde_json::Value;

use crate::types::field_error::FieldError;

pub(crate) fn no_more_than_replicas(errors: &mut Vec<FieldError>, status: &Value, names: &[&str]) {
    let number = |name: &str| status[name].as_i64().unwrap_or(0);
    for name in names {
        if number(name) > number("replicas") {
            let path = format!("status.{name}");
            errors.push(FieldError::invalid(&path, number(name), "cannot be greater than status.replicas"));
        }
    }
    if number("availableReplicas") > number("readyReplicas") {
        let why = if names.contains(&"currentReplicas") {
            "cannot be greater than status.readyReplicas"
        } else {
            "cannot be greater than readyReplicas"
        };
        errors.push(FieldError::invalid("status.availableReplicas", number("availableReplicas"), why));
    }
}
