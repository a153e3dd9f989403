//! The Events as one sorted multiset: the Deployments', and where the ReplicaSet controller is
//! judged the ReplicaSets' too. Events lag behind decisions and are aggregated at random from the
//! tenth distinct one on, so they are compared once, at the end, and only if there are few.
//!
//! A ReplicaSet's are counted by their reason, as their messages name pods. How often something
//! failed is a matter of how fast it was tried again: that it did is all that is told.
//!
//! Where config restarts are judged, Events of others than the Deployment controller are counted by
//! their reason too: how a controller explains a restart is its own affair.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::model::{EventLine, Events};
use super::names::Names;
use super::object;
use super::token::quote;
use super::world::{DEPLOYMENT, EVENT, REPLICA_SET};
use crate::controllers::Controller;
use crate::pointer::At;
use crate::recording::{Effect, Entry, Recording};

/// From so many distinct Events in ten minutes on, client-go aggregates them.
const TOO_MANY: usize = 10;
/// What the Deployment controller calls itself in its Events.
const DEPLOYMENT_CONTROLLER: &str = "deployment-controller";
/// The reason of an Event that quotes why a ReplicaSet could not be made.
const CREATE_ERROR: &str = "ReplicaSetCreateError";

/// The Events of a recording.
pub(super) fn take(recording: &Recording, names: &Names) -> Events {
    if !recording.end.as_ref().is_some_and(|end| end.events_complete) {
        return Events::NotCompared("the recording may lack some".to_owned());
    }
    let of_sets = recording.header.judged.has(Controller::ReplicaSet);
    // One for each pod: some are still on their way when it is killed.
    if of_sets
        && recording
            .entries
            .iter()
            .any(|entry| matches!(entry, Entry::Met(meeting) if meeting.effect == Effect::Killed))
    {
        return Events::NotCompared("a controller that is killed leaves some unwritten".to_owned());
    }
    let is_about = |event: &Value| {
        let kind = object::text(event, "/involvedObject/kind");
        kind == Some(DEPLOYMENT) || of_sets && kind == Some(REPLICA_SET)
    };
    let mut last: BTreeMap<&str, Arc<Value>> = BTreeMap::new();
    for entry in &recording.entries {
        if let Entry::Object(version) = entry
            && version.kind == EVENT
            && let event = version.object.value()
            && is_about(&event)
        {
            last.insert(&version.name, event);
        }
    }
    let of_restarts = recording.header.judged.has(Controller::ConfigRestart);
    let unanswered = recording
        .entries
        .iter()
        .any(|entry| matches!(entry, Entry::Met(meeting) if meeting.effect == Effect::Unanswered));
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
        return Events::NotCompared(Events::TEN_OR_MORE.to_owned());
    }
    Events::All(counts.into_iter().map(|(text, count)| EventLine { text, count }).collect())
}

impl Events {
    /// These, unless more of them are of Deployments than repeat: only their lines end with a
    /// message.
    pub(crate) fn few(all: Vec<EventLine>) -> Self {
        let messages = all.iter().filter(|line| line.text.ends_with('"')).count();
        if messages < TOO_MANY { Self::All(all) } else { Self::NotCompared(Self::TEN_OR_MORE.to_owned()) }
    }
}

/// `Normal ScalingReplicaSet "…"`, after the Deployment's name where there are several; without its
/// message unless that is wanted.
fn line(event: &Value, names: &Names, unanswered: bool, explained: bool) -> String {
    let text = |pointer: &str| quote(object::text(event, pointer).unwrap_or("-"));
    let message = names.in_message(object::text(event, "/message").unwrap_or_default());
    let reason = object::text(event, "/reason");
    let message = if unanswered && reason == Some(CREATE_ERROR) { without_cause(&message) } else { message };
    let line = match explained {
        true => format!("{} {} {}", text("/type"), text("/reason"), Value::from(message)),
        false => format!("{} {}", text("/type"), text("/reason")),
    };
    if names.several() { format!("{} {line}", text("/involvedObject/name")) } else { line }
}

/// `Normal SuccessfulCreate rs1`.
fn line_of_set(event: &Value, names: &Names) -> String {
    let text = |pointer: &str| quote(object::text(event, pointer).unwrap_or("-"));
    let set = names.replica_set(&json!({"metadata": {"uid": event.at("/involvedObject/uid")}}));
    format!("{} {} {set}", text("/type"), text("/reason"))
}

/// `Failed to create new replica set "rs2": …`: what a client says of a lost answer is its own,
/// down to the numbers of ports and streams; that it says so is not.
fn without_cause(message: &str) -> String {
    message.split_once("\": ").map_or_else(|| message.to_owned(), |(what, _)| format!("{what}\": …"))
}

/// How often an Event was reported: its count, or its series'.
fn times(event: &Value) -> u64 {
    let count = object::count(event, "/count").max(object::count(event, "/series/count"));
    u64::try_from(count).unwrap_or(0).max(1)
}
