//! The invariants that hold at every frame of every case, one small function each.
//!
//! An invariant is checked when another writer than the driver wrote a version. Each one is as
//! strict as upstream proves to be in every program of a search, and no stricter. A bound that a
//! user's operation breaks is excused until the next settling. What upstream's own recording breaks
//! is in the golden timeline, and is not a finding there.
//!
//! `silence` is about the end of a recording: the subject writes nothing after the last step has
//! settled, except Events. The recording continues for a while to catch late Events. The subject
//! must report what changes by time alone: pods become available after minReadySeconds, and
//! progress deadlines pass. A recording with such a change is not judged.
//!
//! A [`LiveWrite`] is one write on a live cluster, where no recording begins or ends. The checks
//! are the same. The caller decides who wrote it, and whether the writer could have known better.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_recording::{ChangeType, ObjectVersion, Recording, RecordingEntry, StepMark, SubjectRequest, WriterRole};
use lockstep_workload::Workload;
use serde_json::Value;

use super::bounds::Bounds;
use super::checkpoint::{has_available_new_set, is_complete, is_paused, observes_generation};
use super::model::{Invariant, InvariantBreach};
use super::names::NormalizedNames;
use super::object;
use super::recorded_objects::{DEPLOYMENT, REPLICA_SET, RecordedObject, RecordedObjects};

/// A version that was written, with the objects after it.
pub(super) struct WriteContext<'a> {
    pub(super) world: &'a RecordedObjects<'a>,
    pub(super) before: Option<&'a Value>,
    pub(super) version: &'a ObjectVersion,
    pub(super) names: &'a NormalizedNames,
}

/// What the invariants remember between frames.
#[derive(Debug, Default)]
pub(super) struct InvariantState {
    /// Bounds that a user's operation broke, by Deployment, until the next settling.
    excused: BTreeSet<(String, Invariant)>,
    /// The widest bounds that Deployments had before operations during the subject's work, until
    /// the next settling: a decision by these bounds may be written later.
    widest_bounds: BTreeMap<String, Bounds>,
    /// Whether the subject may be working: there was an operation or an intercepted request since
    /// the last settling.
    may_be_working: bool,
    /// Whether the subject may decide from an old view until the next settling: it may count pods
    /// that are gone, miss new ones, or number a revision without the newest ReplicaSet.
    stale: bool,
    /// Deployments that have been paused since before the step.
    paused: BTreeSet<String>,
    /// Deployments that are paused now.
    paused_now: BTreeSet<String>,
    /// The most available pods that each ReplicaSet has reported, by UID.
    most_available: BTreeMap<String, i64>,
    /// Whether a ReplicaSet was deleted since the last settling: a status may still count it.
    has_lost_sets: bool,
    /// Whether the step is a user's.
    user: bool,
    /// Invariants that the kind in place of Deployments does not promise.
    unpromised: BTreeSet<Invariant>,
}

impl InvariantState {
    /// A state in which only these Deployments are known to have been paused.
    pub(super) fn while_paused(paused: BTreeSet<String>) -> Self {
        Self { paused, ..Self::default() }
    }

    /// A state for what this kind promises, which is in place of Deployments.
    pub(super) fn for_workload(workload: &Workload) -> Self {
        let unclaimed = Invariant::ALL.into_iter().filter(|invariant| !workload.claims_invariant(invariant.name()));
        Self { unpromised: unclaimed.collect(), ..Self::default() }
    }

    /// Whether this invariant is checked.
    pub(super) fn judges(&self, invariant: Invariant) -> bool {
        !self.unpromised.contains(&invariant)
    }

    pub(super) fn begin_step(&mut self, mark: &StepMark) {
        self.user = mark.user;
        self.stale |= mark.stale;
        self.paused.clone_from(&self.paused_now);
    }

