//! The Events as one sorted multiset: those of Deployments, and those of ReplicaSets if the case
//! judges the ReplicaSet controller. Events lag behind decisions and are aggregated at random from
//! the tenth distinct one on, so they are compared once, at the end, and only if there are few.
//!
//! Events of a ReplicaSet are counted by reason, because their messages name pods. How often
//! something failed depends on how fast it was retried, so only the fact is recorded.
//!
//! If the case judges config restarts, Events of other controllers than the Deployment controller
//! are counted by reason, too: a controller may explain a restart as it likes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_recording::controllers::Controller;
use lockstep_recording::{Effect, Recording, RecordingEntry};
use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::model::{EventLine, TimelineEvents, quote};
use super::names::NormalizedNames;
use super::object;
use super::recorded_objects::{DEPLOYMENT, EVENT, REPLICA_SET};

/// client-go aggregates Events from this many distinct ones in ten minutes on.
const TOO_MANY: usize = 10;
/// The name of the Deployment controller in its Events.
const DEPLOYMENT_CONTROLLER: &str = "deployment-controller";
/// The reason of an Event that quotes why a ReplicaSet could not be created.
const CREATE_ERROR: &str = "ReplicaSetCreateError";

pub(super) fn collect(recording: &Recording, names: &NormalizedNames) -> TimelineEvents {
    if !recording.end.as_ref().is_some_and(|end| end.events_complete) {
        return TimelineEvents::NotCompared("the recording may lack some".to_owned());
    }
    let of_sets = recording.header.controllers.has(Controller::ReplicaSet);
    // There is one for each pod, and some are not written yet when the controller is killed.
    if of_sets
        && recording
            .entries
            .iter()
            .any(|entry| matches!(entry, RecordingEntry::Injected(meeting) if meeting.effect == Effect::Killed))
    {
        return TimelineEvents::NotCompared("a controller that is killed leaves some unwritten".to_owned());
    }
    let is_about = |event: &Value| {
        let kind = object::text(event, "/involvedObject/kind");
        kind == Some(DEPLOYMENT) || of_sets && kind == Some(REPLICA_SET)
    };
    let mut last: BTreeMap<&str, Arc<Value>> = BTreeMap::new();
    for entry in &recording.entries {
        if let RecordingEntry::Object(version) = entry
            && version.kind == EVENT
            && let event = version.object.value()
            && is_about(&event)
        {
            last.insert(&version.name, event);
        }
    }
    let of_restarts = recording.header.controllers.has(Controller::ConfigRestart);
    let unanswered = recording
        .entries
        .iter()
        .any(|entry| matches!(entry, RecordingEntry::Injected(meeting) if meeting.effect == Effect::Unanswered));
    let (mut counts, mut messages): (BTreeMap<String, u64>, BTreeSet<String>) = Default::default();
    for event in last.values() {
        let (line, times) = if object::text(event, "/involvedObject/kind") == Some(DEPLOYMENT) {
            let explained = !of_restarts || object::text(event, "/source/component") == Some(DEPLOYMENT_CONTROLLER);
            let line = line(event, names, unanswered, explained);
            messages.insert(line.clone());
            (line, times(event))
        } else {
            (line_of_set(event, names), times(event))
        };
        let failed = object::text(event, "/reason").is_some_and(|reason| reason.starts_with("Failed"));
        let count = counts.entry(line).or_default();
        *count = if failed && of_sets { 1 } else { *count + times };
    }
    let many = u64::try_from(TOO_MANY).unwrap_or(u64::MAX);
    if messages.len() >= TOO_MANY || of_sets && counts.values().any(|count| *count >= many) {
        return TimelineEvents::NotCompared(TimelineEvents::TEN_OR_MORE.to_owned());
    }
    TimelineEvents::All(counts.into_iter().map(|(text, count)| EventLine { text, count }).collect())
}

impl TimelineEvents {
    /// These Events, unless Deployments have too many: only Events of Deployments have a message at
    /// the end of their line.
    pub(crate) fn few(all: Vec<EventLine>) -> Self {
        let messages = all.iter().filter(|line| line.text.ends_with('"')).count();
        if messages < TOO_MANY { Self::All(all) } else { Self::NotCompared(Self::TEN_OR_MORE.to_owned()) }
    }
}

/// `Normal ScalingReplicaSet "…"`, after the Deployment's name if there are several; without its
/// message unless `explained`.
fn line(event: &Value, names: &NormalizedNames, unanswered: bool, explained: bool) -> String {
    let text = |pointer: &str| quote(object::text(event, pointer).unwrap_or("-"));
    let message = names.in_message(object::text(event, "/message").unwrap_or_default());
    let reason = object::text(event, "/reason");
    let message = if unanswered && reason == Some(CREATE_ERROR) { without_cause(&message) } else { message };
    let line = match explained {
        true => format!("{} {} {}", text("/type"), text("/reason"), Value::from(message)),
        false => format!("{} {}", text("/type"), text("/reason")),
    };
    // Who describes a Deployment finds its Events by its UID.
    let is_known = object::text(event, "/involvedObject/uid").is_none_or(|uid| names.deployment(uid).is_some());
    let line = if is_known { line } else { format!("of an unknown UID: {line}") };
    if names.has_several_deployments() { format!("{} {line}", text("/involvedObject/name")) } else { line }
}

/// `Normal SuccessfulCreate rs1`.
fn line_of_set(event: &Value, names: &NormalizedNames) -> String {
    let text = |pointer: &str| quote(object::text(event, pointer).unwrap_or("-"));
    let set = names.replica_set(&json!({"metadata": {"uid": event.at("/involvedObject/uid")}}));
    format!("{} {} {set}", text("/type"), text("/reason"))
}

/// `Failed to create new replica set "rs2": …`: the client's description of a lost answer contains
/// ports and stream numbers, so it is cut.
fn without_cause(message: &str) -> String {
    message.split_once("\": ").map_or_else(|| message.to_owned(), |(what, _)| format!("{what}\": …"))
}

/// How often an Event was reported: its own count, or that of its series.
fn times(event: &Value) -> u64 {
    let count = object::count(event, "/count").max(object::count(event, "/series/count"));
    u64::try_from(count).unwrap_or(0).max(1)
}
