//! Fingerprints of the server's state, independent of names.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::{ChangeType, Recording, RecordingEntry};
use lockstep_support::fingerprint::fingerprint;
use serde_json::Value;

/// The states of the server in one run.
#[derive(Debug, Default)]
pub struct ServerStates {
    /// All states that it had.
    pub all: BTreeSet<u64>,
    /// The state in which each step settled, including those of `given`.
    pub settled: Vec<u64>,
}

/// The states that a recording shows.
pub fn states(recording: &Recording) -> ServerStates {
    let mut states = ServerStates::default();
    let mut objects: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut line = None;
    for entry in &recording.entries {
        match entry {
            // The parts of a step are on one line, and the last one counts.
            RecordingEntry::Step(mark) if line == Some(mark.line) => drop(states.settled.pop()),
            RecordingEntry::Step(mark) => line = Some(mark.line),
            RecordingEntry::Object(version) if version.kind != "Event" => {
                let key = (version.kind.as_str(), version.name.as_str());
                match version.change {
                    ChangeType::Deleted => drop(objects.remove(&key)),
                    _ => drop(objects.insert(key, fingerprint_of(&version.kind, &version.object))),
                }
                states.all.insert(together(&objects));
            }
            RecordingEntry::Settled(_) => states.settled.push(together(&objects)),
            _ => {}
        }
    }
    states
}

/// One fingerprint for all objects in any order: two pods that swap places are the same state.
fn together(objects: &BTreeMap<(&str, &str), u64>) -> u64 {
    let mut each: Vec<u64> = objects.values().copied().collect();
    each.sort_unstable();
    number(each.iter().flat_map(|one| one.to_be_bytes()))
}

/// The fingerprint of an object without the values that the server chooses.
fn fingerprint_of(kind: &str, object: &Value) -> u64 {
    let mut text = kind.to_owned();
    write(&mut text, object);
    number(text.bytes())
}

fn number(bytes: impl Iterator<Item = u8>) -> u64 {
    u64::from_str_radix(&fingerprint(bytes), 16).expect("a fingerprint is sixteen hexadecimal digits")
}

/// Names, UIDs, versions and times are left out, and so are references to them.
const MADE_UP: [&str; 12] = [
    "name",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastHeartbeatTime",
    "startTime",
    "nodeName",
    "message",
    "generateName",
];

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !MADE_UP.contains(&key.as_str())) {
                text.push_str(key);
                text.push('{');
                write(text, value);
                text.push('}');
            }
        }
        Value::Array(items) => {
            for item in items {
                text.push('[');
                write(text, item);
                text.push(']');
            }
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_times_do_not_change_the_state() {
        let pod = |name: &str, ready: bool| json!({"metadata": {"name": name, "uid": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}});
        assert_eq!(fingerprint_of("Pod", &pod("a", true)), fingerprint_of("Pod", &pod("b", true)));
        assert_ne!(fingerprint_of("Pod", &pod("a", true)), fingerprint_of("Pod", &pod("a", false)));
    }
}
