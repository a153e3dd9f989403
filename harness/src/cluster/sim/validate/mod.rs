//! What the server rejects, field by field, in upstream's words: as far as cases can see it.

mod apps;
mod meta;
mod pod;
mod words;

use serde_json::Value;

use super::field::FieldError;
use super::kinds::Kind;

/// What is wrong with a new object.
pub(super) fn create(kind: &Kind, new: &Value) -> Vec<FieldError> {
    let mut errors = meta::create(kind, &new["metadata"]);
    match kind.kind {
        "Deployment" => errors.extend(apps::deployment(&new["spec"])),
        "ReplicaSet" | "StatefulSet" | "DaemonSet" => errors.extend(apps::replica_set(&new["spec"])),
        "Pod" => {
            errors.extend(pod::annotations(&new["metadata"], "metadata.annotations"));
            errors.extend(pod::spec(&new["spec"], "spec"));
        }
        "ConfigMap" | "Secret" => errors.extend(meta::keys(kind, new)),
        _ => {}
    }
    errors
}

/// What is wrong with a change.
pub(super) fn update(kind: &Kind, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = meta::update(&new["metadata"], &old["metadata"]);
    match kind.kind {
        "Deployment" => {
            errors.extend(apps::deployment(&new["spec"]));
            errors.extend(apps::same_selector(new, old));
        }
        "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            errors.extend(apps::replica_set(&new["spec"]));
            errors.extend(apps::same_selector(new, old));
        }
        "Pod" => {
            if new["metadata"]["annotations"] != old["metadata"]["annotations"] {
                errors.extend(pod::annotations(&new["metadata"], "metadata.annotations"));
            }
            errors.extend(pod::update(&new["spec"], &old["spec"]));
        }
        "ConfigMap" | "Secret" => errors.extend(meta::keys(kind, new)),
        _ => {}
    }
    errors
}

/// What is wrong with a change of the status.
pub(super) fn status(kind: &Kind, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = meta::update(&new["metadata"], &old["metadata"]);
    match kind.kind {
        "Deployment" => errors.extend(apps::deployment_status(&new["status"], &old["status"])),
        "ReplicaSet" => errors.extend(apps::replica_set_status(&new["status"])),
        _ => {}
    }
    errors
}

/// A number that must not be below zero.
fn nonnegative(errors: &mut Vec<FieldError>, object: &Value, path: &str, name: &str) {
    if let Some(number) = object[name].as_i64().filter(|number| *number < 0) {
        let path = format!("{path}.{name}");
        errors.push(FieldError::invalid(&path, number, "must be greater than or equal to 0"));
    }
}

pub(super) use apps::scale;
