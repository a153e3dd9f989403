//! Request bodies: whole objects with a few changed fields, and the two ownership patches.
//!
//! Every PUT body starts from the object as it was read, with its resourceVersion. So the server
//! refuses the write if the object has changed since, and fields that this program does not know
//! are kept.

use std::collections::BTreeMap;

use rollout_model::{Deployment, names, omit_zero, to_json_bytes};
use serde_json::{Value, json};

use super::plan::{DeploymentChange, ReplicaSetChange, StatusChange};

/// The body of a request that changes a ReplicaSet.
pub fn replica_set(raw: Value, change: &ReplicaSetChange) -> Value {
    // Without `..`, so that a new field does not compile until it is written.
    let ReplicaSetChange { name: _, replicas, min_ready_seconds, annotations } = change;
    let mut body = typed(raw, "ReplicaSet");
    if let Some(replicas) = replicas {
        body["spec"]["replicas"] = (*replicas).into();
    }
    if let Some(seconds) = min_ready_seconds {
        omit_zero(&mut body["spec"], "minReadySeconds", (*seconds).into());
    }
    for (name, value) in annotations {
        body["metadata"]["annotations"][name] = value.as_str().into();
    }
    body
}

/// The body of a request that changes the Deployment.
pub fn deployment(raw: Value, change: &DeploymentChange) -> Value {
    let DeploymentChange { template, annotations } = change;
    let mut body = typed(raw, "Deployment");
    if let Some(template) = template {
        body["spec"]["template"] = template.clone();
    }
    set_annotations(&mut body, annotations);
    body
}

/// The body of a request that writes the status.
pub fn status(deployment: &Deployment, change: &StatusChange) -> Vec<u8> {
    let StatusChange { revision, status } = change;
    let Some(revision) = revision else { return deployment.with_status(status) };
    let mut body = typed(deployment.raw(), "Deployment");
    body["metadata"]["annotations"][names::REVISION] = revision.as_str().into();
    status.write_over(&mut body["status"]);
    to_json_bytes(&body)
}

/// Adds apiVersion and kind, which objects in lists lack and a body needs.
fn typed(mut body: Value, kind: &str) -> Value {
    body["apiVersion"] = "apps/v1".into();
    body["kind"] = kind.into();
    body
}

fn set_annotations(body: &mut Value, annotations: &BTreeMap<String, String>) {
    if annotations.is_empty() {
        if let Some(metadata) = body["metadata"].as_object_mut() {
            metadata.remove("annotations");
        }
    } else {
        body["metadata"]["annotations"] = json!(annotations);
    }
}
