//! Applies each version to the cluster state, and finds the invariants that it breaks: whether a
//! decision breaks an invariant, whichever of the last states its controller
//! acted on, and whether a status sums up its objects, when nothing has changed for some time.

use std::sync::Arc;

use lockstep_recording::{ChangeType, ObjectVersion, WriterRole};
use lockstep_runner::observe::{CachedObject, deployment_status, replica_set_status};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{self, count, deleting, replicas, revision, uid};
use lockstep_timeline::{Invariant, InvariantBreach, LiveWrite};
use lockstep_workload::Claims;
use serde_json::Value;

use super::cluster_state::{ClusterState, DeploymentState, ObjectHistory, TrackedObject};
use super::model::{BreachCandidate, DEPLOYMENT, POD, REPLICA_SET};
use super::observed::{self, ObservedVersion};

/// Breaches by a controller that wrote the size of a ReplicaSet of this Deployment.
fn replica_set_breaches(
    cluster_state: &ClusterState,
    id: &str,
    observed: &ObservedVersion,
    before: Option<&Value>,
) -> Vec<BreachCandidate> {
    let version = &observed.version;
    let Some(group) = cluster_state.groups.get(id) else { return Vec::new() };
    let Some(deployment) = group.deployment.now() else { return Vec::new() };
    let others: Vec<&Value> = other_sets(cluster_state, id, group, uid(&version.object)).collect();
    let suspected = LiveWrite { version, before, deployment, other_sets: others }.breaches();
    let is_sure = |breach: &InvariantBreach| {
        PossibleViews::new(cluster_state, id, group, observed).confirms(breach.invariant, before)
    };
    suspected.into_iter().filter(is_sure).map(|breach| candidate(id, version, breach)).collect()
}

/// Breaches by a controller that wrote the revision of this Deployment: it may decrease, but not
/// below that of an existing ReplicaSet.
fn deployment_breaches(
    cluster_state: &ClusterState,
    id: &str,
    observed: &ObservedVersion,
    before: Option<&Value>,
) -> Vec<BreachCandidate> {
    let version = &observed.version;
    let Some(group) = cluster_state.groups.get(id) else { return Vec::new() };
    let Some(new) = revision(&version.object) else { return Vec::new() };
    let others: Vec<&Value> = other_sets(cluster_state, id, group, "").collect();
    let suspected = LiveWrite { version, before, deployment: &version.object, other_sets: others }.breaches();
    let views = PossibleViews::new(cluster_state, id, group, observed);
    let is_sure = |breach: &InvariantBreach| {
        breach.invariant == Invariant::Revision
            && views.other_sets.iter().filter_map(|past| views.least(past)).any(|set| revision(&set) > Some(new))
    };
    suspected.into_iter().filter(is_sure).map(|breach| candidate(id, version, breach)).collect()
}

fn candidate(group: &str, version: &ObjectVersion, breach: InvariantBreach) -> BreachCandidate {
    let InvariantBreach { invariant, detail } = breach;
    BreachCandidate {
        group: group.to_owned(),
        invariant: Some(invariant),
        detail,
        rv: Some(version.rv),
        at: version.at,
    }
}

/// The ReplicaSets of a Deployment except this one.
fn other_sets<'a>(
    cluster_state: &'a ClusterState,
    id: &'a str,
    group: &'a DeploymentState,
    but: &'a str,
) -> impl Iterator<Item = &'a Value> {
    cluster_state.sets_of(id, group).map(|set| &**set).filter(move |set| uid(set) != but)
}

/// The states that the controller may have acted on.
struct PossibleViews<'a> {
    id: &'a str,
    group: &'a DeploymentState,
    own_set: Option<&'a ObjectHistory>,
    other_sets: Vec<&'a ObjectHistory>,
    version: &'a ObjectVersion,
    since: u64,
}

