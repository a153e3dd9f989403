//! What users and nodes did: every version of a recording that no controller can have written.

use std::collections::BTreeSet;

use serde_json::Value;

use super::foreign;
use super::live::{self, DEPLOYMENT, Live, POD, REPLICA_SET, has_ended, int, is_deleting, ready_since, text, uid};
use super::refused::{self, Quota, Refusal, refused};
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

impl Happening {
    /// Whether its entry is what was done.
    pub(super) fn is_recorded(&self) -> bool {
        self.moves.iter().any(|one| !matches!(one, Move::Unseen(_)))
    }
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Move {
    /// By a user.
    User(Written),
    /// In the cluster, by what the recording does not have.
    Unseen(Written),
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
    /// The quota that the ReplicaSets have met.
    quota: Option<Quota>,
    /// The Deployment as it was first seen: ReplicaSets may come before it.
    first: Option<&'a Value>,
}

/// What was done in a recording.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// In the order in which it was seen.
    pub(super) happenings: Vec<Happening>,
    /// Whether the controllers had settled in the end.
    pub(super) settled: bool,
    /// The first thing that a recording does not have, and the entry from which on it matters.
    pub(super) unseen: Option<(usize, String)>,
}

impl<'a> Scan<'a> {
    /// From this state on.
    pub(super) fn new(live: Live<'a>, revisions: Revisions, terminates: bool, recording: &'a Recording) -> Self {
        let mut templates = Templates::default();
        for set in live.sets() {
            templates.number(&live::template(set));
        }
        let first = live::deployments(recording).next();
        Self { live, templates, revisions, terminates, deleted: deleted_by_controller(recording), quota: None, first }
    }