    /// Records a version of any writer.
    pub(super) fn record_version(&mut self, version: &ObjectVersion) {
        if version.kind == REPLICA_SET {
            let reported = object::count(&version.object, "/status/availableReplicas");
            let most = self.most_available.entry(object::uid(&version.object).to_owned()).or_default();
            *most = reported.max(*most);
            self.has_lost_sets |= version.change == ChangeType::Deleted;
        }
        if version.kind != DEPLOYMENT {
            return;
        }
        if version.change != ChangeType::Deleted && is_paused(&version.object) {
            self.paused_now.insert(version.name.clone());
        } else {
            // A decision may have been made while the Deployment was briefly resumed.
            self.paused_now.remove(&version.name);
            self.paused.remove(&version.name);
        }
    }

    /// The namespace has settled: nothing is excused any more.
    pub(super) fn reset(&mut self) {
        self.excused.clear();
        self.widest_bounds.clear();
        (self.may_be_working, self.stale, self.has_lost_sets) = (false, false, false);
    }

    /// Records that a request of the subject was intercepted.
    pub(super) fn record_injection(&mut self) {
        self.may_be_working = true;
    }

    /// Records a user's version, or another writer's version of what only users change: the bounds
    /// that it broke are excused. `before` are those of the affected Deployments that were broken
    /// before.
    pub(super) fn record_operation(
        &mut self,
        (version, was): (&ObjectVersion, Option<&Value>),
        affected: &BTreeSet<String>,
        before: &BTreeSet<(String, Invariant)>,
        world: &RecordedObjects<'_>,
    ) {
        if version.by == WriterRole::Driver && !self.user {
            return;
        }
        if let Some(was) = was.filter(|_| self.may_be_working && version.kind == DEPLOYMENT) {
            let was = Bounds::of(was);
            self.widest_bounds
                .entry(version.name.clone())
                .and_modify(|bounds| *bounds = bounds.widen(was))
                .or_insert(was);
        }
        self.may_be_working = true;
        self.excused.extend(broken_in(world, affected).difference(before).cloned());
        let is_sized = version.kind == REPLICA_SET
            && was.is_some_and(|was| object::replicas(was) != object::replicas(&version.object));
        // Upstream uses annotations, which do not record a size that another writer has set.
        for name in affected.iter().filter(|_| is_sized) {
            let both = [Invariant::Surge, Invariant::Availability];
            self.excused.extend(both.map(|invariant| (name.clone(), invariant)));
        }
    }

    /// The invariants that a version of another writer than the driver breaks.
    pub(super) fn find_breaches(&self, frame: &WriteContext<'_>) -> Vec<InvariantBreach> {
        let excused = |invariant| {
            let by_view = [Invariant::Surge, Invariant::Availability, Invariant::Revision, Invariant::Completion];
            if self.stale && by_view.contains(&invariant) {
                return true;
            }
            let deployment = frame.world.deployment_of(&frame.version.object).map(object::name);
            deployment.is_some_and(|name| self.excused.contains(&(name.to_owned(), invariant)))
        };
        let invariants: [(Invariant, Option<String>); 7] = [
            (Invariant::Surge, self.surge(frame)),
            (Invariant::Availability, self.availability(frame)),
            (Invariant::OneTemplate, duplicate_template(frame)),
            (Invariant::Revision, revision(frame)),
            (Invariant::Ownership, ownership(frame)),
            (Invariant::Paused, while_paused(frame, &self.paused)),
            (Invariant::Completion, self.completion(frame)),
        ];
        invariants
            .into_iter()
            .filter_map(|(invariant, detail)| Some(InvariantBreach { invariant, detail: detail? }))
            .filter(|breach| self.judges(breach.invariant) && !excused(breach.invariant))
            .collect()
    }

    /// The widest of the bounds that a Deployment has now, and had when this version may have been
    /// decided.
    fn bounds(&self, deployment: &Value) -> Bounds {
        let now = Bounds::of(deployment);
        self.widest_bounds.get(object::name(deployment)).map_or(now, |earlier| now.widen(*earlier))
    }

