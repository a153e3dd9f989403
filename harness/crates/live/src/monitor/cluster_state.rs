//! The known state of the cluster: each Deployment with its ReplicaSets and their pods, and the
//! invariants that are excused for it.
//!
//! [`StatusTimers`] decides when to check a status. A status is wrong for a while after each change
//! of what it sums up. So it is checked once that has not changed for some time, and again after
//! each later write of the status itself.
//!
//! [`EvidenceWindow`] has the last minutes of one Deployment, which become evidence: the objects at
//! the beginning, and every version since.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use lockstep_recording::{
    ChangeType, Header, ObjectVersion, Recording, RecordingEnd, RecordingEntry, Settling, WriterRole,
};
use lockstep_timeline::object::{self, uid};
use lockstep_timeline::{Invariant, broken_bounds};
use serde_json::Value;

use super::model::{BreachCandidate, DEPLOYMENT, POD, REPLICA_SET, Tolerances};
use super::observed::{self, ObservedVersion, controllers};

/// A kind, a namespace and a name.
pub(super) type TrackedKey = (String, String, String);

#[derive(Debug, Default)]
pub(super) struct DeploymentState {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) deployment: ObjectHistory,
    /// The UIDs of the ReplicaSets that it controls or has controlled.
    pub(super) sets: BTreeSet<String>,
    /// The bounds that another client broke, until they hold and the Deployment's status has been
    /// right for some time.
    pub(super) excused: BTreeSet<Invariant>,
    pub(super) window: EvidenceWindow,
}

/// The last version of an object, and its controller.
#[derive(Debug)]
pub(super) struct TrackedObject {
    pub(super) rv: u64,
    pub(super) uid: String,
    pub(super) owner: Option<String>,
}

#[derive(Debug)]
pub(super) struct ClusterState {
    pub(super) terms: Tolerances,
    /// Deployments by UID.
    pub(super) groups: BTreeMap<String, DeploymentState>,
    /// ReplicaSets by UID.
    pub(super) sets: BTreeMap<String, ObjectHistory>,
    /// Pods by the UID of their ReplicaSet and by name.
    pub(super) pods: BTreeMap<String, BTreeMap<String, Arc<Value>>>,
    pub(super) tracked: BTreeMap<TrackedKey, TrackedObject>,
    pub(super) status_timers: StatusTimers,
    /// Who writes the status of Deployments.
    pub(super) controllers: BTreeSet<String>,
    /// The oldest version of each window, oldest first.
    order: VecDeque<(u64, String)>,
    /// The size of all windows in bytes.
    pub(super) weight: usize,
    /// The UIDs of deleted Deployments.
    pub(super) deleted_deployments: BTreeSet<String>,
}

impl ClusterState {
    pub(super) fn new(terms: Tolerances) -> Self {
        Self {
            terms,
            groups: BTreeMap::new(),
            sets: BTreeMap::new(),
            pods: BTreeMap::new(),
            tracked: BTreeMap::new(),
            status_timers: StatusTimers::default(),
            controllers: BTreeSet::new(),
            order: VecDeque::new(),
            weight: 0,
            deleted_deployments: BTreeSet::new(),
        }
    }

    /// Add the writers of this Deployment's status to the controllers.
    pub(super) fn note_controllers(&mut self, deployment: &Value) {
        for name in controllers(deployment) {
            if !self.controllers.contains(name) {
                self.controllers.insert(name.to_owned());
            }
        }
    }

