//! What users and nodes did: every version of a recording that no controller can have written.

use std::collections::BTreeSet;

use serde_json::Value;

use super::live::{self, DEPLOYMENT, Live, POD, REPLICA_SET, int, is_deleting, ready_since, text, uid};
use super::revisions::Revisions;
use super::written::{self, Templates, Written};
use crate::recording::{Change, Entry, Recording, Version, Writer};

/// Something that no controller did, or a time in which nothing happened.
#[derive(Debug)]
pub(super) struct Happening {
    /// The entry of the recording with which it begins.
    pub(super) entry: usize,
    /// Whether the controllers had settled before.
    pub(super) settled: bool,
    /// For how many seconds nothing had happened before, where time matters.
    pub(super) waited: Option<u64>,
    /// What was done; nothing where only time has passed.
    pub(super) moves: Vec<Move>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Move {
    /// By a user.
    User(Written),
    /// To a pod.
    Pod(PodMove),
}

/// What became of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PodMove {
    /// What.
    pub(super) action: PodAction,
    /// The number of its ReplicaSet by first appearance.
    pub(super) set: usize,
    /// Its place among the living pods of that ReplicaSet, from 1.
    pub(super) place: usize,
    /// Whether a case means this pod when it says no more than how many.
    pub(super) is_next: bool,
}

/// What becomes of a pod without a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodAction {
    Ready,
    Unready,
    Fail,
    Succeed,
    Delete,
    Terminate,
}

/// Goes through a recording.
pub(super) struct Scan<'a> {
    live: Live<'a>,
    templates: Templates,
    revisions: Revisions,
    /// Whether the end of a deletion is a step of its own.
    terminates: bool,
    /// Pods of which an Event says that the ReplicaSet controller deleted them.
    deleted: BTreeSet<&'a str>,
}

impl<'a> Scan<'a> {
    /// From this state on.
    pub(super) fn new(live: Live<'a>, revisions: Revisions, terminates: bool, recording: &'a Recording) -> Self {
        let mut templates = Templates::default();
        for set in live.sets() {
            templates.number(&live::template(set));
        }
        Self { live, templates, revisions, terminates, deleted: deleted_by_controller(recording) }
    }

    /// What was done in the entries from `first` on. With `timed` a second or more without anything is told as well.
    pub(super) fn all(mut self, recording: &'a Recording, first: usize, timed: bool) -> Vec<Happening> {
        let mut all = Vec::new();
        let mut last = None;
        for (entry, version) in recording.entries.iter().enumerate().skip(first) {
            let Entry::Object(version) = version else { continue };
            if ![DEPLOYMENT, REPLICA_SET, POD].contains(&version.kind.as_str()) {
                continue;
            }
            let moves = self.of(version);
            let quiet = version.at.saturating_sub(last.unwrap_or(version.at));
            let waits = timed && quiet >= SECOND;
            last = Some(version.at);
            if !moves.is_empty() || waits {
                let settled = self.live.has_settled();
                let waited = (waits && settled).then(|| quiet.div_ceil(SECOND));
                all.push(Happening { entry, settled, waited, moves });
            }
            self.live.apply(version);
        }
        all
    }

    /// What was done in a version that is still to come.
    fn of(&mut self, version: &'a Version) -> Vec<Move> {
        let after = &*version.object;
        match version.kind.as_str() {
            DEPLOYMENT => {
                let before = self.live.deployment();
                let written = match (version.change, before) {
                    (Change::Deleted, Some(before)) if !is_deleting(before) => vec![written::deleted(after)],
                    (Change::Deleted, _) => Vec::new(),
                    (_, None) => vec![Written { step: written::creation(after, after), note: None }],
                    (_, Some(before)) => {
                        written::written(before, after, &self.live, &mut self.templates, &self.revisions)
                    }
                };
                written.into_iter().map(Move::User).collect()
            }
            REPLICA_SET => self.of_set(version).into_iter().map(Move::User).collect(),
            _ => self.of_pod(version).into_iter().map(Move::Pod).collect(),
        }
    }

