//! Decides whether a decision breaks an invariant, whichever of the last states its controller
//! acted on, and whether a status sums up its objects, when nothing has changed for some time.

use std::sync::Arc;

use lockstep_recording::ObjectVersion;
use lockstep_runner::observe::{CachedObject, deployment_status, replica_set_status};
use lockstep_timeline::object::{count, deleting, replicas, revision, uid};
use lockstep_timeline::{Invariant, InvariantBreach, LiveWrite};
use lockstep_workload::Claims;
use serde_json::Value;

use super::cluster_state::{ClusterState, DeploymentState, ObjectHistory};
use super::model::BreachCandidate;
use super::observed;

/// Breaches by a controller that wrote the size of a ReplicaSet of this Deployment.
pub(super) fn replica_set(
    cluster_state: &ClusterState,
    id: &str,
    version: &ObjectVersion,
    before: Option<&Value>,
) -> Vec<BreachCandidate> {
    let Some(group) = cluster_state.groups.get(id) else { return Vec::new() };
    let Some(deployment) = group.deployment.now() else { return Vec::new() };
    let others: Vec<&Value> = other_sets(cluster_state, id, group, uid(&version.object)).collect();
    let suspected = LiveWrite { version, before, deployment, other_sets: others }.breaches();
    let is_sure = |breach: &InvariantBreach| {
        PossibleViews::new(cluster_state, id, group, version).confirms(breach.invariant, before)
    };
    suspected.into_iter().filter(is_sure).map(|breach| candidate(id, version, breach)).collect()
}

/// Breaches by a controller that wrote the revision of this Deployment: it may decrease, but not
/// below that of an existing ReplicaSet.
pub(super) fn deployment(
    cluster_state: &ClusterState,
    id: &str,
    version: &ObjectVersion,
    before: Option<&Value>,
) -> Vec<BreachCandidate> {
    let Some(group) = cluster_state.groups.get(id) else { return Vec::new() };
    let Some(new) = revision(&version.object) else { return Vec::new() };
    let others: Vec<&Value> = other_sets(cluster_state, id, group, "").collect();
    let suspected = LiveWrite { version, before, deployment: &version.object, other_sets: others }.breaches();
    let views = PossibleViews::new(cluster_state, id, group, version);
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
        version: &'a ObjectVersion,
    ) -> Self {
        let own = uid(&version.object);
        let others = group.sets.iter().filter(|set| *set != own).filter_map(|set| cluster_state.sets.get(set));
        let since = version.at.saturating_sub(cluster_state.staleness());
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
            let moment = LiveWrite { version: self.version, before: before.as_ref(), deployment, other_sets: others };
            moment.breaches().iter().any(|breach| breach.invariant == invariant)
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
pub(super) fn find_wrong_status(cluster_state: &ClusterState, uid: &str) -> Option<String> {
    match cluster_state.groups.get(uid) {
        Some(group) => {
            let sets: Vec<CachedObject> = cluster_state.sets_of(uid, group).map(object).collect();
            deployment_status(&object(group.deployment.now()?), &sets.iter(), Claims::default())
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

fn object(value: &Arc<Value>) -> CachedObject {
    CachedObject { name: lockstep_timeline::object::name(value).to_owned(), first: 0, value: Arc::clone(value) }
}
