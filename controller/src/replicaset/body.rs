//! What goes over the wire besides the status: a pod from the template, and the ownership patches.
//!
//! Case: `replicaset/pod-labels-and-more`.

use serde_json::{Value, json};

use super::Claim;
use crate::model::{Meta, ReplicaSet};

/// A pod as the template has it (upstream: `GetPodFromTemplate`); `None` if the template has no
/// labels, without which it could never be found again. Of the template's metadata only labels,
/// annotations and finalizers count.
pub(super) fn pod(rs: &ReplicaSet) -> Option<Value> {
    let template = rs.template().value();
    let part = |field: &str| {
        let value = template.pointer(&format!("/metadata/{field}"))?;
        let is_empty =
            value.as_object().is_some_and(|map| map.is_empty()) || value.as_array().is_some_and(Vec::is_empty);
        (!is_empty && !value.is_null()).then(|| value.clone())
    };
    let mut metadata = json!({
        "generateName": format!("{}-", rs.meta.name),
        "labels": part("labels")?,
        "ownerReferences": [owner_reference(&rs.meta)],
    });
    for field in ["annotations", "finalizers"] {
        if let Some(value) = part(field) {
            metadata[field] = value;
        }
    }
    Some(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}))
}

/// A strategic merge patch. The UID in it makes the server refuse it where the name has come to
/// mean another pod.
pub(super) fn claim(rs: &Meta, claim: &Claim) -> Value {
    match claim {
        Claim::Adopt { name: _, uid } => {
            json!({"metadata": {"uid": uid, "ownerReferences": [owner_reference(rs)]}})
        }
        Claim::Release { name: _, uid } => {
            json!({"metadata": {"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": rs.uid}]}})
        }
    }
}

fn owner_reference(rs: &Meta) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": rs.name,
        "uid": rs.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}