    /// A write that raises a ReplicaSet keeps the total within replicas + maxSurge (Recreate:
    /// within replicas). The invariant does not apply in the middle of proportional scaling, when
    /// one ReplicaSet is raised before another is lowered: that is while another ReplicaSet still
    /// has a size for another number of replicas. Source: the API's documentation of `maxSurge`,
    /// and upstream's `isScalingEvent`.
    fn surge(&self, frame: &WriteContext<'_>) -> Option<String> {
        let after = frame.replica_set()?;
        let raised = object::replicas(after) > frame.before.map_or(0, object::replicas);
        let deployment = frame.world.deployment_of(after).filter(|_| raised)?;
        let is_of_another_number =
            |set| object::desired_replicas(set).is_some_and(|desired| desired != object::replicas(deployment));
        let is_another = |set: &&Value| object::uid(set) != object::uid(after) && object::replicas(set) > 0;
        let mut others = frame.world.controlled(REPLICA_SET, deployment).filter(is_another);
        if others.any(is_of_another_number) {
            return None;
        }
        let total: i64 =
            frame.world.controlled(REPLICA_SET, deployment).map(|set| i64::from(object::replicas(set))).sum();
        let most = self.bounds(deployment).most;
        let name = object::name(deployment);
        (total > most).then(|| format!("{name} wants {total} pods in all, at most {most} allowed"))
    }

    /// A write that lowers a ReplicaSet does not reduce availability below replicas −
    /// maxUnavailable, or further below. The invariant does not apply while more pods are desired
    /// than replicas + maxSurge: if the Deployment is paused or scaled then, its ReplicaSets are
    /// reduced in proportion, whichever are available. A ReplicaSet keeps as many available pods as
    /// it has and wants, because it deletes pods that are not ready first. Source: the API's
    /// documentation of `maxUnavailable` and of proportional scaling.
    fn availability(&self, frame: &WriteContext<'_>) -> Option<String> {
        let (before, after) = (frame.before?, &frame.version.object);
        if frame.version.kind != REPLICA_SET {
            return None;
        }
        let wanted = if frame.version.change == ChangeType::Deleted { 0 } else { object::replicas(after) };
        let deployment = frame.world.deployment_of(before).filter(|it| !object::deleting(it))?;
        let bounds = self.bounds(deployment);
        let others = || {
            let sets = frame.world.controlled(REPLICA_SET, deployment);
            sets.filter(|set| object::uid(set) != object::uid(before))
        };
        let total: i64 = others().chain([before]).map(|set| i64::from(object::replicas(set))).sum();
        // The size may follow the current bounds as well as the earlier ones.
        let least = bounds.least.filter(|_| total <= bounds.most.min(Bounds::of(deployment).most))?;
        let available: i64 = others().map(|set| available_after(set, object::replicas(set))).sum();
        let (had, keeps) = (
            available + available_after(before, object::replicas(before)),
            available + available_after(before, wanted),
        );
        let name = object::name(deployment);
        (keeps < had && keeps < least)
            .then(|| format!("{name} keeps {keeps} pods available, at least {least} promised"))
    }

    /// A status that begins to say of the present generation that the rollout is complete, by its
    /// counters or by the condition Progressing, is written only once a ReplicaSet with the
    /// Deployment's template has reported as many available pods. A ReplicaSet that was released
    /// since may still be counted, and so may a deleted one. Source: `kubectl rollout status`,
    /// which ends there, and upstream's `DeploymentComplete`.
    fn completion(&self, frame: &WriteContext<'_>) -> Option<String> {
        let (before, after) = (frame.before?, &frame.version.object);
        let wanted = i64::from(object::replicas(after));
        if frame.version.kind != DEPLOYMENT || wanted == 0 || object::deleting(after) || self.has_lost_sets {
            return None;
        }
        let begins = |says: fn(&Value) -> bool| !says(before) && says(after);
        let completes = begins(is_complete) || begins(has_available_new_set) && observes_generation(after);
        if !completes {
            return None;
        }
        let template = object::bare_template(after);
        let sets = frame.world.of_kind(REPLICA_SET).filter(|set| object::bare_template(set) == template);
        let reported = sets.filter_map(|set| self.most_available.get(object::uid(set))).max().copied().unwrap_or(0);
        let name = object::name(after);
        let by_counters = || format!("{wanted} of {wanted} pods");
        let what = if is_complete(after) { by_counters() } else { format!("NewReplicaSetAvailable for {wanted} pods") };
        (reported < wanted)
            .then(|| format!("{name} reports {what}, and its ReplicaSet has reported at most {reported} available"))
    }
}

