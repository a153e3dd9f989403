//! Expands the deletion of a collection into the deletions of its objects.
//!
//! `deletecollection` is one request, whose answer lists the objects as they were before. The
//! options decide what happened to each: an object without finalizers is gone, one with finalizers
//! or a foreground deletion waits for them, and a pod that runs on a node has its grace period.

use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{deleting, int, text};
use serde_json::{Value, json};

use super::entry::AuditEntry;

/// The verb of the request.
const VERB: &str = "deletecollection";
/// The finalizer that a deletion adds by its propagation policy, if it waits for other objects.
const FINALIZERS: [(&str, &str); 2] = [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")];

/// The entry itself, or one entry for each object that it deletes.
pub(super) fn expand(entry: AuditEntry) -> Vec<AuditEntry> {
    if entry.verb != VERB {
        return vec![entry];
    }
    // Objects that the entry lacks are a gap.
    let Some(items) = entry.response_object.as_ref().and_then(|list| list.at("/items")).and_then(Value::as_array)
    else {
        return vec![entry];
    };
    // The entry of an empty collection still shows who sent the request.
    if items.is_empty() { vec![entry] } else { items.iter().map(|item| object_deletion(&entry, item)).collect() }
}

/// The deletion of one object.
fn object_deletion(entry: &AuditEntry, item: &Value) -> AuditEntry {
    // The answer has the objects as the server read them; the deletion came after that.
    let version = entry.response_object.as_ref().and_then(|list| list.at("/metadata/resourceVersion"));
    let object = deletion(entry, item, version.cloned().unwrap_or_default());
    let name = text(item, "/metadata/name").unwrap_or_default().to_owned();
    entry.of_object("delete", name, object)
}

/// The object as its deletion leaves it, with this resourceVersion.
pub(super) fn deletion(entry: &AuditEntry, item: &Value, version: Value) -> Value {
    let mut object = item.clone();
    object["kind"] = json!(entry.kind());
    object["metadata"]["resourceVersion"] = version;
    if !deleting(item) {
        let grace = grace(entry, item);
        let until = entry.time().as_second() + grace;
        let until = jiff::Timestamp::from_second(until).map_or_else(|_| String::new(), |until| until.to_string());
        object["metadata"]["deletionTimestamp"] = json!(until);
        object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        if let Some(generation) = int(item, "/metadata/generation") {
            object["metadata"]["generation"] = json!(generation + 1);
        }
        let policy = entry.option("propagationPolicy");
        let finalizer = FINALIZERS.iter().find(|(known, _)| policy.as_deref() == Some(*known)).map(|(_, name)| *name);
        if let Some(finalizer) = finalizer {
            let mut all = item.at("/metadata/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
            all.push(json!(finalizer));
            object["metadata"]["finalizers"] = all.into();
        }
    }
    object
}

/// The seconds until the object is gone: only a pod that runs on a node has a grace period.
fn grace(entry: &AuditEntry, item: &Value) -> i64 {
    let ended = matches!(text(item, "/status/phase"), Some("Failed" | "Succeeded"));
    let runs = text(item, "/spec/nodeName").is_some_and(|node| !node.is_empty()) && !ended;
    let asked = entry.option("gracePeriodSeconds").and_then(|seconds| seconds.parse().ok());
    if runs { asked.or_else(|| int(item, "/spec/terminationGracePeriodSeconds")).unwrap_or(30) } else { 0 }
}