    /// What was done in the entries from `first` on, and what the controllers did because time had
    /// passed.
    pub(super) fn all(mut self, recording: &'a Recording, first: usize) -> Scanned {
        let mut all = Vec::new();
        let mut unseen = None;
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
                let waited = waited.filter(|_| settled);
                waited.into_iter().for_each(|wait| timers.waits(wait));
                all.push(Happening { entry, settled, waited, moves });
            }
            let before = self.live.apply(version);
            if let Some(why) = self.limits(entry, version, before, &mut all) {
                unseen.get_or_insert((entry, why));
            }
        }
        Scanned { happenings: all, settled: self.live.has_settled(), unseen }
    }

    /// Puts a quota before what came to its limit, and lifts it before what is over it. Returns
    /// what of it is not recorded.
    fn limits(
        &mut self,
        entry: usize,
        version: &Version,
        before: Option<&Value>,
        all: &mut Vec<Happening>,
    ) -> Option<String> {
        let unseen = |step: String, note: &str| vec![Move::Unseen(Written::noted(step, Some(note.to_owned())))];
        if version.kind == POD && version.change == Change::Added {
            let lifted = self.quota.as_ref().and_then(|quota| quota.lifted(&self.live))?;
            let moves = unseen(lifted.step(), refused::LIFTED);
            all.push(Happening { entry, settled: true, waited: None, moves });
            self.quota = None;
            return None;
        }
        if version.kind != REPLICA_SET || version.change == Change::Deleted {
            return None;
        }
        match refused(before, &version.object, &self.live)? {
            Refusal::Quota(quota) if self.quota.as_ref() != Some(&quota) => {
                // It was there when that began which it stopped.
                let at = all.iter().rposition(|happening| happening.settled).unwrap_or(0);
                let Some(begins) = all.get(at).map(|happening| happening.entry) else {
                    return Some(refused::QUOTA.to_owned());
                };
                let moves = unseen(quota.step(), refused::QUOTA);
                if let Some(first) = all.get_mut(at) {
                    first.settled = true;
                }
                all.insert(at, Happening { entry: begins, settled: true, waited: None, moves });
                self.quota = Some(quota);
                Some(refused::USE.to_owned())
            }
            Refusal::Quota(_) => None,
            Refusal::Other(why) => Some(format!("{}: {why}", refused::UNKNOWN)),
        }
    }

    /// What was done in a version that is still to come.
    fn of(&mut self, version: &'a Version) -> Vec<Move> {
        let after = &*version.object;
        match version.kind.as_str() {
            DEPLOYMENT => {
                let before = self.live.deployment();
                let written = match (version.change, before) {
                    (Change::Deleted, Some(before)) if !is_deleting(before) => vec![written::deleted(after)],
                    (Change::Deleted, Some(before)) if !written::finalizers(before).is_empty() => {
                        vec![written::without_finalizers(&format!("deployment/{}", version.name))]
                    }
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

    /// A ReplicaSet is the controller's own, unless its managed fields said otherwise when it was
    /// recorded, or it is deleted and no controller deletes such a one.
    fn of_set(&mut self, version: &Version) -> Option<Written> {
        let Some(before) = self.live.sets().into_iter().find(|set| uid(set) == uid(&version.object)) else {
            // What a controller makes has an owner from the beginning.
            let is_foreign = version.change == Change::Added && live::controller(&version.object).is_none();
            let deployment = self.live.deployment().or(self.first).filter(|_| is_foreign)?;
            return Some(foreign::created(&version.object, deployment, &mut self.templates));
        };
        let number = self.live.number(uid(before))?;
        let deleted = version.change == Change::Deleted || is_deleting(&version.object) && !is_deleting(before);
        if version.change == Change::Deleted && is_deleting(before) {
            let is_held = !written::finalizers(before).is_empty();
            return is_held.then(|| written::without_finalizers(&format!("replicaset/rs{number}")));
        }
        let is_users = || {
            let unsigned = version.author.is_none();
            unsigned && foreign::is_users(before, &version.object, self.live.deployment())
        };
        let is_foreign = if deleted { !self.is_cleaned_up(before) } else { version.by == Writer::Driver || is_users() };
        if !is_foreign {
            return None;
        }
        if deleted {
            return Some(Written::noted(format!("delete: replicaset/rs{number}"), Some(DELETED.to_owned())));
        }
        foreign::patched((before, &version.object), number, &self.live, &mut self.templates, &self.revisions)
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
            if version.change == Change::Added && live::is_alive(after) && ready_since(after).is_some() {
                // It was there before, or its beginning was not seen.
                return found(PodAction::Ready, false);
            }
            // A Recreate waits no longer for a pod that has ended, though kubelet removes it later.
            let lasted = self.live.pod(&version.name).is_some_and(|pod| !has_ended(pod)) && is_deleting(after);
            let gone = self.terminates && lasted && (version.change == Change::Deleted || has_ended(after));
            return if gone { found(PodAction::Terminate, false) } else { None };
        };
        if version.change == Change::Deleted || is_deleting(after) {
            let is_other = version.by == Writer::Driver || !self.is_by_controller(before, set, pods.len());
            return if is_other { found(PodAction::Delete, false) } else { None };
        }
        if self.is_selected(before, set) && !self.is_selected(after, set) {
            // Its ReplicaSet lets go of it, and makes another in its place.
            return found(PodAction::Delete, false);
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

    /// Whether the selector of this ReplicaSet matches a pod.
    fn is_selected(&self, pod: &Value, set: &str) -> bool {
        let owner = self.live.sets().into_iter().find(|one| uid(one) == set);
        let selector = owner.and_then(|set| set.at("/spec/selector/matchLabels")).and_then(Value::as_object);
        let labels = pod.at("/metadata/labels");
        selector
            .is_none_or(|all| all.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value)))
    }

    /// Whether a controller deletes this ReplicaSet: the Deployment goes, or there are more old
    /// ones without pods than its history keeps.
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

    /// Whether a controller deletes this pod of a ReplicaSet that has so many: an Event says so,
    /// there are too many, or its owners go.
    fn is_by_controller(&self, pod: &Value, set: &str, pods: usize) -> bool {
        let owner = self.live.sets().into_iter().find(|one| uid(one) == set);
        let goes = |object: Option<&Value>| object.is_none_or(is_deleting);
        let wanted = owner.map_or(0, |set| int(set, "/spec/replicas"));
        self.deleted.contains(text(pod, "/metadata/name"))
            || goes(owner)
            // Nothing of what a Deployment left behind goes with it.
            || owner.is_some_and(|set| live::controller(set).is_some()) && goes(self.live.deployment())
            || i64::try_from(pods).is_ok_and(|pods| pods > wanted)
    }
}

/// What is said of a ReplicaSet that no controller deletes.
const DELETED: &str = "deleted by somebody other than the controller";
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