/// The Deployments whose bounds this version can affect; it is not applied to `world` yet.
pub(super) fn affected_deployments(world: &RecordedObjects<'_>, version: &ObjectVersion) -> BTreeSet<String> {
    if version.kind == DEPLOYMENT {
        return BTreeSet::from([version.name.clone()]);
    }
    let sets = world.get(REPLICA_SET, &version.name).into_iter().chain([&*version.object]);
    sets.filter_map(|set| world.deployment_of(set)).map(|it| object::name(it).to_owned()).collect()
}

/// The bounds of these Deployments that are broken.
pub(super) fn broken_in(world: &RecordedObjects<'_>, deployments: &BTreeSet<String>) -> BTreeSet<(String, Invariant)> {
    let mut broken = BTreeSet::new();
    for deployment in deployments.iter().filter_map(|name| world.get(DEPLOYMENT, name)) {
        let sets: Vec<&Value> = world.controlled(REPLICA_SET, deployment).collect();
        let name = object::name(deployment);
        broken.extend(broken_bounds(deployment, &sets).into_iter().map(|invariant| (name.to_owned(), invariant)));
    }
    broken
}

/// The bounds that these ReplicaSets of a Deployment break, whatever the cause.
pub fn broken_bounds(deployment: &Value, sets: &[&Value]) -> BTreeSet<Invariant> {
    let bounds = Bounds::of(deployment);
    let wanted: i64 = sets.iter().map(|set| i64::from(object::replicas(set))).sum();
    let available: i64 = sets.iter().map(|set| available_after(set, object::replicas(set))).sum();
    let surge = (wanted > bounds.most).then_some(Invariant::Surge);
    let availability = bounds.least.is_some_and(|least| available < least).then_some(Invariant::Availability);
    surge.into_iter().chain(availability).collect()
}

/// How many available pods a ReplicaSet keeps at this size.
fn available_after(set: &Value, replicas: i32) -> i64 {
    object::count(set, "/status/availableReplicas").min(i64::from(replicas))
}

/// A ReplicaSet is not created for a template for which the Deployment has one already. Source: the
/// API's documentation of `pod-template-hash`, which makes the name unique to the template.
fn duplicate_template(frame: &WriteContext<'_>) -> Option<String> {
    let after = frame.replica_set()?;
    let deployment = frame.world.deployment_of(after).filter(|_| frame.before.is_none())?;
    let template = object::bare_template(after);
    let twin = frame.world.controlled(REPLICA_SET, deployment).find(|set| {
        object::uid(set) != object::uid(after) && !object::deleting(set) && object::bare_template(set) == template
    })?;
    let name = |set| frame.names.replica_set(set);
    Some(format!("{} has the template of {}", name(after), name(twin)))
}

/// A Deployment's revision annotation is never removed, and never falls below the revision of one
/// of its ReplicaSets. The revision is that of the ReplicaSet with the Deployment's template, which
/// is the highest; so it falls if a user deletes the highest, or edits it. No number follows the
/// largest, so nothing is promised there, nor if a user wrote something that is not a number.
/// Source: the API's documentation of `deployment.kubernetes.io/revision`.
fn revision(frame: &WriteContext<'_>) -> Option<String> {
    if frame.version.kind != DEPLOYMENT || frame.version.change == ChangeType::Deleted {
        return None;
    }
    let (old, name, after) = (object::revision(frame.before?)?, &frame.version.name, &frame.version.object);
    if object::annotation(after, object::REVISION).is_none() {
        return Some(format!("{name} lost its revision {old}"));
    }
    let new = object::revision(after).filter(|new| *new < old)?;
    let highest = frame.world.controlled(REPLICA_SET, after).filter_map(object::revision).max()?;
    (new < highest && highest < i64::MAX)
        .then(|| format!("{name} went from revision {old} to {new}, and one of its ReplicaSets has {highest}"))
}

