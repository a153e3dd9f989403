//! `spec.template`: the body of a pod made from it.
//!
//! Case: `replicaset/pod-labels-and-more`.

use rollout_model::ReplicaSet;
use serde_json::{Value, json};

use crate::ownership::owner_reference;

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
        "ownerReferences": [owner_reference("ReplicaSet", &rs.meta)],
    });
    for field in ["annotations", "finalizers"] {
        if let Some(value) = part(field) {
            metadata[field] = value;
        }
    }
    Some(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}))
}
