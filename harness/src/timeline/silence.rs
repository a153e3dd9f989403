//! The invariant `silence`: the subject writes nothing after the last step has settled, Events
//! aside.
//!
//! The recording goes on for a while, so that Events come. What time itself changes meanwhile is
//! for the subject to report: pods become available after minReadySeconds, and a deadline passes. A
//! recording that shows such a change is not judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::invariants::is_write;
use super::model::{Breach, Invariant};
use super::world::{DEPLOYMENT, REPLICA_SET};
use crate::recording::{Change, Entry, Recording, Request, Version};

/// The first write that should not be there.
pub(super) fn silence(recording: &Recording) -> Option<Breach> {
    let last = recording.entries.iter().rposition(|entry| matches!(entry, Entry::Settled(_)))?;
    recording.end.as_ref().filter(|end| end.completed)?;
    let written = recording.entries[last..].iter().find_map(|entry| match entry {
        Entry::Request(request) if is_write(request) => Some(request),
        _ => None,
    })?;
    if time_changed_something(&recording.entries, last) {
        return None;
    }
    let Request { verb, resource, subresource, .. } = written;
    let slash = if subresource.is_empty() { "" } else { "/" };
    Some(Breach {
        invariant: Invariant::Silence,
        detail: format!("{verb} {resource}{slash}{subresource} after the last step"),
    })
}

/// Whether a status changed after the entry with this number in a way that only time explains.
fn time_changed_something(entries: &[Entry], last: usize) -> bool {
    let mut known: BTreeMap<(&str, &str), Arc<Value>> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        let Entry::Object(version) = entry else { continue };
        let Version { kind, name, object, change, .. } = version;
        if kind != DEPLOYMENT && kind != REPLICA_SET {
            continue;
        }
        let object = object.value();
        // What a quota refused is tried again after ever longer waits.
        if number > last && known.values().any(|object| is_refused_pods(object)) {
            return true;
        }
        let is_new = number > last && *change == Change::Added;
        if is_new && known.iter().any(|((kind, _), known)| *kind == DEPLOYMENT && is_past(known, &object)) {
            return true;
        }
        let before = known.insert((kind, name), Arc::clone(&object));
        if number > last && before.is_some_and(|before| became_available(&before, &object) || passed(&before, &object))
        {
            return true;
        }
    }
    false
}

/// Pods that were ready before count as available now.
fn became_available(before: &Value, after: &Value) -> bool {
    let count = |object: &Value, field: &str| object["status"][field].as_u64().unwrap_or_default();
    after["spec"]["minReadySeconds"].as_u64().is_some_and(|seconds| seconds > 0) && {
        let ready = [before, after].map(|object| count(object, "readyReplicas"));
        ready[0] == ready[1] && count(before, "availableReplicas") < count(after, "availableReplicas")
    }
}

/// What was created came after the progress deadline of this Deployment, at which upstream looks
/// again. A Recreate that waits for pods goes on then if they have ended meanwhile.
fn is_past(deployment: &Value, created: &Value) -> bool {
    let time = |value: &Value| value.as_str()?.parse::<jiff::Timestamp>().ok();
    let conditions = deployment["status"]["conditions"].as_array().into_iter().flatten();
    let progressing = conditions.into_iter().find(|condition| condition["type"] == "Progressing");
    let deadline = || {
        let seconds = deployment["spec"]["progressDeadlineSeconds"].as_i64()?;
        time(&progressing?["lastUpdateTime"])?.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()
    };
    let created = time(&created["metadata"]["creationTimestamp"]);
    created.zip(deadline()).is_some_and(|(created, deadline)| created >= deadline)
}

/// A ReplicaSet could not create pods.
fn is_refused_pods(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let mut failures = conditions.filter(|condition| condition["type"] == "ReplicaFailure");
    object["kind"] == REPLICA_SET && failures.any(|condition| condition["status"] == "True")
}

/// The progress deadline has passed.
fn passed(before: &Value, after: &Value) -> bool {
    let exceeded = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|condition| condition["reason"] == "ProgressDeadlineExceeded")
    };
    exceeded(after) && !exceeded(before)
}
