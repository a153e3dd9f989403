//! The deletion of a collection, as the deletions of its objects.
//!
//! `deletecollection` is one request, and its answer is the list of the objects as they were
//! before. What became of each follows from the options: an object that nothing holds is gone, one
//! with finalizers or of a foreground deletion waits for them, and a pod that runs on a node has
//! its grace period.

use serde_json::{Value, json};

use super::entry::Entry;
use crate::pointer::At;
use crate::timeline::object::{deleting, int, text};

/// The verb.
const VERB: &str = "deletecollection";
/// What a deletion adds that waits for other objects, by its propagation policy.
const FINALIZERS: [(&str, &str); 2] = [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")];

/// The entry itself, or one for each object that it deletes.
pub(super) fn each(entry: Entry) -> Vec<Entry> {
    if entry.verb != VERB {
        return vec![entry];
    }
    // What is left out of it is a gap.
    let Some(items) = entry.response_object.as_ref().and_then(|list| list.at("/items")).and_then(Value::as_array)
    else {
        return vec![entry];
    };
    // Of an empty collection it still says who asked.
    if items.is_empty() { vec![entry] } else { items.iter().map(|item| one(&entry, item)).collect() }
}

/// The deletion of one object.
fn one(entry: &Entry, item: &Value) -> Entry {
    // The answer is what the server had read; the deletion itself came after that.
    let version = entry.response_object.as_ref().and_then(|list| list.at("/metadata/resourceVersion"));
    let object = deletion(entry, item, version.cloned().unwrap_or_default());
    let name = text(item, "/metadata/name").unwrap_or_default().to_owned();
    entry.of_object("delete", name, object)
}

/// The object as its deletion leaves it, at this resourceVersion.
pub(super) fn deletion(entry: &Entry, item: &Value, version: Value) -> Value {
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
        let held =
            FINALIZERS.iter().find(|(known, _)| policy.as_deref() == Some(*known)).map(|(_, finalizer)| *finalizer);
        if let Some(held) = held {
            let mut all = item.at("/metadata/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
            all.push(json!(held));
            object["metadata"]["finalizers"] = all.into();
        }
    }
    object
}

/// How many seconds an object has until it is gone: only a pod that runs on a node has any.
fn grace(entry: &Entry, item: &Value) -> i64 {
    let ended = matches!(text(item, "/status/phase"), Some("Failed" | "Succeeded"));
    let runs = text(item, "/spec/nodeName").is_some_and(|node| !node.is_empty()) && !ended;
    let asked = entry.option("gracePeriodSeconds").and_then(|seconds| seconds.parse().ok());
    if runs { asked.or_else(|| int(item, "/spec/terminationGracePeriodSeconds")).unwrap_or(30) } else { 0 }
}
