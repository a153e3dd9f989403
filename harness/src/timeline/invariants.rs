//! The invariants that hold at every frame of every case, one small function each.
//!
//! An invariant is judged where another than the driver wrote. Each is as upstream keeps it in
//! every program of a search, and no wider. A bound that a user's operation breaks is excused until
//! the next settling; what upstream's own recording breaks stands in the golden timeline, and is no
//! finding there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::bounds::Bounds;
use super::checkpoint::paused;
use super::model::{Breach, Invariant};
use super::names::Names;
use super::object;
use super::world::{DEPLOYMENT, REPLICA_SET, World};
use crate::recording::{Change, Request, StepMark, Version, Writer};
use crate::workload::Workload;

/// One version that was written, with the world after it.
pub(super) struct Frame<'a> {
    pub(super) world: &'a World<'a>,
    pub(super) before: Option<&'a Value>,
    pub(super) version: &'a Version,
    pub(super) names: &'a Names,
}

/// What the invariants must remember between frames.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Bounds that a user's operation broke, by Deployment, until the next settling.
    excused: BTreeSet<(String, Invariant)>,
    /// The widest bounds that Deployments had before operations that met the subject at work, until
    /// the next settling: what was decided by them may be written after.
    earlier: BTreeMap<String, Bounds>,
    /// Whether the subject may be at work: there was an operation or an intercepted request since
    /// the last settling.
    busy: bool,
    /// Whether the subject may decide by an old view until the next settling: it counts pods that
    /// have gone, or none that came, and numbers a revision without the newest ReplicaSet.
    stale: bool,
    /// Deployments that have been paused since before the step.
    paused: BTreeSet<String>,
    /// Deployments that are paused now.
    paused_now: BTreeSet<String>,
    /// Whether the step is a user's.
    user: bool,
    /// Invariants that the kind in place of Deployments does not promise.
    unclaimed: BTreeSet<Invariant>,
}

impl Watch {
    /// Nothing is known of the time before but that these Deployments were paused.
    pub(super) fn while_paused(paused: BTreeSet<String>) -> Self {
        Self { paused, ..Self::default() }
    }

    /// Of what this kind promises, which is in place of Deployments.
    pub(super) fn of(workload: &Workload) -> Self {
        let unclaimed = Invariant::ALL.into_iter().filter(|invariant| !workload.claims_invariant(invariant.name()));
        Self { unclaimed: unclaimed.collect(), ..Self::default() }
    }

    /// Whether this invariant is judged.
    pub(super) fn judges(&self, invariant: Invariant) -> bool {
        !self.unclaimed.contains(&invariant)
    }

    /// A step begins.
    pub(super) fn step(&mut self, mark: &StepMark) {
        self.user = mark.user;
        self.stale |= mark.stale;
        self.paused.clone_from(&self.paused_now);
    }

    /// A version was written, by whomever.
    pub(super) fn written(&mut self, version: &Version) {
        if version.kind != DEPLOYMENT {
            return;
        }
        if version.change != Change::Deleted && paused(&version.object) {
            self.paused_now.insert(version.name.clone());
        } else {
            // A decision may be of the moment in which it was resumed.
            self.paused_now.remove(&version.name);
            self.paused.remove(&version.name);
        }
    }

    /// The namespace has settled: nothing is excused any more.
    pub(super) fn settled(&mut self) {
        self.excused.clear();
        self.earlier.clear();
        (self.busy, self.stale) = (false, false);
    }

    /// A request of the subject's was intercepted.
    pub(super) fn met(&mut self) {
        self.busy = true;
    }

    /// A user's version, or another's of what only users change: remember the bounds that it broke.
    /// `before` are those broken before it, of the Deployments that it concerns.
    pub(super) fn operation(
        &mut self,
        (version, was): (&Version, Option<&Value>),
        concerned: &BTreeSet<String>,
        before: &BTreeSet<(String, Invariant)>,
        world: &World<'_>,
    ) {
        if version.by == Writer::Driver && !self.user {
            return;
        }
        if let Some(was) = was.filter(|_| self.busy && version.kind == DEPLOYMENT) {
            let was = Bounds::of(was);
            self.earlier.entry(version.name.clone()).and_modify(|bounds| *bounds = bounds.or(was)).or_insert(was);
        }
        self.busy = true;
        self.excused.extend(broken(world, concerned).difference(before).cloned());
        let is_sized = version.kind == REPLICA_SET
            && was.is_some_and(|was| object::replicas(was) != object::replicas(&version.object));
        // Upstream goes by annotations, which say nothing of a size that another gave.
        for name in concerned.iter().filter(|_| is_sized) {
            let both = [Invariant::Surge, Invariant::Availability];
            self.excused.extend(both.map(|invariant| (name.clone(), invariant)));
        }
    }

