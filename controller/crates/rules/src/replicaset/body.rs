//! `spec.template`: the body of a pod made from it, and the ownership patches.
//!
//! Case: `replicaset/pod-labels-and-more`.

use rollout_model::{Meta, ReplicaSet};
use serde_json::{Value, json};

use super::PodClaim;

/// A pod from the template (upstream: `GetPodFromTemplate`). Of the template's metadata it has
/// labels, annotations and finalizers. `None` if the template has no labels, because no selector
/// would match the pod.
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

/// A strategic merge patch. It contains the UID, so the server refuses it if another pod has taken
/// the name.
pub fn claim(rs: &Meta, claim: &PodClaim) -> Value {
    match claim {
        PodClaim::Adopt { name: _, uid } => {
            json!({"metadata": {"uid": uid, "ownerReferences": [owner_reference(rs)]}})
        }
        PodClaim::Release { name: _, uid } => {
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
