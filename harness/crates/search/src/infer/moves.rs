//! Finds what users and nodes did: every version of a recording that no controller can have
//! written, and pods that the server refused, as ReplicaSets report them. The recording does not
//! show why, except for a quota, which the message names.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::{ChangeType, ObjectVersion, Recording, RecordingEntry, WriterRole};
use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::foreign;
use super::live::{
    self, DEPLOYMENT, LiveObjects, POD, REPLICA_SET, Revisions, has_ended, int, is_deleting, ready_since, text, uid,
};
use super::step_text::{StepText, flow};
use super::template::CaseTemplates;
use super::timing::{MoveSummary, TimedWait, Timers};
use super::user_writes;

/// Something that no controller did, or a time in which nothing happened.
#[derive(Debug)]
pub(super) struct Happening {
    /// The entry of the recording with which it begins.
    pub(super) entry: usize,
    /// Whether the controllers had settled before.
    pub(super) settled: bool,
    /// The time that passed before, if it matters.
    pub(super) wait: Option<TimedWait>,
    /// What was done; empty if only time passed.
    pub(super) moves: Vec<InferredMove>,
}

impl Happening {
    /// Whether its entry is what was done.
    pub(super) fn is_recorded(&self) -> bool {
        self.moves.iter().any(|one| !matches!(one, InferredMove::Unseen(_)))
    }
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InferredMove {
    /// A user's write.
    User(StepText),
    /// Something in the cluster that the recording lacks.
    Unseen(StepText),
    /// A change of a pod.
    Pod(PodMove),
}

/// A change of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PodMove {
    /// What happened.
    pub(super) action: PodAction,
    /// The number of its ReplicaSet by first appearance.
    pub(super) set: usize,
    /// Its index among the living pods of that ReplicaSet in the case, from 1.
    pub(super) place: usize,
    /// Whether a step that only says how many pods would choose this one.
    pub(super) is_next: bool,
}

/// What happens to a pod without a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodAction {
    Ready,
    Unready,
    Fail,
    Succeed,
    Delete,
    Terminate,
}

/// The living pods of each ReplicaSet, in the order in which the case creates them. A case moves
/// the oldest pod that it can; where another one moved in the recording, the two change places.
#[derive(Debug, Default)]
struct CasePods<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> CasePods<'a> {
    /// The initial pods: the oldest ones become ready first.
    fn of(live: &LiveObjects<'a>) -> Self {
        let pods = |set: &'a Value| live.pods(uid(set)).into_iter().map(uid).collect();
        Self(live.sets().into_iter().map(|set| (uid(set), pods(set))).collect())
    }

    /// The index of a pod, from 1.
    fn place(&self, set: &str, pod: &str) -> usize {
        self.0.get(set).and_then(|pods| pods.iter().position(|known| *known == pod)).unwrap_or(0) + 1
    }

    /// The next version of a pod, and what was done in it. `live` are the objects before.
    /// Returns whether the case moves a pod in another state instead.
    fn apply(&mut self, version: &'a ObjectVersion, found: Option<PodMove>, live: &LiveObjects<'a>) -> bool {
        let pod = &*version.object;
        let Some(set) = live::controller(pod) else { return false };
        let is_alive = version.change != ChangeType::Deleted && live::is_alive(pod);
        let pods = self.0.entry(set).or_default();
        if is_alive && !pods.contains(&uid(pod)) {
            pods.push(uid(pod));
        }
        let Some(mut at) = pods.iter().position(|known| *known == uid(pod)) else { return false };
        let ready: BTreeSet<&str> =
            live.pods(set).into_iter().filter(|pod| ready_since(pod).is_some()).map(uid).collect();
        let is_like = |other: &&str| ready.contains(*other) == ready.contains(uid(pod));
        let action = found.map(|found| found.action);
        let first = match action {
            Some(PodAction::Ready | PodAction::Unready) => pods.iter().position(&is_like),
            Some(PodAction::Fail | PodAction::Succeed) => pods.first().filter(|other| is_like(other)).map(|_| 0),
            _ => None,
        };
        if let Some(first) = first {
            pods.swap(first, at);
            at = first;
        }
        if !is_alive || action == Some(PodAction::Delete) {
            pods.remove(at);
        }
        matches!(action, Some(PodAction::Fail | PodAction::Succeed)) && first.is_none()
    }
}

