//! The Deployments' Events as one sorted multiset. Events lag behind decisions and are aggregated at random from the tenth
//! distinct one on, so they are compared once, at the end, and only if there are few.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{EventLine, Events};
use super::names::Names;
use super::object;
use super::token::quote;
use super::world::{DEPLOYMENT, EVENT};
use crate::recording::{Entry, Recording};

/// From so many distinct Events in ten minutes on, client-go aggregates them.
const TOO_MANY: usize = 10;

/// The Events of a recording.
pub(super) fn take(recording: &Recording, names: &Names) -> Events {
    if !recording.end.as_ref().is_some_and(|end| end.events_complete) {
        return Events::NotCompared("the recording may lack some".to_owned());
    }
    let mut last: BTreeMap<&str, &Value> = BTreeMap::new();
    for entry in &recording.entries {
        if let Entry::Object(version) = entry
            && version.kind == EVENT
            && object::text(&version.object, "/involvedObject/kind") == Some(DEPLOYMENT)
        {
            last.insert(&version.name, &version.object);
        }
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for event in last.values() {
        *counts.entry(line(event, names)).or_default() += times(event);
    }
    if counts.len() >= TOO_MANY {
        return Events::NotCompared(Events::TEN_OR_MORE.to_owned());
    }
    Events::All(counts.into_iter().map(|(text, count)| EventLine { text, count }).collect())
}

/// `Normal ScalingReplicaSet "…"`, after the Deployment's name where there are several.
fn line(event: &Value, names: &Names) -> String {
    let text = |pointer: &str| quote(object::text(event, pointer).unwrap_or("-"));
    let message = names.in_message(object::text(event, "/message").unwrap_or_default());
    let line = format!("{} {} {}", text("/type"), text("/reason"), Value::from(message));
    if names.several() { format!("{} {line}", text("/involvedObject/name")) } else { line }
}

/// How often an Event was reported: its count, or its series'.
fn times(event: &Value) -> u64 {
    let count = object::count(event, "/count").max(object::count(event, "/series/count"));
    u64::try_from(count).unwrap_or(0).max(1)
}
