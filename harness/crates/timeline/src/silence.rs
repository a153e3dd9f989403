//! The invariant `silence`: the subject writes nothing after the last step has settled, except
//! Events.
//!
//! The recording continues for a while to catch late Events. The subject must report what changes
//! by time alone: pods become available after minReadySeconds, and progress deadlines pass. A
//! recording with such a change is not judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_recording::{ChangeType, ObjectVersion, Recording, RecordingEntry, SubjectRequest};
use serde_json::Value;

use super::invariants::is_write;
use super::model::{Invariant, InvariantBreach};
use super::recorded_objects::{DEPLOYMENT, REPLICA_SET};

/// The first write after the last step has settled.
pub(super) fn silence_breach(recording: &Recording) -> Option<InvariantBreach> {
    let last = recording.entries.iter().rposition(|entry| matches!(entry, RecordingEntry::Settled(_)))?;
    recording.end.as_ref().filter(|end| end.completed)?;
    let written = recording.entries[last..].iter().find_map(|entry| match entry {
        RecordingEntry::Request(request) if is_write(request) => Some(request),
        _ => None,
    })?;
    if time_changed_something(&recording.entries, last) {
        return None;
    }
    let SubjectRequest { verb, resource, subresource, .. } = written;
    let slash = if subresource.is_empty() { "" } else { "/" };
    Some(InvariantBreach {
        invariant: Invariant::Silence,
        detail: format!("{verb} {resource}{slash}{subresource} after the last step"),
    })
}

/// Whether a status changed after the entry with this number in a way that only time explains.
fn time_changed_something(entries: &[RecordingEntry], last: usize) -> bool {
    let mut known: BTreeMap<(&str, &str), Arc<Value>> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        let RecordingEntry::Object(version) = entry else { continue };
        let ObjectVersion { kind, name, object, change, .. } = version;
        if kind != DEPLOYMENT && kind != REPLICA_SET {
            continue;
        }
        let object = object.value();
        // Pods that a quota refused are retried after increasing delays.
        if number > last && known.values().any(|object| has_replica_failure(object)) {
            return true;
        }
        let is_new = number > last && *change == ChangeType::Added;
        if is_new && known.iter().any(|((kind, _), known)| *kind == DEPLOYMENT && is_past_deadline(known, &object)) {
            return true;
        }
        let before = known.insert((kind, name), Arc::clone(&object));
        if number > last
            && before.is_some_and(|before| became_available(&before, &object) || deadline_passed(&before, &object))
        {
            return true;
        }
    }
    false
}

/// Pods that were ready before are available now.
fn became_available(before: &Value, after: &Value) -> bool {
    let count = |object: &Value, field: &str| object["status"][field].as_u64().unwrap_or_default();
    after["spec"]["minReadySeconds"].as_u64().is_some_and(|seconds| seconds > 0) && {
        let ready = [before, after].map(|object| count(object, "readyReplicas"));
        ready[0] == ready[1] && count(before, "availableReplicas") < count(after, "availableReplicas")
    }
}

/// Whether the object was created after the progress deadline of this Deployment, when upstream
/// syncs again. A Recreate that waits for pods continues then if they have finished meanwhile.
fn is_past_deadline(deployment: &Value, created: &Value) -> bool {
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

/// Whether a ReplicaSet failed to create pods.
fn has_replica_failure(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let mut failures = conditions.filter(|condition| condition["type"] == "ReplicaFailure");
    object["kind"] == REPLICA_SET && failures.any(|condition| condition["status"] == "True")
}

/// Whether the progress deadline has passed.
fn deadline_passed(before: &Value, after: &Value) -> bool {
    let exceeded = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|condition| condition["reason"] == "ProgressDeadlineExceeded")
    };
    exceeded(after) && !exceeded(before)
}