/// Scans a recording.
pub(super) struct Scan<'a> {
    live: LiveObjects<'a>,
    templates: CaseTemplates,
    pods: CasePods<'a>,
    /// Whether the case has moved another pod than the recording.
    is_other_pod: bool,
    revisions: Revisions,
    /// Whether the end of a deletion is a step of its own.
    terminates: bool,
    /// Pods that the ReplicaSet controller deleted, according to an Event.
    deleted: BTreeSet<&'a str>,
    /// The quota that the ReplicaSets have reached.
    quota: Option<Quota>,
    /// The first version of the Deployment: ReplicaSets may appear before it.
    first: Option<&'a Value>,
}

/// The result of scanning a recording.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    /// In the order of the recording.
    pub(super) happenings: Vec<Happening>,
    /// Whether the controllers had settled in the end.
    pub(super) settled: bool,
    /// The first thing that the recording lacks, and the entry from which on it matters.
    pub(super) unknown: Option<(usize, String)>,
}

impl<'a> Scan<'a> {
    /// Start with these objects.
    pub(super) fn new(
        live: LiveObjects<'a>,
        revisions: Revisions,
        mut templates: CaseTemplates,
        terminates: bool,
        recording: &'a Recording,
    ) -> Self {
        for set in live.sets() {
            templates.number(&live::template(set));
        }
        let first = live::deployments(recording).next();
        let (pods, deleted) = (CasePods::of(&live), deleted_by_controller(recording));
        Self { live, templates, pods, is_other_pod: false, revisions, terminates, deleted, quota: None, first }
    }

    /// What was done in the entries from `first` on, and what the controllers did because time had
    /// passed.
    pub(super) fn scan(mut self, recording: &'a Recording, first: usize) -> ScanResult {
        let mut all = Vec::new();
        let mut unknown = None;
        let mut timers = Timers::new(recording);
        for (entry, version) in recording.entries.iter().enumerate().skip(first) {
            let RecordingEntry::Object(version) = version else { continue };
            if ![DEPLOYMENT, REPLICA_SET, POD].contains(&version.kind.as_str()) {
                continue;
            }
            let moves = self.moves_in(version);
            if std::mem::take(&mut self.is_other_pod) {
                unknown.get_or_insert((entry, OTHER_POD_NOTE.to_owned()));
            }
            let settled = self.live.has_settled();
            let wait = match moves.is_empty() {
                true => timers.due(&self.live, version),
                false => timers.pending(&self.live, version),
            };
            if !moves.is_empty() || wait.is_some() {
                let is_ready =
                    |one: &InferredMove| matches!(one, InferredMove::Pod(PodMove { action: PodAction::Ready, .. }));
                let readies = !moves.is_empty() && moves.iter().all(is_ready);
                let done = MoveSummary { readies, settled: settled || wait.is_some() && moves.is_empty() };
                let settled = timers.done(entry, version, done, &self.live);
                let wait = wait.filter(|_| settled);
                wait.into_iter().for_each(|wait| timers.waits(wait));
                // Without a grace period, a pod has ended with its deletion.
                let ended = moves.iter().find_map(|one| match one {
                    InferredMove::Pod(one) if one.action == PodAction::Delete => Some(*one),
                    _ => None,
                });
                let ended = ended.filter(|_| self.terminates && version.change == ChangeType::Deleted);
                all.push(Happening { entry, settled, wait, moves });
                all.extend(ended.map(|one| {
                    let end = InferredMove::Pod(PodMove { action: PodAction::Terminate, ..one });
                    Happening { entry, settled: false, wait: None, moves: vec![end] }
                }));
            }
            let before = self.live.apply(version);
            let collided = || has_collided(before, version).then(|| COLLISION_NOTE.to_owned());
            if let Some(why) = self.limits(entry, version, before, &mut all).or_else(collided) {
                unknown.get_or_insert((entry, why));
            }
        }
        ScanResult { happenings: all, settled: self.live.has_settled(), unknown }
    }