impl<'a> PossibleViews<'a> {
    fn new(
        cluster_state: &'a ClusterState,
        id: &'a str,
        group: &'a DeploymentState,
        observed: &'a ObservedVersion,
    ) -> Self {
        let version = &observed.version;
        let own = uid(&version.object);
        let others = group.sets.iter().filter(|set| *set != own).filter_map(|set| cluster_state.sets.get(set));
        let since = observed.earliest.saturating_sub(cluster_state.staleness());
        Self { id, group, own_set: cluster_state.sets.get(own), other_sets: others.collect(), version, since }
    }

    /// Whether the invariant is broken in each of these states as well.
    fn confirms(&self, invariant: Invariant, before: Option<&Value>) -> bool {
        let is_about_pods = invariant == Invariant::Availability;
        let sets: Vec<Value> = if is_about_pods {
            self.other_sets.iter().filter_map(|past| self.most(past)).collect()
        } else {
            self.other_sets.iter().filter_map(|past| self.least(past)).collect()
        };
        // The controller knew the size of its own ReplicaSet, as no other client can overwrite it
        // unnoticed, but perhaps not its pods. If fewer were available, it may have removed only
        // unavailable ones.
        let befores: Vec<Option<Value>> = match (before, self.own_set.filter(|_| is_about_pods)) {
            (Some(before), Some(own)) => {
                self.available(own).map(|available| Some(with_counts(before, None, Some(available)))).collect()
            }
            _ => vec![before.cloned()],
        };
        let breaks = |deployment: &Value, before: &Option<Value>| {
            let others = sets.iter().collect();
            let write = LiveWrite { version: self.version, before: before.as_ref(), deployment, other_sets: others };
            write.breaches().iter().any(|breach| breach.invariant == invariant)
        };
        let mut deployments = self.group.deployment.states(self.since);
        deployments.all(|it| it.is_some_and(|deployment| befores.iter().all(|before| breaks(deployment, before))))
    }

    /// The ReplicaSet at its smallest, if it existed and belonged to the Deployment all the time.
    fn least(&self, past: &'a ObjectHistory) -> Option<Value> {
        let is_own = |set: &&Arc<Value>| self.owns(set) && !deleting(set);
        let sizes = past.states(self.since).map(|set| set.filter(is_own).map(|set| i64::from(replicas(set))));
        let size = sizes.collect::<Option<Vec<i64>>>()?.into_iter().min()?;
        past.now().map(|set| with_counts(set, Some(size), None))
    }

    /// The ReplicaSet at its largest, if it ever existed.
    fn most(&self, past: &'a ObjectHistory) -> Option<Value> {
        let sets: Vec<&Arc<Value>> = past.states(self.since).flatten().filter(|set| self.owns(set)).collect();
        let size = sets.iter().map(|set| i64::from(replicas(set))).max()?;
        sets.last().map(|set| with_counts(set, Some(size), self.available(past).max()))
    }

    /// The numbers of its available pods.
    fn available(&self, past: &'a ObjectHistory) -> impl Iterator<Item = i64> {
        past.states(self.since).flatten().map(|set| count(set, "/status/availableReplicas"))
    }

    fn owns(&self, set: &Value) -> bool {
        observed::owner(set) == Some(self.id)
    }
}

/// A copy of the ReplicaSet with another size, or another number of available pods.
fn with_counts(set: &Value, size: Option<i64>, available: Option<i64>) -> Value {
    let mut set = set.clone();
    if let Some(size) = size {
        set["spec"]["replicas"] = size.into();
    }
    if let Some(available) = available {
        set["status"]["availableReplicas"] = available.into();
    }
    set
}

/// What is wrong with the status of the Deployment or ReplicaSet with this UID.
fn find_wrong_status(cluster_state: &ClusterState, uid: &str) -> Option<String> {
    match cluster_state.groups.get(uid) {
        Some(group) => {
            let deployment = group.deployment.now().filter(|deployment| !cannot_create(deployment))?;
            let sets: Vec<CachedObject> = cluster_state.sets_of(uid, group).map(object).collect();
            deployment_status(&object(deployment), &sets.iter(), Claims::default())
        }
        None => {
            let set = cluster_state.sets.get(uid)?.now().filter(|set| !deleting(set))?;
            let deployment = cluster_state.groups.get(observed::owner(set)?)?.deployment.now()?;
            if deleting(deployment) {
                return None;
            }
            let pods = cluster_state.pods.get(uid).into_iter().flatten().map(|(_, pod)| object(pod));
            replica_set_status(&object(set), pods)
        }
    }
}