    /// A ReplicaSet is the controller's own, unless its managed fields said otherwise when it was recorded.
    fn of_set(&self, version: &Version) -> Option<Written> {
        let before = self.live.sets().into_iter().find(|set| uid(set) == uid(&version.object))?;
        let number = self.live.number(uid(before))?;
        if version.by != Writer::Driver {
            return None;
        }
        let note = Some("written by somebody other than the controller".to_owned());
        if version.change == Change::Deleted {
            return Some(Written { step: format!("delete: replicaset/rs{number}"), note });
        }
        let (from, to) = (int(before, "/spec/replicas"), int(&version.object, "/spec/replicas"));
        let step = format!("scale: {{replicaset: rs{number}, replicas: {to}}}");
        (from != to).then_some(Written { step, note })
    }

    fn of_pod(&self, version: &'a Version) -> Option<PodMove> {
        let after = &*version.object;
        let set = live::controller(after)?;
        let number = self.live.number(set)?;
        let pods = self.live.pods(set);
        let place = pods.iter().position(|pod| uid(pod) == uid(after));
        let before = place.map(|at| pods[at]);
        let found = |action, is_next| Some(PodMove { action, set: number, place: place.unwrap_or(0) + 1, is_next });
        let Some(before) = before else {
            // Seen going, or not seen before.
            let gone = version.change == Change::Deleted && self.terminates && is_deleting(after);
            return if gone { found(PodAction::Terminate, false) } else { None };
        };
        if version.change == Change::Deleted || is_deleting(after) {
            let is_other = version.by == Writer::Driver || !self.is_by_controller(before, set, pods.len());
            return if is_other { found(PodAction::Delete, false) } else { None };
        }
        match text(after, "/status/phase") {
            "Failed" => return found(PodAction::Fail, false),
            "Succeeded" => return found(PodAction::Succeed, false),
            _ => {}
        }
        match (ready_since(before), ready_since(after)) {
            (None, Some(_)) => found(PodAction::Ready, self.newest_unready() == Some(number)),
            (Some(_), None) => found(PodAction::Unready, false),
            _ => None,
        }
    }

    /// The number of the newest ReplicaSet that has a pod which is not ready.
    fn newest_unready(&self) -> Option<usize> {
        let waits = |set: &&Value| self.live.pods(uid(set)).iter().any(|pod| ready_since(pod).is_none());
        self.live.sets().into_iter().rev().find(waits).and_then(|set| self.live.number(uid(set)))
    }

    /// Whether a controller deletes this pod of a ReplicaSet that has so many: an Event says so, there are too many, or its owners go.
    fn is_by_controller(&self, pod: &Value, set: &str, pods: usize) -> bool {
        let owner = self.live.sets().into_iter().find(|one| uid(one) == set);
        let goes = |object: Option<&Value>| object.is_none_or(is_deleting);
        let wanted = owner.map_or(0, |set| int(set, "/spec/replicas"));
        self.deleted.contains(text(pod, "/metadata/name"))
            || goes(owner)
            || goes(self.live.deployment())
            || i64::try_from(pods).is_ok_and(|pods| pods > wanted)
    }
}

/// Shorter silences are not told as time that passed, in milliseconds.
const SECOND: u64 = 1000;

/// `Deleted pod: web-5d4-x7z`, as the ReplicaSet controller reports it.
fn deleted_by_controller(recording: &Recording) -> BTreeSet<&str> {
    let messages = recording.entries.iter().filter_map(|entry| match entry {
        Entry::Object(version) if version.kind == "Event" && text(&version.object, "/reason") == "SuccessfulDelete" => {
            text(&version.object, "/message").strip_prefix("Deleted pod: ")
        }
        _ => None,
    });
    messages.collect()
}