    /// Insert a quota before the things that reached its limit, and raise it before the things that
    /// exceed it. Returns what the recording lacks about it.
    fn limits(
        &mut self,
        entry: usize,
        version: &ObjectVersion,
        before: Option<&Value>,
        all: &mut Vec<Happening>,
    ) -> Option<String> {
        let unseen_move =
            |step: String, note: &str| vec![InferredMove::Unseen(StepText::noted(step, Some(note.to_owned())))];
        if version.kind == POD && version.change == ChangeType::Added {
            let lifted = self.quota.as_ref().and_then(|quota| quota.without_limit(&self.live))?;
            let moves = unseen_move(lifted.step(), LIFTED_NOTE);
            all.push(Happening { entry, settled: true, wait: None, moves });
            self.quota = None;
            return None;
        }
        if version.kind != REPLICA_SET || version.change == ChangeType::Deleted {
            return None;
        }
        match find_refusal(before, &version.object, &self.live)? {
            PodRefusal::Quota(quota) if self.quota.as_ref() != Some(&quota) => {
                // It existed when the refused thing began.
                let at = all.iter().rposition(|happening| happening.settled).unwrap_or(0);
                let Some(begins) = all.get(at).map(|happening| happening.entry) else {
                    return Some(QUOTA_NOTE.to_owned());
                };
                let moves = unseen_move(quota.step(), QUOTA_NOTE);
                if let Some(first) = all.get_mut(at) {
                    first.settled = true;
                }
                all.insert(at, Happening { entry: begins, settled: true, wait: None, moves });
                self.quota = Some(quota);
                Some(QUOTA_USE_NOTE.to_owned())
            }
            PodRefusal::Quota(_) => None,
            PodRefusal::Other(why) => Some(format!("{UNKNOWN_REFUSAL_NOTE}: {why}")),
        }
    }

    /// What was done in the next version.
    fn moves_in(&mut self, version: &'a ObjectVersion) -> Vec<InferredMove> {
        let after = &*version.object;
        match version.kind.as_str() {
            DEPLOYMENT => {
                let before = self.live.deployment();
                let steps = match (version.change, before) {
                    (ChangeType::Deleted, Some(before)) if !is_deleting(before) => {
                        vec![user_writes::deletion_step(&format!("deployment/{}", version.name), after)]
                    }
                    (ChangeType::Deleted, Some(before)) if !user_writes::finalizers(before).is_empty() => {
                        vec![user_writes::without_finalizers(&format!("deployment/{}", version.name))]
                    }
                    (ChangeType::Deleted, _) => Vec::new(),
                    (_, None) => {
                        self.templates.create(&live::template(after));
                        vec![StepText::plain(user_writes::creation(after, None))]
                    }
                    (_, Some(before)) => {
                        user_writes::user_steps(before, after, &self.live, &mut self.templates, &self.revisions)
                    }
                };
                steps.into_iter().map(InferredMove::User).collect()
            }
            REPLICA_SET => self.of_set(version).into_iter().map(InferredMove::User).collect(),
            _ => {
                let found = self.of_pod(version);
                self.is_other_pod |= self.pods.apply(version, found, &self.live);
                found.into_iter().map(InferredMove::Pod).collect()
            }
        }
    }

    /// What a user did to a ReplicaSet. Its versions are the controller's, unless the managed
    /// fields said otherwise when it was recorded, or it is deleted and no controller deletes such
    /// a ReplicaSet.
    fn of_set(&mut self, version: &ObjectVersion) -> Option<StepText> {
        let Some(before) = self.live.sets().into_iter().find(|set| uid(set) == uid(&version.object)) else {
            // A ReplicaSet that a controller creates has an owner from the beginning.
            let is_foreign = version.change == ChangeType::Added && live::controller(&version.object).is_none();
            let deployment = self.live.deployment().or(self.first).filter(|_| is_foreign)?;
            return Some(foreign::creation_step(&version.object, deployment, &mut self.templates));
        };
        let number = self.live.number(uid(before))?;
        let deleted = version.change == ChangeType::Deleted || is_deleting(&version.object) && !is_deleting(before);
        if version.change == ChangeType::Deleted && is_deleting(before) {
            let is_held = !user_writes::finalizers(before).is_empty();
            return is_held.then(|| user_writes::without_finalizers(&format!("replicaset/rs{number}")));
        }
        let is_users = || {
            let unsigned = version.author.is_none();
            unsigned && foreign::is_user_write(before, &version.object, self.live.deployment())
        };
        let is_foreign =
            if deleted { !self.is_cleaned_up(before) } else { version.by == WriterRole::Driver || is_users() };
        if !is_foreign {
            return None;
        }
        if deleted {
            let step = user_writes::deletion_step(&format!("replicaset/rs{number}"), &version.object).step;
            return Some(StepText::noted(step, Some(DELETED.to_owned())));
        }
        foreign::patch_step((before, &version.object), number, &self.live, &mut self.templates, &self.revisions)
    }

