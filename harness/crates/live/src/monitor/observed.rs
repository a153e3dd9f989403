//! One version as it is stored: without managed fields, and of a pod only what controllers read;
//! and the fields of an object on which another object's status depends.

use std::collections::BTreeMap;

use lockstep_recording::{ChangeType, ObjectVersion, WriterRole};
use lockstep_timeline::object::{self, controller, count, name, remove_managed_fields, text};
use serde_json::{Map, Value};

use super::author::Author;
use super::model::POD;

/// A version, its namespace, and its author.
#[derive(Debug, Clone)]
pub(super) struct ObservedVersion {
    pub(super) namespace: String,
    pub(super) author: Author,
    pub(super) version: ObjectVersion,
}

impl ObservedVersion {
    /// From an object of a watch or a list.
    pub(super) fn of(kind: &'static str, change: ChangeType, mut object: Value, at: u64) -> Self {
        let author = if kind == POD { Author::Other } else { Author::of(&object) };
        remove_managed_fields(&mut object);
        let rv = text(&object, "/metadata/resourceVersion").and_then(|rv| rv.parse().ok()).unwrap_or(0);
        let namespace = text(&object, "/metadata/namespace").unwrap_or_default().to_owned();
        let (kind, name) = (kind.to_owned(), name(&object).to_owned());
        let version =
            ObjectVersion { kind, name, change, rv, by: WriterRole::Other, author: None, at, object: object.into() };
        Self { namespace, author, version }
    }
}

/// Most of the size of a cluster's objects is in pod specs, which decide nothing.
pub(super) fn slim(kind: &str, pod: &mut Value) {
    if kind != POD {
        return;
    }
    let keep = |value: Option<&mut Value>, fields: &[&str]| {
        if let Some(map) = value.and_then(Value::as_object_mut) {
            *map = std::mem::take(map)
                .into_iter()
                .filter(|(key, _)| fields.contains(&key.as_str()))
                .collect::<Map<_, _>>();
        }
    };
    remove_managed_fields(pod);
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
    }
    keep(pod.get_mut("spec"), &["nodeName", "readinessGates", "terminationGracePeriodSeconds"]);
    keep(pod.get_mut("status"), &["phase", "conditions", "reason"]);
}

/// The UID of the Deployment or ReplicaSet that controls it.
pub(super) fn owner(object: &Value) -> Option<&str> {
    let owner = controller(object).filter(|owner| matches!(text(owner, "/kind"), Some("Deployment" | "ReplicaSet")))?;
    text(owner, "/uid")
}

/// The fields on which a ReplicaSet's own status depends.
pub(super) fn set_fields(set: &Value) -> (i64, i64) {
    (count(set, "/metadata/generation"), count(set, "/spec/minReadySeconds"))
}

/// The fields of a ReplicaSet that its Deployment's status sums up.
pub(super) fn summed_fields(set: &Value) -> ([i64; 4], Option<&str>) {
    let numbers = ["/metadata/generation", "/status/replicas", "/status/readyReplicas", "/status/availableReplicas"];
    (numbers.map(|number| count(set, number)), owner(set))
}

/// The fields of a pod that its ReplicaSet's status counts.
pub(super) fn pod_fields(pod: &Value) -> (bool, Option<&str>, bool, BTreeMap<&str, &str>) {
    let labels = object::strings(pod, "/metadata/labels");
    (object::deleting(pod), text(pod, "/status/phase"), is_ready(pod), labels)
}

/// Whether its Ready condition is True.
fn is_ready(pod: &Value) -> bool {
    let conditions = pod.get("status").and_then(|status| status.get("conditions")).and_then(Value::as_array);
    let is_true = |one: &Value| text(one, "/type") == Some("Ready") && text(one, "/status") == Some("True");
    conditions.into_iter().flatten().any(is_true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn removes_the_unused_parts_of_a_pod() {
        let metadata = json!({"name": "a", "labels": {"app": "web"}, "annotations": {"x": "y"}, "managedFields": []});
        let mut pod = json!({"metadata": metadata, "spec": {"nodeName": "n", "containers": [{"env": []}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": []}});
        let whole = pod.clone();
        slim("ReplicaSet", &mut pod);
        assert_eq!(pod, whole);
        slim(POD, &mut pod);
        let left = json!({"metadata": {"name": "a", "labels": {"app": "web"}}, "spec": {"nodeName": "n"},
            "status": {"phase": "Running", "conditions": []}});
        assert_eq!(pod, left);
    }
}