    /// Add an object that exists already. Deployments come first, then ReplicaSets, then pods.
    pub(super) fn add_existing(&mut self, observed: ObservedVersion) {
        let ObservedVersion { namespace, version, .. } = observed;
        let object = &version.object;
        let (uid, owner) = (uid(object).to_owned(), observed::owner(object).map(str::to_owned));
        let due = version.at + self.terms.settle;
        let group = match version.kind.as_str() {
            DEPLOYMENT => {
                let past = ObjectHistory::new(object.value());
                let (name, namespace) = (version.name.clone(), namespace.clone());
                self.groups.insert(
                    uid.clone(),
                    DeploymentState { namespace, name, deployment: past, ..DeploymentState::default() },
                );
                self.status_timers.restart(&uid, due);
                Some(uid.clone())
            }
            REPLICA_SET => {
                self.sets.insert(uid.clone(), ObjectHistory::new(object.value()));
                self.status_timers.restart(&uid, due);
                owner.clone()
            }
            _ => {
                let Some(owner) = &owner else { return };
                self.pods.entry(owner.clone()).or_default().insert(version.name.clone(), object.value());
                self.group_of_set(owner).map(str::to_owned)
            }
        };
        self.tracked.insert(
            (version.kind.clone(), namespace, version.name.clone()),
            TrackedObject { rv: version.rv, uid: uid.clone(), owner },
        );
        if let Some(group) = group.and_then(|group| self.groups.get_mut(&group)) {
            if version.kind == REPLICA_SET {
                group.sets.insert(uid);
            }
            group.window.add_initial(version);
        }
    }

    /// Excuse all bounds that are broken now, as it is unknown who broke them, and restart the
    /// timers of all statuses.
    pub(super) fn excuse_all(&mut self, at: u64) {
        let due = at + self.terms.settle;
        let all: Vec<String> = self.groups.keys().cloned().collect();
        for uid in all {
            let broken = self.broken_bounds(&uid);
            let Some(group) = self.groups.get_mut(&uid) else { continue };
            group.excused.extend(broken);
            self.status_timers.restart(&uid, due);
            group.sets.iter().for_each(|set| self.status_timers.restart(set, due));
        }
    }

    /// The known objects of a kind that are not among these: their last versions, as deleted. One
    /// that was created again has another UID.
    pub(super) fn as_deleted(&self, kind: &str, current: &[ObservedVersion], at: u64) -> Vec<ObservedVersion> {
        let identity = |one: &ObservedVersion| {
            (one.namespace.clone(), one.version.name.clone(), uid(&one.version.object).to_owned())
        };
        let present: BTreeSet<(String, String, String)> = current.iter().map(identity).collect();
        let from = (kind.to_owned(), String::new(), String::new());
        let all = self.tracked.range(from..).take_while(|((of, ..), _)| of == kind);
        let is_present = |namespace: &String, name: &String, tracked: &TrackedObject| {
            present.contains(&(namespace.clone(), name.clone(), tracked.uid.clone()))
        };
        let gone = all.filter(|((_, namespace, name), tracked)| !is_present(namespace, name, tracked));
        let observed = gone.filter_map(|((_, namespace, name), tracked)| {
            let object = match kind {
                DEPLOYMENT => self.groups.get(&tracked.uid)?.deployment.now()?,
                REPLICA_SET => self.sets.get(&tracked.uid)?.now()?,
                _ => self.pods.get(tracked.owner.as_ref()?)?.get(name)?,
            };
            let mut observed = ObservedVersion::of("", ChangeType::Deleted, Value::Null, at);
            observed.namespace.clone_from(namespace);
            observed.version.kind = kind.to_owned();
            observed.version.name.clone_from(name);
            (observed.version.rv, observed.version.object) = (tracked.rv, Arc::clone(object).into());
            Some(observed)
        });
        observed.collect()
    }

    /// Move versions before this time into the initial states of the windows; `None`: all versions
    /// so far.
    pub(super) fn trim(&mut self, since: Option<u64>) {
        while self.order.front().is_some_and(|(at, _)| since.is_none_or(|since| *at < since)) {
            self.shorten();
        }
    }

    /// Move the oldest stored version into the initial state of its window.
    fn shorten(&mut self) {
        let Some((_, uid)) = self.order.pop_front() else { return };
        let shortened = self.groups.get_mut(&uid).and_then(|group| group.window.shorten());
        self.weight -= shortened.unwrap_or(0);
    }

