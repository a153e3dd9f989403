//! Validates the statuses of apps/v1. Upstream: `Validate…Status`, `Validate…StatusUpdate`.

use serde_json::Value;

use crate::registry::validate::scalars::nonnegative;
use crate::types::field_error::FieldError;

pub(crate) fn deployment(status: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    no_more_than_replicas(&mut errors, status, &["updatedReplicas", "readyReplicas", "availableReplicas"]);
    let collisions = |status: &Value| status["collisionCount"].as_i64();
    if let Some(before) = collisions(old)
        && collisions(status).is_none_or(|now| now < before)
    {
        let now = collisions(status).unwrap_or(0);
        errors.push(FieldError::invalid("status.collisionCount", now, "cannot be decremented"));
    }
    errors
}

pub(crate) fn replica_set(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    no_more_than_replicas(&mut errors, status, &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]);
    errors
}

fn no_more_than_replicas(errors: &mut Vec<FieldError>, status: &Value, names: &[&str]) {
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

pub(crate) fn stateful_set(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    no_more_than_replicas(&mut errors, status, &parts);
    errors
}

pub(crate) fn daemon_set(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    errors
}
