//! What the server holds, whatever things are called.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::fingerprint::fingerprint;
use crate::recording::{Change, Entry, Recording};

/// What the server held in one play.
#[derive(Debug, Default)]
pub struct States {
    /// Each state that it had.
    pub all: BTreeSet<u64>,
    /// The one in which each step settled, those of `given` included.
    pub settled: Vec<u64>,
}

/// The states that a recording shows.
pub fn states(recording: &Recording) -> States {
    let mut states = States::default();
    let mut objects: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut line = None;
    for entry in &recording.entries {
        match entry {
            // The parts of a step are on one line, and the last counts.
            Entry::Step(mark) if line == Some(mark.line) => drop(states.settled.pop()),
            Entry::Step(mark) => line = Some(mark.line),
            Entry::Object(version) if version.kind != "Event" => {
                let key = (version.kind.as_str(), version.name.as_str());
                match version.change {
                    Change::Deleted => drop(objects.remove(&key)),
                    _ => drop(objects.insert(key, of(&version.kind, &version.object))),
                }
                states.all.insert(together(&objects));
            }
            Entry::Settled(_) => states.settled.push(together(&objects)),
            _ => {}
        }
    }
    states
}

/// One number for all of them, in no order: two pods that have changed places are the same content.
fn together(objects: &BTreeMap<(&str, &str), u64>) -> u64 {
    let mut each: Vec<u64> = objects.values().copied().collect();
    each.sort_unstable();
    number(each.iter().flat_map(|one| one.to_be_bytes()))
}

/// An object without what the server makes up.
fn of(kind: &str, object: &Value) -> u64 {
    let mut text = kind.to_owned();
    write(&mut text, object);
    number(text.bytes())
}

fn number(bytes: impl Iterator<Item = u8>) -> u64 {
    u64::from_str_radix(&fingerprint(bytes), 16).expect("a fingerprint is sixteen hexadecimal digits")
}

/// Names, uids, versions and times are left out; what refers to them, too.
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
    fn names_and_times_make_no_other_state() {
        let pod = |name: &str, ready: bool| json!({"metadata": {"name": name, "uid": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}});
        assert_eq!(of("Pod", &pod("a", true)), of("Pod", &pod("b", true)));
        assert_ne!(of("Pod", &pod("a", true)), of("Pod", &pod("a", false)));
    }
}
