//! One version as it is stored: without managed fields, and of a pod only what controllers read.

use lockstep_recording::{ChangeType, ObjectVersion, WriterRole};
use lockstep_timeline::object::{name, remove_managed_fields, text};
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