    fn of_pod(&self, version: &'a ObjectVersion) -> Option<PodMove> {
        let after = &*version.object;
        let set = live::controller(after)?;
        let number = self.live.number(set)?;
        let pods = self.live.pods(set);
        let place = self.pods.place(set, uid(after));
        let found = |action, is_next| Some(PodMove { action, set: number, place, is_next });
        let Some(before) = pods.iter().find(|pod| uid(pod) == uid(after)) else {
            if version.change == ChangeType::Added && live::is_alive(after) && ready_since(after).is_some() {
                // It existed before, or its creation is not in the recording.
                return found(PodAction::Ready, false);
            }
            // A Recreate does not wait for a pod that has ended, though kubelet removes it later.
            let lasted = self.live.pod(&version.name).is_some_and(|pod| !has_ended(pod)) && is_deleting(after);
            let is_owned = self.live.sets().into_iter().any(|one| uid(one) == set);
            let gone =
                self.terminates && lasted && is_owned && (version.change == ChangeType::Deleted || has_ended(after));
            return if gone { found(PodAction::Terminate, false) } else { None };
        };
        if version.change == ChangeType::Deleted || is_deleting(after) {
            let is_other = version.by == WriterRole::Driver || !self.is_by_controller(before, set, pods.len());
            return if is_other { found(PodAction::Delete, false) } else { None };
        }
        if self.is_selected(before, set) && !self.is_selected(after, set) {
            // Its ReplicaSet releases it and creates another one.
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

    /// Whether a controller deletes this ReplicaSet: the Deployment is deleted, or there are more
    /// old ones without pods than its history limit.
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

    /// The number of the newest ReplicaSet with an unready pod.
    fn newest_unready(&self) -> Option<usize> {
        let waits = |set: &&Value| self.live.pods(uid(set)).iter().any(|pod| ready_since(pod).is_none());
        self.live.sets().into_iter().rev().find(waits).and_then(|set| self.live.number(uid(set)))
    }

    /// Whether a controller deletes this pod of a ReplicaSet with this many pods: an Event says so,
    /// there are too many, or its owners are deleted.
    fn is_by_controller(&self, pod: &Value, set: &str, pods: usize) -> bool {
        let owner = self.live.sets().into_iter().find(|one| uid(one) == set);
        let goes = |object: Option<&Value>| object.is_none_or(is_deleting);
        let wanted = owner.map_or(0, |set| int(set, "/spec/replicas"));
        self.deleted.contains(text(pod, "/metadata/name"))
            || goes(owner)
            // Objects that a deleted Deployment leaves behind remain.
            || owner.is_some_and(|set| live::controller(set).is_some()) && goes(self.live.deployment())
            || i64::try_from(pods).is_ok_and(|pods| pods > wanted)
    }
}

/// The note at a ReplicaSet that no controller deletes.
const DELETED: &str = "deleted by a client other than the controller";
/// The default history limit of a Deployment.
const HISTORY: u64 = 10;

/// From Events of the ReplicaSet controller: `Deleted pod: web-5d4-x7z`.
fn deleted_by_controller(recording: &Recording) -> BTreeSet<&str> {
    let messages = recording.entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Object(version)
            if version.kind == "Event" && text(&version.object, "/reason") == "SuccessfulDelete" =>
        {
            text(&version.object, "/message").strip_prefix("Deleted pod: ")
        }
        _ => None,
    });
    messages.collect()
}