/// Whether the server refuses the Deployment's ReplicaSet, because of a quota or a policy. Upstream
/// then reports that, and leaves the rest of the status as it was.
fn cannot_create(deployment: &Value) -> bool {
    let conditions = deployment.at("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let mut progressing = conditions.filter(|one| object::text(one, "/type") == Some("Progressing"));
    progressing.any(|one| object::text(one, "/reason") == Some("ReplicaSetCreateError"))
}

fn object(value: &Arc<Value>) -> CachedObject {
    CachedObject { name: object::name(value).to_owned(), first: 0, value: Arc::clone(value) }
}

impl ClusterState {
    /// Apply one version. With `can_judge` the history that led to it is known.
    pub(super) fn apply(&mut self, observed: &ObservedVersion, can_judge: bool) -> Vec<BreachCandidate> {
        let version = &observed.version;
        let key = (version.kind.clone(), observed.namespace.clone(), version.name.clone());
        let is_gone = version.change == ChangeType::Deleted;
        let is_old = |tracked: &TrackedObject| version.rv < tracked.rv || version.rv == tracked.rv && !is_gone;
        if self.tracked.get(&key).is_some_and(is_old) {
            return Vec::new();
        }
        let owner = observed::owner(&version.object).map(str::to_owned);
        let tracked = TrackedObject { rv: version.rv, uid: uid(&version.object).to_owned(), owner };
        // Pods without an owner, or of another kind's, are not stored.
        let is_strange = version.kind == POD && tracked.owner.is_none();
        let before = if is_gone || is_strange { self.tracked.remove(&key) } else { self.tracked.insert(key, tracked) };
        match version.kind.as_str() {
            DEPLOYMENT => self.deployment(observed, can_judge),
            REPLICA_SET => self.replica_set(observed, can_judge),
            _ => {
                self.pod(observed, before.and_then(|before| before.owner));
                Vec::new()
            }
        }
    }

    /// The next status that is wrong although what it sums up has not changed for some time.
    pub(super) fn wrong_status(&mut self, now: u64) -> Option<BreachCandidate> {
        while let Some(uid) = self.status_timers.next(now) {
            let wrong = find_wrong_status(self, &uid);
            if wrong.is_none() {
                self.clear_excuses(&uid);
            }
            let of = if self.groups.contains_key(&uid) { Some(uid.as_str()) } else { self.group_of_set(&uid) };
            if let (Some(detail), Some(group)) = (wrong, of) {
                return Some(BreachCandidate { group: group.to_owned(), invariant: None, detail, rv: None, at: now });
            }
        }
        None
    }

    fn deployment(&mut self, observed: &ObservedVersion, can_judge: bool) -> Vec<BreachCandidate> {
        let version = &observed.version;
        let id = uid(&version.object).to_owned();
        let broken = self.broken_bounds(&id);
        let since = observed.earliest.saturating_sub(self.terms.staleness);
        self.forget_detached_sets(&id, since);
        if !self.groups.contains_key(&id) {
            self.add_group(&id, version.at);
        }
        let group = self.groups.entry(id.clone()).or_default();
        (group.namespace, group.name) = (observed.namespace.clone(), version.name.clone());
        group.deployment.forget(since);
        let after = (version.change != ChangeType::Deleted).then(|| version.object.value());
        let before = group.deployment.put(after.clone(), version.at);
        self.keep_version(&id, version.clone());
        let generation = |object: Option<&Arc<Value>>| object.map(|it| count(it, "/metadata/generation"));
        let is_new = generation(before.as_ref()) != generation(after.as_ref());
        if is_new {
            self.excuse(&id, &broken);
        }
        let due = version.at + self.terms.settle;
        match after {
            None => {
                self.status_timers.drop(&id);
                self.deleted_deployments.insert(id.clone());
            }
            Some(_) if is_new => self.status_timers.restart(&id, due),
            Some(_) => self.status_timers.status_written(&id, due),
        }
        let is_decision = can_judge && observed.author.wrote_revision(&self.controllers);
        let candidates =
            if is_decision { deployment_breaches(self, &id, observed, before.as_deref()) } else { Vec::new() };
        self.without_excused(&id, candidates)
    }

    fn replica_set(&mut self, observed: &ObservedVersion, can_judge: bool) -> Vec<BreachCandidate> {
        let version = &observed.version;
        let set = uid(&version.object).to_owned();
        let after = (version.change != ChangeType::Deleted).then(|| version.object.value());
        let was = self
            .sets
            .get(&set)
            .and_then(ObjectHistory::now)
            .and_then(|before| observed::owner(before))
            .map(str::to_owned);
        let is = after.as_deref().and_then(observed::owner).map(str::to_owned);
        let group = is.clone().or_else(|| was.clone());
        let past = self.sets.entry(set.clone()).or_default();
        past.forget(observed.earliest.saturating_sub(self.terms.staleness));
        let before = past.put(after.clone(), version.at);
        let due = version.at + self.terms.settle;
        if after.is_none() {
            self.status_timers.drop(&set);
        } else if before.as_deref().map(observed::set_fields) != after.as_deref().map(observed::set_fields) {
            self.status_timers.restart(&set, due);
        } else {
            self.status_timers.status_written(&set, due);
        }
        if before.as_deref().map(observed::summed_fields) != after.as_deref().map(observed::summed_fields) {
            [&was, &is].into_iter().flatten().for_each(|group| self.status_timers.restart(group, due));
        }
        let Some(group) = group.filter(|group| self.groups.contains_key(group)) else {
            if after.is_none() {
                self.sets.remove(&set);
            }
            return Vec::new();
        };
        if was != is && after.is_some() {
            self.join(&group, &set);
        }
        let size = |object: Option<&Arc<Value>>| object.map(|set| replicas(set));
        let is_written = size(before.as_ref()) != size(after.as_ref()) || was != is;
        let is_decision = is_written && after.is_some() && observed.author.wrote_size(&self.controllers);
        // How much it adds to the total size of the Deployment's ReplicaSets.
        let adds =
            |owner: &Option<String>, set| if owner.as_ref() == Some(&group) { size(set).unwrap_or(0) } else { 0 };
        let is_foreign = !is_decision && adds(&was, before.as_ref()) != adds(&is, after.as_ref());
        let by = if is_foreign { WriterRole::Driver } else { WriterRole::Other };
        self.keep_version(&group, ObjectVersion { by, ..version.clone() });
        if is_foreign {
            self.excuse_sizes(&group);
        }
        if !is_decision || !can_judge {
            return Vec::new();
        }
        let candidates = replica_set_breaches(self, &group, observed, before.as_deref());
        self.without_excused(&group, candidates)
    }

    fn pod(&mut self, observed: &ObservedVersion, was: Option<String>) {
        let version = &observed.version;
        let is = observed::owner(&version.object).filter(|_| version.change != ChangeType::Deleted).map(str::to_owned);
        let before = was.as_ref().and_then(|set| {
            let pods = self.pods.get_mut(set)?;
            let before = pods.remove(&version.name);
            if pods.is_empty() {
                self.pods.remove(set);
            }
            before
        });
        if let Some(set) = &is {
            self.pods.entry(set.clone()).or_default().insert(version.name.clone(), version.object.value());
        }
        if was != is || before.as_deref().map(observed::pod_fields) != Some(observed::pod_fields(&version.object)) {
            let due = version.at + self.terms.settle;
            [&was, &is].into_iter().flatten().for_each(|set| self.status_timers.restart(set, due));
        }
        let group = is.or(was).and_then(|set| self.group_of_set(&set).map(str::to_owned));
        if let Some(group) = group {
            self.keep_version(&group, version.clone());
        }
    }
}