/// A ReplicaSet that no Deployment controls is adopted or left alone. Source: the API's
/// documentation of controller references.
fn ownership(frame: &WriteContext<'_>) -> Option<String> {
    if frame.version.kind != REPLICA_SET {
        return None;
    }
    let (before, after) = (frame.before?, &frame.version.object);
    let ours = |set| object::controller_uid(set).is_some_and(|uid| frame.names.deployment(uid).is_some());
    let adopted = object::controller(before).is_none() && ours(after);
    if ours(before) || adopted {
        return None;
    }
    let decision = super::decide::replica_set(Some(before), frame.version, frame.world, frame.names)?;
    let whose = if object::controller(before).is_some() { "belongs to another owner" } else { "has no owner" };
    Some(format!("{decision}: it {whose}"))
}

/// A Deployment that has been paused since before the step gets no new ReplicaSet. Source: the
/// API's documentation of `paused`.
fn while_paused(frame: &WriteContext<'_>, paused_before: &BTreeSet<String>) -> Option<String> {
    let after = frame.replica_set()?;
    let deployment = frame.world.deployment_of(after).filter(|it| frame.before.is_none() && is_paused(it))?;
    let name = object::name(deployment);
    paused_before.contains(name).then(|| format!("{} created while {name} is paused", frame.names.replica_set(after)))
}

/// Whether a version is an operation that may break bounds: the driver's, that of the controller
/// beside the subject, or an autoscaler's, because a Deployment controller never changes the number
/// of desired replicas. `was` is the object before.
pub(super) fn is_operation(version: &ObjectVersion, was: Option<&Value>) -> bool {
    let scales = || was.is_some_and(|was| object::replicas(was) != object::replicas(&version.object));
    match version.kind.as_str() {
        DEPLOYMENT => version.by == WriterRole::Driver || scales(),
        REPLICA_SET => version.by != WriterRole::Other,
        _ => false,
    }
}

impl<'a> WriteContext<'a> {
    /// The ReplicaSet that was written, unless it was deleted.
    fn replica_set(&self) -> Option<&'a Value> {
        let alive = self.version.kind == REPLICA_SET && self.version.change != ChangeType::Deleted;
        alive.then_some(&self.version.object)
    }
}

/// A write of a Deployment, or of one of its ReplicaSets, with its context.
pub struct LiveWrite<'a> {
    /// The version that was written.
    pub version: &'a ObjectVersion,
    /// The object before.
    pub before: Option<&'a Value>,
    /// The Deployment after the write.
    pub deployment: &'a Value,
    /// Its other ReplicaSets.
    pub other_sets: Vec<&'a Value>,
}

impl LiveWrite<'_> {
    /// The invariants that the write breaks. A Deployment that is paused counts as paused before;
    /// ownership and completion are not checked, as it is not known what was before.
    pub fn breaches(&self) -> Vec<InvariantBreach> {
        let Self { version, before, deployment, other_sets: ref others } = *self;
        let mut world = RecordedObjects::default();
        world.replace((DEPLOYMENT, object::name(deployment)), Some(RecordedObject::Recorded(deployment)));
        for set in others {
            world.replace((REPLICA_SET, object::name(set)), Some(RecordedObject::Recorded(set)));
        }
        if version.kind == REPLICA_SET && version.change != ChangeType::Deleted {
            world.replace((REPLICA_SET, &version.name), Some(RecordedObject::Recorded(&version.object)));
        }
        let is_paused = is_paused(deployment).then(|| object::name(deployment).to_owned());
        let watch = InvariantState::while_paused(BTreeSet::from_iter(is_paused));
        let mut breaches = watch.find_breaches(&WriteContext {
            world: &world,
            before,
            version,
            names: &NormalizedNames::real_names(),
        });
        breaches.retain(|breach| !matches!(breach.invariant, Invariant::Ownership | Invariant::Completion));
        breaches
    }
}

/// The first write after the last step has settled.
pub(super) fn silence_breach(recording: &Recording) -> Option<InvariantBreach> {
    let last = recording.entries.iter().rposition(|entry| matches!(entry, RecordingEntry::Settled(_)))?;
    recording.end.as_ref().filter(|end| end.completed)?;
    let written = recording.entries[last..].iter().find_map(|entry| match entry {
        RecordingEntry::Request(request) if request.is_successful_write() => Some(request),
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
    let exceeded = |object| object::has_condition_reason(object, "ProgressDeadlineExceeded");
    exceeded(after) && !exceeded(before)
}
