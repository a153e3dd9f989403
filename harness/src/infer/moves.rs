//! What users and nodes did: every version of a recording that no controller can have written.

use std::collections::BTreeSet;

use serde_json::Value;

use super::live::{self, DEPLOYMENT, Live, POD, REPLICA_SET, has_ended, int, is_deleting, ready_since, text, uid};
use super::revisions::Revisions;
use super::timing::{Done, Timers, Wait};
use super::written::{self, Templates, Written};
use crate::pointer::At;
use crate::recording::{Change, Entry, Recording, Version, Writer};

/// Something that no controller did, or a time in which nothing happened.
#[derive(Debug)]
pub(super) struct Happening {
    /// The entry of the recording with which it begins.
    pub(super) entry: usize,
    /// Whether the controllers had settled before.
    pub(super) settled: bool,
    /// The time that has passed before, where time matters.
    pub(super) waited: Option<Wait>,
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

    /// What was done in the entries from `first` on, and what the controllers did because time had passed; and whether they had settled
    /// in the end.
    pub(super) fn all(mut self, recording: &'a Recording, first: usize) -> (Vec<Happening>, bool) {
        let mut all = Vec::new();
        let mut timers = Timers::new(recording);
        for (entry, version) in recording.entries.iter().enumerate().skip(first) {
            let Entry::Object(version) = version else { continue };
            if ![DEPLOYMENT, REPLICA_SET, POD].contains(&version.kind.as_str()) {
                continue;
            }
            let moves = self.of(version);
            let settled = self.live.has_settled();
            let waited = match moves.is_empty() {
                true => timers.due(&self.live, version),
                false => timers.pending(&self.live, version),
            };
            if !moves.is_empty() || waited.is_some() {
                let is_ready = |one: &Move| matches!(one, Move::Pod(PodMove { action: PodAction::Ready, .. }));
                let readies = !moves.is_empty() && moves.iter().all(is_ready);
                let done = Done { readies, settled: settled || waited.is_some() && moves.is_empty() };
                let settled = timers.done(entry, version, done, &self.live);
                all.push(Happening { entry, settled, waited: waited.filter(|_| settled), moves });
            }
            self.live.apply(version);
        }
        (all, self.live.has_settled())
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
                    (_, None) => vec![Written::plain(written::creation(after, after))],
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

    /// A ReplicaSet is the controller's own, unless its managed fields said otherwise when it was recorded, or it is deleted and no
    /// controller deletes such a one.
    fn of_set(&self, version: &Version) -> Option<Written> {
        let before = self.live.sets().into_iter().find(|set| uid(set) == uid(&version.object))?;
        let number = self.live.number(uid(before))?;
        let deleted = version.change == Change::Deleted || is_deleting(&version.object) && !is_deleting(before);
        let is_foreign = if deleted { !self.is_cleaned_up(before) } else { version.by == Writer::Driver };
        if !is_foreign || version.change == Change::Deleted && is_deleting(before) {
            return None;
        }
        if deleted {
            return Some(Written::noted(format!("delete: replicaset/rs{number}"), Some(DELETED.to_owned())));
        }
        let (from, to) = (int(before, "/spec/replicas"), int(&version.object, "/spec/replicas"));
        let step = format!("scale: {{replicaset: rs{number}, replicas: {to}}}");
        let note = Some("written by somebody other than the controller".to_owned());
        (from != to).then(|| Written::noted(step, note))
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
            // A Recreate waits no longer for a pod that has ended, though kubelet removes it later.
            let lasted = self.live.pod(&version.name).is_some_and(|pod| !has_ended(pod)) && is_deleting(after);
            let gone = self.terminates && lasted && (version.change == Change::Deleted || has_ended(after));
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

    /// Whether a controller deletes this ReplicaSet: the Deployment goes, or there are more old ones without pods than its history keeps.
    fn is_cleaned_up(&self, set: &Value) -> bool {
        let Some(deployment) = self.live.deployment().filter(|deployment| !is_deleting(deployment)) else {
            return true;
        };
        let is_old = |set: &Value| live::template(set) != live::template(deployment);
        let is_empty = |set: &Value| int(set, "/spec/replicas") == 0 && int(set, "/status/replicas") == 0;
        let old = self.live.sets().into_iter().filter(|set| is_old(set) && !is_deleting(set)).count();
        let kept = deployment.at("/spec/revisionHistoryLimit").and_then(Value::as_u64).unwrap_or(HISTORY);
        is_old(set) && is_empty(set) && u64::try_from(old).is_ok_and(|old| old > kept)
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

/// What is said of a ReplicaSet that no controller deletes.
const DELETED: &str =
    "deleted by somebody other than the controller, or its labels were changed: a recording shows the two alike";
/// How many old ReplicaSets a Deployment keeps by default.
const HISTORY: u64 = 10;

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
