//! The fields of an object on which another object's status depends.

use std::collections::BTreeMap;

use lockstep_timeline::object::{self, controller, count, text};
use serde_json::Value;

/// The UID of the Deployment or ReplicaSet that controls it.
pub(super) fn owner(object: &Value) -> Option<&str> {
    let owner = controller(object).filter(|owner| matches!(text(owner, "/kind"), Some("Deployment" | "ReplicaSet")))?;
    text(owner, "/uid")
}

/// The fields on which a ReplicaSet's own status depends.
pub(super) fn of_set(set: &Value) -> (i64, i64) {
    (count(set, "/metadata/generation"), count(set, "/spec/minReadySeconds"))
}

/// The fields of a ReplicaSet that its Deployment's status sums up.
pub(super) fn summed(set: &Value) -> ([i64; 4], Option<&str>) {
    let numbers = ["/metadata/generation", "/status/replicas", "/status/readyReplicas", "/status/availableReplicas"];
    (numbers.map(|number| count(set, number)), owner(set))
}

/// The fields of a pod that its ReplicaSet's status counts.
pub(super) fn of_pod(pod: &Value) -> (bool, Option<&str>, bool, BTreeMap<&str, &str>) {
    let labels = object::strings(pod, "/metadata/labels");
    (object::deleting(pod), text(pod, "/status/phase"), is_ready(pod), labels)
}

/// Whether its Ready condition is True.
fn is_ready(pod: &Value) -> bool {
    let conditions = pod.get("status").and_then(|status| status.get("conditions")).and_then(Value::as_array);
    let is_true = |one: &Value| text(one, "/type") == Some("Ready") && text(one, "/status") == Some("True");
    conditions.into_iter().flatten().any(is_true)
}