    /// Forget deleted Deployments, unless they are still of interest. Their ReplicaSets are
    /// forgotten too, or have no Deployment.
    pub(super) fn forget_deleted_deployments(&mut self, is_of_interest: impl Fn(&str) -> bool) {
        let gone = std::mem::take(&mut self.deleted_deployments);
        let (kept, gone): (Vec<String>, Vec<String>) = gone.into_iter().partition(|uid| is_of_interest(uid));
        self.deleted_deployments.extend(kept);
        for group in gone.iter().filter_map(|uid| self.groups.remove(uid)) {
            self.weight -= group.window.weight();
            for set in group.sets {
                if self.sets.get(&set).is_some_and(|past| past.now().is_none()) {
                    self.sets.remove(&set);
                }
            }
        }
    }

    /// Forget ReplicaSets that were deleted, or released, before this time.
    pub(super) fn forget_detached_sets(&mut self, uid: &str, since: u64) {
        let Some(group) = self.groups.get_mut(uid) else { return };
        let sets = &mut self.sets;
        group.sets.retain(|set| {
            let Some(past) = sets.get_mut(set) else { return false };
            past.forget(since);
            let is_kept = past.states(since).flatten().any(|set| observed::owner(set) == Some(uid));
            if past.states(since).flatten().next().is_none() {
                sets.remove(set);
            }
            is_kept
        });
    }

    /// The UID of the Deployment of a ReplicaSet.
    pub(super) fn group_of_set(&self, set: &str) -> Option<&str> {
        let set = self.sets.get(set)?.now()?;
        observed::owner(set).filter(|owner| self.groups.contains_key(*owner))
    }

    /// Add a Deployment. ReplicaSets that were seen before it join it.
    pub(super) fn add_group(&mut self, uid: &str, at: u64) {
        self.groups.insert(uid.to_owned(), DeploymentState::default());
        let is_own = |set: &Arc<Value>| observed::owner(set) == Some(uid);
        let early = self.sets.iter().filter_map(|(id, past)| Some((id, past.now().filter(|set| is_own(set))?)));
        let early: Vec<(String, Arc<Value>)> = early.map(|(id, set)| (id.clone(), Arc::clone(set))).collect();
        for (id, set) in early {
            self.join(uid, &id);
            if let Some(group) = self.groups.get_mut(uid) {
                group.window.add_initial(existing(REPLICA_SET, &set));
            }
            // Without its Deployment it was not checked.
            self.status_timers.restart(&id, at + self.terms.settle);
        }
    }

    /// A ReplicaSet now belongs to the Deployment, with its pods.
    pub(super) fn join(&mut self, group: &str, set: &str) {
        let pods = self.pods.get(set).into_iter().flat_map(BTreeMap::values);
        if let Some(group) = self.groups.get_mut(group) {
            group.sets.insert(set.to_owned());
            pods.for_each(|pod| group.window.add_initial(existing(POD, pod)));
        }
    }

    pub(super) fn keep_version(&mut self, uid: &str, version: ObjectVersion) {
        let Some(group) = self.groups.get_mut(uid) else { return };
        // A case begins with its Deployment.
        if version.kind == DEPLOYMENT && version.change == ChangeType::Added {
            return group.window.add_initial(version);
        }
        self.order.push_back((version.at, uid.to_owned()));
        self.weight += group.window.put(version);
        while self.weight > self.terms.bytes && !self.order.is_empty() {
            self.shorten();
        }
    }

    /// The bounds that are broken now.
    pub(super) fn broken_bounds(&self, uid: &str) -> BTreeSet<Invariant> {
        let Some(group) = self.groups.get(uid) else { return BTreeSet::new() };
        let sets: Vec<&Value> = self.sets_of(uid, group).map(|set| &**set).collect();
        group.deployment.now().map(|deployment| broken_bounds(deployment, &sets)).unwrap_or_default()
    }

