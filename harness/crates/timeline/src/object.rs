//! The few fields that the judge reads from objects. It reads the API's JSON through small
//! functions instead of types, so that a field which a newer server adds is neither dropped nor an
//! error.

use std::collections::BTreeMap;

use lockstep_support::pointer::JsonPointer;
use serde_json::{Map, Value};

/// The label that a Deployment adds to its ReplicaSets' templates, selectors and labels.
pub const HASH_LABEL: &str = "pod-template-hash";
/// The annotation that holds the revision, on Deployments and ReplicaSets.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// The annotation that holds how many replicas the Deployment wanted when it set the ReplicaSet's
/// size.
pub(crate) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// The prefix of the annotations that the controller owns.
pub const OWN_PREFIX: &str = "deployment.kubernetes.io/";

/// An integer, by JSON pointer.
pub fn int(object: &Value, pointer: &str) -> Option<i64> {
    object.at(pointer)?.as_i64()
}

/// A count: 0 if it is absent, as the API omits zeros.
pub fn count(object: &Value, pointer: &str) -> i64 {
    int(object, pointer).unwrap_or(0)
}

/// A string, by JSON pointer.
pub fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.at(pointer)?.as_str()
}

/// Removes the managed fields, which make up half of an object, and which no recording has.
pub fn remove_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// `metadata.name`; empty without one.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name").unwrap_or_default()
}

/// The UID; for objects of tests without one, the name.
pub fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid").unwrap_or_else(|| name(object))
}

/// `spec.replicas`; 1 if absent, which is the server's default.
pub fn replicas(object: &Value) -> i32 {
    int(object, "/spec/replicas").and_then(|n| i32::try_from(n).ok()).unwrap_or(1)
}

/// A map of strings at a pointer: labels, annotations, a selector's matchLabels.
pub fn strings<'a>(object: &'a Value, pointer: &str) -> BTreeMap<&'a str, &'a str> {
    let map = object.at(pointer).and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

/// The value of an annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// The annotation with the wanted replicas as a number.
pub(crate) fn desired_replicas(object: &Value) -> Option<i32> {
    annotation(object, DESIRED_REPLICAS)?.parse().ok()
}

/// The revision annotation as a number.
pub fn revision(object: &Value) -> Option<i64> {
    annotation(object, REVISION)?.parse().ok()
}

/// The owner reference that says `controller: true`.
pub fn controller(object: &Value) -> Option<&Value> {
    let owners = object.get("metadata")?.get("ownerReferences")?.as_array()?;
    owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))
}

/// The UID of the owner that controls it, if one does.
pub fn controller_uid(object: &Value) -> Option<&str> {
    controller(object)?.get("uid")?.as_str()
}

/// Whether its deletion has begun.
pub fn deleting(object: &Value) -> bool {
    object.at("/metadata/deletionTimestamp").is_some_and(|stamp| !stamp.is_null())
}

/// Whether one of its status's conditions has this reason.
pub(crate) fn has_condition_reason(object: &Value, reason: &str) -> bool {
    let conditions = object.at("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.into_iter().any(|condition| condition["reason"] == reason)
}

/// A pod template without the hash label, nulls, and what is empty and means the same as nothing.
/// An empty object may have a meaning: `emptyDir: {}` is a volume, and a pod with `resources: {}`
/// has another template for upstream than a pod without.
pub fn bare_template(object: &Value) -> Value {
    let mut template = object.at("/spec/template").cloned().unwrap_or(Value::Null);
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH_LABEL);
    }
    without_empties(template)
}

/// The fields of a template with a map from names to values.
const MAPS: [&str; 7] = ["annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "requests"];

/// Removes nulls, empty lists, and empty maps from names to values, at any depth.
fn without_empties(value: Value) -> Value {
    let is_empty = |field: &str, value: &Value| match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty() && MAPS.contains(&field),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().map(|(key, value)| (key, without_empties(value)));
            Value::Object(kept.filter(|(key, value)| !is_empty(key, value)).collect::<Map<_, _>>())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_empties).collect()),
        other => other,
    }
}
