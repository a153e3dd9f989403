//! One version as it is stored: without managed fields, and of a pod only what controllers read;
//! and the fields of an object on which another object's status depends.
//!
//! [`Author`] is who wrote a version, from its managed fields.
//!
//! The client that changes a field owns it afterwards, alone unless others applied the same value.
//! So the owner of `spec.replicas` wrote the size. The Deployment controller is identified by what
//! only it writes: the status of Deployments. A write through the scale subresource is attributed
//! to a user or an autoscaler, even if kube-controller-manager makes it. A deletion does not show
//! who started it, and is attributed to others.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::{ChangeType, ObjectVersion, WriterRole};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{self, REVISION, controller, count, name, remove_managed_fields, text};
use serde_json::{Map, Value};

use super::model::POD;

/// A version, its namespace, and its author.
#[derive(Debug, Clone)]
pub(super) struct ObservedVersion {
    pub(super) namespace: String,
    pub(super) author: Author,
    /// The earliest time at which it may have been written.
    pub(super) earliest: u64,
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
        Self { namespace, author, earliest: at, version }
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

/// The managers of the fields that the Deployment controller decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Owners {
    /// Of `spec.replicas`.
    size: BTreeSet<String>,
    revision: BTreeSet<String>,
}

/// The author of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Author {
    /// One of the owners of the changed field.
    Owners(Owners),
    /// The Deployment controller.
    #[cfg_attr(not(test), expect(dead_code, reason = "recordings say who wrote a version"))]
    Controller,
    /// Another client, or unknown.
    Other,
}

impl Author {
    /// The author of a version.
    pub(super) fn of(object: &Value) -> Self {
        let Some(entries) = object.at("/metadata/managedFields").and_then(Value::as_array) else { return Self::Other };
        let owners = |path: &[&str]| {
            let own = entries.iter().filter(|entry| entry.at("/subresource").is_none() && has_field(entry, path));
            own.filter_map(|entry| text(entry, "/manager")).map(str::to_owned).collect()
        };
        let revision = format!("f:{REVISION}");
        Self::Owners(Owners {
            size: owners(&["f:spec", "f:replicas"]),
            revision: owners(&["f:metadata", "f:annotations", &revision]),
        })
    }

    /// Whether one of these controllers wrote the new size.
    pub(super) fn wrote_size(&self, controllers: &BTreeSet<String>) -> bool {
        self.is_by(controllers, |owners| &owners.size)
    }

    /// Whether one of these controllers wrote the new revision.
    pub(super) fn wrote_revision(&self, controllers: &BTreeSet<String>) -> bool {
        self.is_by(controllers, |owners| &owners.revision)
    }

    fn is_by(&self, controllers: &BTreeSet<String>, field: impl Fn(&Owners) -> &BTreeSet<String>) -> bool {
        match self {
            Self::Owners(owners) => !field(owners).is_empty() && field(owners).is_subset(controllers),
            Self::Controller => true,
            Self::Other => false,
        }
    }
}

/// The managers that write the status of this Deployment.
pub(super) fn controllers(deployment: &Value) -> impl Iterator<Item = &str> {
    let entries = deployment.at("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let status = entries.filter(|entry| {
        text(entry, "/subresource") == Some("status") && has_field(entry, &["f:status", "f:observedGeneration"])
    });
    status.filter_map(|entry| text(entry, "/manager"))
}

fn has_field(entry: &Value, path: &[&str]) -> bool {
    path.iter().try_fold(&entry["fieldsV1"], |fields, name| fields.get(name)).is_some()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
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

    #[rstest]
    #[case::the_controller("kube-controller-manager", Value::Null, true)]
    #[case::a_user("kubectl", Value::Null, false)]
    #[case::an_autoscaler("kube-controller-manager", json!("scale"), false)]
    fn attributes_a_size_to_its_owner(#[case] manager: &str, #[case] subresource: Value, #[case] expected: bool) {
        let mut entry = json!({"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        if !subresource.is_null() {
            entry["subresource"] = subresource;
        }
        let set = json!({"metadata": {"managedFields": [entry]}});
        let controllers = BTreeSet::from(["kube-controller-manager".to_owned()]);
        assert_eq!(Author::of(&set).wrote_size(&controllers), expected);
        assert!(!Author::of(&set).wrote_revision(&controllers));
        assert_eq!(Author::of(&json!({"metadata": {}})), Author::Other);
    }

    #[test]
    fn controllers_are_the_writers_of_the_status() {
        let status =
            json!({"manager": "x", "subresource": "status", "fieldsV1": {"f:status": {"f:observedGeneration": {}}}});
        let spec = json!({"manager": "kubectl", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        let deployment = json!({"metadata": {"managedFields": [spec, status]}});
        assert_eq!(controllers(&deployment).collect::<Vec<_>>(), ["x"]);
    }
}