    /// The ReplicaSets that it controls.
    pub(super) fn sets_of<'a>(
        &'a self,
        uid: &'a str,
        group: &'a DeploymentState,
    ) -> impl Iterator<Item = &'a Arc<Value>> + Clone {
        let sets = group.sets.iter().filter_map(|set| self.sets.get(set)?.now());
        sets.filter(move |set| observed::owner(set) == Some(uid))
    }

    /// Excuse the bounds that are broken now and were not before. With too many pods, all
    /// ReplicaSets are scaled down in proportion, regardless of which pods are available.
    pub(super) fn excuse(&mut self, uid: &str, before: &BTreeSet<Invariant>) {
        let broken: BTreeSet<Invariant> = self.broken_bounds(uid).difference(before).copied().collect();
        if broken.contains(&Invariant::Surge) {
            self.excuse_sizes(uid);
        } else if let Some(group) = self.groups.get_mut(uid) {
            group.excused.extend(broken);
        }
    }

    /// Nothing has changed for some time: bounds that hold again lose their excuse.
    pub(super) fn clear_excuses(&mut self, uid: &str) {
        let broken = self.broken_bounds(uid);
        if let Some(group) = self.groups.get_mut(uid) {
            group.excused.retain(|invariant| broken.contains(invariant));
        }
    }

    /// Another client has changed the size of a ReplicaSet. Proportional scaling then uses
    /// annotations that do not reflect that size, and may remove all available pods.
    pub(super) fn excuse_sizes(&mut self, uid: &str) {
        if let Some(group) = self.groups.get_mut(uid) {
            group.excused.extend([Invariant::Surge, Invariant::Availability]);
        }
    }

    pub(super) fn without_excused(&self, uid: &str, candidates: Vec<BreachCandidate>) -> Vec<BreachCandidate> {
        let excused = self.groups.get(uid).map(|group| &group.excused);
        let is_excused =
            |one: &BreachCandidate| one.invariant.is_some_and(|one| excused.is_some_and(|all| all.contains(&one)));
        candidates.into_iter().filter(|one| !is_excused(one)).collect()
    }

    pub(super) fn staleness(&self) -> u64 {
        self.terms.staleness
    }
}

/// The version of an object that existed before its Deployment's window.
fn existing(kind: &str, object: &Arc<Value>) -> ObjectVersion {
    ObjectVersion {
        kind: kind.to_owned(),
        name: object::name(object).to_owned(),
        change: ChangeType::Added,
        rv: object::text(object, "/metadata/resourceVersion").and_then(|rv| rv.parse().ok()).unwrap_or(0),
        by: WriterRole::Other,
        author: None,
        at: 0,
        object: Arc::clone(object).into(),
    }
}

/// The current and recent states of one object.
///
/// A controller acts on its caches, which lag behind. It is unknown which of the recent states it
/// saw, so a decision is a breach only if it is one for all of them.
#[derive(Debug, Default)]
pub(super) struct ObjectHistory {
    now: Option<Arc<Value>>,
    /// The earlier states and until when they lasted; `None`: the object did not exist.
    earlier: VecDeque<(u64, Option<Arc<Value>>)>,
}

impl ObjectHistory {
    /// An object that existed when it was first listed.
    pub(super) fn new(value: Arc<Value>) -> Self {
        Self { now: Some(value), earlier: VecDeque::new() }
    }

    /// Set the current state; returns the one before.
    pub(super) fn put(&mut self, value: Option<Arc<Value>>, at: u64) -> Option<Arc<Value>> {
        let before = std::mem::replace(&mut self.now, value);
        self.earlier.push_back((at, before.clone()));
        before
    }

    /// Forget states that ended before this time.
    pub(super) fn forget(&mut self, since: u64) {
        while self.earlier.front().is_some_and(|(until, _)| *until <= since) {
            self.earlier.pop_front();
        }
    }

    /// The current state, if it exists.
    pub(super) fn now(&self) -> Option<&Arc<Value>> {
        self.now.as_ref()
    }

    /// Every state since then, including the current one at that time; `None` where the object did
    /// not exist.
    pub(super) fn states(&self, since: u64) -> impl Iterator<Item = Option<&Arc<Value>>> {
        let earlier = self.earlier.iter().filter(move |(until, _)| *until > since).map(|(_, value)| value.as_ref());
        earlier.chain([self.now.as_ref()])
    }
}

/// Timers by the UIDs of objects.
#[derive(Debug, Default)]
pub(super) struct StatusTimers {
    due: BTreeMap<String, u64>,
    queue: BTreeSet<(u64, String)>,
}

