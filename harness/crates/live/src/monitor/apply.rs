//! Applies each version to the cluster state, and finds the invariants that it breaks.

use std::sync::Arc;

use lockstep_recording::{ChangeType, ObjectVersion, WriterRole};
use lockstep_timeline::object::{self, uid};
use serde_json::Value;

use super::cluster_state::{ClusterState, ObjectHistory, TrackedObject};
use super::judge;
use super::model::{BreachCandidate, DEPLOYMENT, POD, REPLICA_SET};
use super::observed::{self, ObservedVersion};

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
            let wrong = judge::find_wrong_status(self, &uid);
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
        let since = version.at.saturating_sub(self.terms.staleness);
        self.forget_detached_sets(&id, since);
        let group = self.groups.entry(id.clone()).or_default();
        (group.namespace, group.name) = (observed.namespace.clone(), version.name.clone());
        group.deployment.forget(since);
        let after = (version.change != ChangeType::Deleted).then(|| version.object.value());
        let before = group.deployment.put(after.clone(), version.at);
        self.keep_version(&id, version.clone());
        let generation = |object: Option<&Arc<Value>>| object.map(|it| object::count(it, "/metadata/generation"));
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
            if is_decision { judge::deployment(self, &id, version, before.as_deref()) } else { Vec::new() };
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
        past.forget(version.at.saturating_sub(self.terms.staleness));
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
        let size = |object: Option<&Arc<Value>>| object.map(|set| object::replicas(set));
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
        let candidates = judge::replica_set(self, &group, version, before.as_deref());
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