/// Whether the name of a new ReplicaSet was taken.
fn has_collided(before: Option<&Value>, version: &ObjectVersion) -> bool {
    let collisions = |object: &Value| int(object, "/status/collisionCount");
    version.kind == DEPLOYMENT && before.is_some_and(|before| collisions(before) < collisions(&version.object))
}

/// A limit of the number of pods.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Quota {
    name: String,
    /// The most pods that the ReplicaSets of the recording may have.
    pods: i64,
}

/// Why pods were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PodRefusal {
    Quota(Quota),
    /// For another reason, in the server's words.
    Other(String),
}

/// Why a ReplicaSet could not create a pod, if this version is the first to report it.
fn find_refusal(before: Option<&Value>, after: &Value, live: &LiveObjects<'_>) -> Option<PodRefusal> {
    let reported = refusal_message(after)?;
    if before.and_then(refusal_message).is_some_and(|known| without_pod(known) == without_pod(reported)) {
        return None;
    }
    let quota = quota(reported, live).map(PodRefusal::Quota);
    Some(quota.unwrap_or_else(|| PodRefusal::Other(reported.to_owned())))
}

impl Quota {
    /// The step that creates it.
    fn step(&self) -> String {
        let manifest = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": self.name},
            "spec": {"hard": {"pods": self.pods.to_string()}}});
        format!("apply: {}", flow(&manifest))
    }

    /// The same quota without an effective limit, if there are more pods than it allows.
    fn without_limit(&self, live: &LiveObjects<'_>) -> Option<Self> {
        (counted_pods(live) > self.pods).then(|| Self { pods: ENOUGH, ..self.clone() })
    }
}

/// The note at an inferred quota.
const QUOTA_NOTE: &str = "quotas are not recorded; a ReplicaSet reports that this one refused its pods";
/// The note at a quota that no longer applies.
const LIFTED_NOTE: &str = "quotas are not recorded; there are more pods than the one before allows";
/// The note about the use of a quota.
const QUOTA_USE_NOTE: &str = "a quota refused pods; how much of it was used at which time is not recorded";
/// The note about other refusals.
const UNKNOWN_REFUSAL_NOTE: &str = "pods were refused, and a recording does not show by what";
/// The note at a pod that ended, if the case ends another one.
const OTHER_POD_NOTE: &str = "a pod ended while an older one was not as ready as it; a case ends the oldest one";
/// The note about a collision of names.
const COLLISION_NOTE: &str = "the name of a new ReplicaSet was taken, and a recording does not show by what";
/// More pods than a case has.
const ENOUGH: i64 = 1000;

/// Parses `pods "web-5d4-x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=4,
/// limited: pods=4`, if it limits only pods.
fn quota(message: &str, live: &LiveObjects<'_>) -> Option<Quota> {
    let (_, rest) = message.split_once("exceeded quota: ")?;
    let (name, rest) = rest.split_once(", requested: ")?;
    let (_, rest) = rest.split_once(", used: ")?;
    let (used, limited) = rest.split_once(", limited: ")?;
    let number = |text: &str| text.strip_prefix("pods=")?.trim().parse::<i64>().ok();
    // Other pods use a part of it. Ended pods may still be counted then.
    let others = (number(used)? - count_pods(live.all(POD))).max(0);
    Some(Quota { name: name.to_owned(), pods: (number(limited)? - others).max(0) })
}

/// How many pods a quota counts.
fn counted_pods(live: &LiveObjects<'_>) -> i64 {
    count_pods(live.all(POD).filter(|pod| !has_ended(pod)))
}

fn count_pods<'a>(pods: impl Iterator<Item = &'a Value>) -> i64 {
    i64::try_from(pods.count()).unwrap_or(i64::MAX)
}

/// A ReplicaSet's message about pods that it could not create.
fn refusal_message(set: &Value) -> Option<&str> {
    let all = set.at("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| text(condition, "/type") == "ReplicaFailure")?;
    let failed = text(found, "/status") == "True" && text(found, "/reason") == "FailedCreate";
    failed.then(|| text(found, "/message"))
}

/// A message without the name of the pod, which differs in each attempt.
fn without_pod(message: &str) -> &str {
    message.split_once("\" is ").map_or(message, |(_, rest)| rest)
}