impl StatusTimers {
    /// What the status sums up has changed: check at this time, and not before.
    pub(super) fn restart(&mut self, uid: &str, at: u64) {
        if let Some(before) = self.due.insert(uid.to_owned(), at) {
            self.queue.remove(&(before, uid.to_owned()));
        }
        self.queue.insert((at, uid.to_owned()));
    }

    /// The status was written: check at this time, or earlier if that is due.
    pub(super) fn status_written(&mut self, uid: &str, at: u64) {
        if !self.due.contains_key(uid) {
            self.restart(uid, at);
        }
    }

    /// The object is deleted.
    pub(super) fn drop(&mut self, uid: &str) {
        if let Some(due) = self.due.remove(uid) {
            self.queue.remove(&(due, uid.to_owned()));
        }
    }

    /// The next object to check, if one is due.
    pub(super) fn next(&mut self, now: u64) -> Option<String> {
        self.queue.first().filter(|(due, _)| *due <= now)?;
        let (_, uid) = self.queue.pop_first()?;
        self.due.remove(&uid);
        Some(uid)
    }
}

#[derive(Debug, Default)]
pub(super) struct EvidenceWindow {
    initial: BTreeMap<(String, String), ObjectVersion>,
    /// With their sizes in bytes.
    later: VecDeque<(ObjectVersion, usize)>,
}

impl EvidenceWindow {
    /// Add the latest version; returns its size.
    pub(super) fn put(&mut self, version: ObjectVersion) -> usize {
        let weight = weight(&version);
        self.later.push_back((version, weight));
        weight
    }

    /// Add an object that existed when the window began.
    pub(super) fn add_initial(&mut self, version: ObjectVersion) {
        self.settle(version);
    }

    /// Move the first version into the initial state; returns its size.
    pub(super) fn shorten(&mut self) -> Option<usize> {
        let (version, weight) = self.later.pop_front()?;
        self.settle(version);
        Some(weight)
    }

    /// The time of the last version.
    pub(super) fn last_at(&self) -> Option<u64> {
        self.later.back().map(|(version, _)| version.at)
    }

    /// The time of the first version after the initial state.
    pub(super) fn first_at(&self) -> Option<u64> {
        self.later.front().map(|(version, _)| version.at)
    }

    /// The size of the window, without the initial state.
    pub(super) fn weight(&self) -> usize {
        self.later.iter().map(|(_, weight)| weight).sum()
    }

    pub(super) fn recording(&self, header: Header, until: u64) -> Recording {
        let began = self.first_at().unwrap_or(until);
        let since = |at: u64| at.saturating_sub(began);
        let mut entries: Vec<RecordingEntry> = Vec::with_capacity(self.initial.len() + self.later.len() + 1);
        let initial =
            self.initial.values().map(|version| ObjectVersion { change: ChangeType::Added, at: 0, ..version.clone() });
        entries.extend(initial.map(RecordingEntry::Object));
        entries.push(RecordingEntry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at: 0 }));
        let later = self.later.iter().map(|(version, _)| ObjectVersion { at: since(version.at), ..version.clone() });
        entries.extend(later.map(RecordingEntry::Object));
        let end = RecordingEnd { completed: true, events_complete: false, at: since(until), diagnosis: None };
        Recording { header, entries, end: Some(end) }
    }

    fn settle(&mut self, version: ObjectVersion) {
        let key = (version.kind.clone(), version.name.clone());
        if version.change == ChangeType::Deleted {
            self.initial.remove(&key);
        } else {
            self.initial.insert(key, version);
        }
    }
}

/// The length of the object's JSON.
fn weight(version: &ObjectVersion) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    serde_json::to_writer(&mut count, &*version.object).map_or(0, |()| count.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_of_summed_objects_postpone_a_check() {
        let mut clocks = StatusTimers::default();
        clocks.restart("a", 10);
        clocks.status_written("a", 15);
        clocks.restart("b", 5);
        clocks.restart("b", 12);
        clocks.restart("c", 1);
        clocks.drop("c");
        assert_eq!(clocks.next(9), None);
        assert_eq!(clocks.next(12).as_deref(), Some("a"));
        assert_eq!(clocks.next(12).as_deref(), Some("b"));
        assert_eq!(clocks.next(100), None);
    }
}