    /// A version by another than the driver: the invariants that it breaks.
    pub(super) fn judge(&self, frame: &Frame<'_>) -> Vec<Breach> {
        let excused = |invariant| {
            if self.stale && matches!(invariant, Invariant::Surge | Invariant::Availability | Invariant::Revision) {
                return true;
            }
            let deployment = frame.world.deployment_of(&frame.version.object).map(object::name);
            deployment.is_some_and(|name| self.excused.contains(&(name.to_owned(), invariant)))
        };
        let invariants: [(Invariant, Option<String>); 6] = [
            (Invariant::Surge, self.surge(frame)),
            (Invariant::Availability, self.availability(frame)),
            (Invariant::OneTemplate, one_template(frame)),
            (Invariant::Revision, revision(frame)),
            (Invariant::Ownership, ownership(frame)),
            (Invariant::Paused, while_paused(frame, &self.paused)),
        ];
        invariants
            .into_iter()
            .filter_map(|(invariant, detail)| Some(Breach { invariant, detail: detail? }))
            .filter(|breach| self.judges(breach.invariant) && !excused(breach.invariant))
            .collect()
    }

    /// The bounds that a Deployment has, and those that it had when what is written now may have
    /// been decided.
    fn bounds(&self, deployment: &Value) -> Bounds {
        let now = Bounds::of(deployment);
        self.earlier.get(object::name(deployment)).map_or(now, |earlier| now.or(*earlier))
    }

    /// A write that raises a ReplicaSet leaves the total within replicas + maxSurge (Recreate:
    /// within replicas). It says nothing in the middle of scaling in proportion, where one
    /// ReplicaSet is raised before another is lowered: that is while another ReplicaSet has the
    /// size that it got for another number of replicas. Source: the API's documentation of
    /// `maxSurge`, and upstream's `isScalingEvent`.
    fn surge(&self, frame: &Frame<'_>) -> Option<String> {
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

    /// A write that lowers a ReplicaSet does not take availability below replicas − maxUnavailable,
    /// or further below, unless more pods are wanted than replicas + maxSurge: while the Deployment
    /// is paused or scaled, these are cut in proportion, whichever of them are available. What a
    /// ReplicaSet keeps available is the lesser of what it has available and what it wants, because
    /// it gives up pods that are not ready first. Source: the API's documentation of
    /// `maxUnavailable` and of proportional scaling.
    fn availability(&self, frame: &Frame<'_>) -> Option<String> {
        let (before, after) = (frame.before?, &frame.version.object);
        if frame.version.kind != REPLICA_SET {
            return None;
        }
        let wanted = if frame.version.change == Change::Deleted { 0 } else { object::replicas(after) };
        let deployment = frame.world.deployment_of(before).filter(|it| !object::deleting(it))?;
        let bounds = self.bounds(deployment);
        let others = || {
            let sets = frame.world.controlled(REPLICA_SET, deployment);
            sets.filter(|set| object::uid(set) != object::uid(before))
        };
        let total: i64 = others().chain([before]).map(|set| i64::from(object::replicas(set))).sum();
        // It may have been cut by the bounds of now as well as by those of before.
        let least = bounds.least.filter(|_| total <= bounds.most.min(Bounds::of(deployment).most))?;
        let available: i64 = others().map(|set| kept(set, object::replicas(set))).sum();
        let (had, keeps) = (available + kept(before, object::replicas(before)), available + kept(before, wanted));
        let name = object::name(deployment);
        (keeps < had && keeps < least)
            .then(|| format!("{name} keeps {keeps} pods available, at least {least} promised"))
    }
}

/// The Deployments whose bounds this version can have to do with, which is about to be applied to
/// this world.
pub(super) fn concerned(world: &World<'_>, version: &Version) -> BTreeSet<String> {
    if version.kind == DEPLOYMENT {
        return BTreeSet::from([version.name.clone()]);
    }
    let sets = world.get(REPLICA_SET, &version.name).into_iter().chain([&*version.object]);
    sets.filter_map(|set| world.deployment_of(set)).map(|it| object::name(it).to_owned()).collect()
}

/// The bounds of these Deployments that are broken in this world.
pub(super) fn broken(world: &World<'_>, deployments: &BTreeSet<String>) -> BTreeSet<(String, Invariant)> {
    let mut broken = BTreeSet::new();
    for deployment in deployments.iter().filter_map(|name| world.get(DEPLOYMENT, name)) {
        let sets: Vec<&Value> = world.controlled(REPLICA_SET, deployment).collect();
        let name = object::name(deployment);
        broken.extend(broken_bounds(deployment, &sets).map(|invariant| (name.to_owned(), invariant)));
    }
    broken
}

/// The bounds of a Deployment that its ReplicaSets break.
pub(super) fn broken_bounds(deployment: &Value, sets: &[&Value]) -> impl Iterator<Item = Invariant> + use<> {
    let bounds = Bounds::of(deployment);
    let wanted: i64 = sets.iter().map(|set| i64::from(object::replicas(set))).sum();
    let available: i64 = sets.iter().map(|set| kept(set, object::replicas(set))).sum();
    let surge = (wanted > bounds.most).then_some(Invariant::Surge);
    surge.into_iter().chain(bounds.least.is_some_and(|least| available < least).then_some(Invariant::Availability))
}

/// How many of its available pods a ReplicaSet keeps if it wants so many.
fn kept(set: &Value, wanted: i32) -> i64 {
    object::count(set, "/status/availableReplicas").min(i64::from(wanted))
}

/// No ReplicaSet is created for a template that another one of the Deployment has already. Source:
/// the API's documentation of `pod-template-hash`, which makes the name unique to the template.
fn one_template(frame: &Frame<'_>) -> Option<String> {
    let after = frame.replica_set()?;
    let deployment = frame.world.deployment_of(after).filter(|_| frame.before.is_none())?;
    let template = object::bare_template(after);
    let twin = frame.world.controlled(REPLICA_SET, deployment).find(|set| {
        object::uid(set) != object::uid(after) && !object::deleting(set) && object::bare_template(set) == template
    })?;
    let name = |set| frame.names.replica_set(set);
    Some(format!("{} has the template of {}", name(after), name(twin)))
}

/// A Deployment's revision annotation never goes, and never falls below the revision of one of its
/// ReplicaSets. It is that of the ReplicaSet with the Deployment's template, which is the highest;
/// so it falls where a user takes the highest away, or edits it. No number comes after the largest,
/// so there nothing is promised, and neither is where a user wrote no number. Source: the API's
/// documentation of `deployment.kubernetes.io/revision`.
fn revision(frame: &Frame<'_>) -> Option<String> {
    if frame.version.kind != DEPLOYMENT || frame.version.change == Change::Deleted {
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

/// A ReplicaSet that no Deployment controls is adopted or left alone.
/// Source: the API's documentation of controller references.
fn ownership(frame: &Frame<'_>) -> Option<String> {
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

/// A Deployment that has been paused since before the step gets no new ReplicaSet.
/// Source: the API's documentation of `paused`.
fn while_paused(frame: &Frame<'_>, paused_before: &BTreeSet<String>) -> Option<String> {
    let after = frame.replica_set()?;
    let deployment = frame.world.deployment_of(after).filter(|it| frame.before.is_none() && paused(it))?;
    let name = object::name(deployment);
    paused_before.contains(name).then(|| format!("{} created while {name} is paused", frame.names.replica_set(after)))
}

/// Whether a request changed something that counts.
pub(super) fn is_write(request: &Request) -> bool {
    matches!(request.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
        && (200..300).contains(&request.status)
        && request.resource != "events"
}

/// Whether a version is an operation that may break bounds: the driver's, or an autoscaler's, as no
/// Deployment controller changes how many replicas are wanted. `was` is the object before.
pub(super) fn is_operation(version: &Version, was: Option<&Value>) -> bool {
    let scales = || was.is_some_and(|was| object::replicas(was) != object::replicas(&version.object));
    match version.kind.as_str() {
        DEPLOYMENT => version.by == Writer::Driver || scales(),
        REPLICA_SET => version.by == Writer::Driver,
        _ => false,
    }
}

impl<'a> Frame<'a> {
    /// The ReplicaSet that was written, unless it was deleted.
    fn replica_set(&self) -> Option<&'a Value> {
        let alive = self.version.kind == REPLICA_SET && self.version.change != Change::Deleted;
        alive.then_some(&self.version.object)
    }
}
