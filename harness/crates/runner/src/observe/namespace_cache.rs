//! The cache of one namespace: its objects and their indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_recording::{ChangeType, ObjectVersion, Trouble};
use lockstep_workload::Claims;
use serde_json::Value;

use super::equation_tracker::{EquationScope, EquationTracker, NamespaceView};
use super::pod_index::{PodIndex, PodState};
use super::replica_set_index::ReplicaSetIndex;
use super::{CachedObject, WatchedKind, equations};

#[derive(Debug, Default)]
pub(super) struct NamespaceCache {
    objects: BTreeMap<WatchedKind, BTreeMap<String, CachedObject>>,
    pods: PodIndex,
    sets: ReplicaSetIndex,
    equations: EquationTracker,
    /// Every version since the journal was read last; `None` if there is no journal.
    pub(super) journal: Option<Vec<ObjectVersion>>,
    /// The number of versions so far, without Events.
    pub(super) activity: u64,
    claims: Claims,
}

impl NamespaceCache {
    /// An empty cache for a controller with these claims.
    pub(super) fn with_claims(claims: Claims) -> Self {
        Self { claims, ..Self::default() }
    }

    /// All objects of a kind, by name.
    pub(super) fn all(&self, kind: WatchedKind) -> impl Iterator<Item = &CachedObject> {
        self.objects.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    pub(super) fn get(&self, kind: WatchedKind, name: &str) -> Option<&CachedObject> {
        self.objects.get(&kind)?.get(name)
    }

    pub(super) fn next_pods(&self, states: &[PodState], sets: Option<&[u64]>, most: usize) -> Vec<CachedObject> {
        let names = self.pods.next(states, sets, most);
        names.iter().filter_map(|name| self.get(WatchedKind::Pod, name).cloned()).collect()
    }

    /// The pods that a kubelet has to act on, the oldest first.
    pub(super) fn pods_awaiting_kubelet(&self) -> Vec<CachedObject> {
        self.pods.awaits_kubelet().filter_map(|name| self.get(WatchedKind::Pod, name).cloned()).collect()
    }

    /// Whether an owner has several ReplicaSets with replicas.
    pub(super) fn has_several_in_use(&self) -> bool {
        self.sets.several_in_use()
    }

    /// The creation time of the newest ReplicaSet, as the API writes it.
    pub(super) fn last_created(&self) -> Option<&str> {
        self.sets.last_created()
    }

    /// The first violation.
    pub(super) fn first_unmet(&mut self, scope: EquationScope<'_>) -> Option<Trouble> {
        let Self { objects, pods, sets, equations, claims, .. } = self;
        equations.first_unmet(&NamespaceView { objects, pods, sets, claims: *claims }, scope)
    }

    /// Whether a completed Deployment still has more empty old ReplicaSets than its history limit.
    pub(super) fn history_pending(&mut self) -> bool {
        let Self { objects, pods, sets, equations, claims, .. } = self;
        equations.history_pending(&NamespaceView { objects, pods, sets, claims: *claims })
    }

    /// Apply a version.
    pub(super) fn apply(&mut self, kind: WatchedKind, change: ChangeType, name: &str, rv: u64, value: Arc<Value>) {
        self.activity += u64::from(kind != WatchedKind::Event);
        // The journal has a case's Events, which are only needed in the recording.
        if kind == WatchedKind::Event && self.journal.is_some() {
            return;
        }
        let all = self.objects.entry(kind).or_default();
        let before = if change == ChangeType::Deleted {
            all.remove(name)
        } else {
            let first = all.get(name).map_or(rv, |known| known.first);
            all.insert(name.to_owned(), CachedObject { name: name.to_owned(), first, value })
        };
        match kind {
            WatchedKind::Deployment => self.deployment_changed(name, before.as_ref()),
            WatchedKind::ReplicaSet => self.set_changed(name, before.as_ref()),
            WatchedKind::Pod => self.pod_changed(name),
            WatchedKind::Event
            | WatchedKind::StatefulSet
            | WatchedKind::DaemonSet
            | WatchedKind::CronJob
            | WatchedKind::Job
            | WatchedKind::Rollout => {}
        }
    }

    fn deployment_changed(&mut self, name: &str, before: Option<&CachedObject>) {
        self.equations.mark_changed(WatchedKind::Deployment, name);
        let ownership =
            |object: &CachedObject| (object.text("/metadata/uid").to_owned(), equations::deletes_dependents(object));
        let now = self.get(WatchedKind::Deployment, name).map(ownership);
        let before = before.map(ownership);
        if now == before {
            return;
        }
        let (before, now) = (before.map(|(uid, _)| (uid, None)), now.map(|(uid, _)| (uid, Some(name))));
        for (uid, name) in before.into_iter().chain(now) {
            self.sets.put_deployment(&uid, name);
            for set in self.sets.referring(&uid) {
                self.equations.mark_changed(WatchedKind::ReplicaSet, set);
            }
        }
    }

    fn set_changed(&mut self, name: &str, before: Option<&CachedObject>) {
        self.equations.mark_changed(WatchedKind::ReplicaSet, name);
        let set = self.objects.get(&WatchedKind::ReplicaSet).and_then(|all| all.get(name));
        let deployments = |sets: &ReplicaSetIndex| {
            let controller = sets.controller(name)?;
            sets.deployment(controller).map(str::to_owned)
        };
        let was = deployments(&self.sets);
        self.sets.put(name, set);
        let is = deployments(&self.sets);
        for deployment in was.into_iter().chain(is) {
            self.equations.mark_changed(WatchedKind::Deployment, &deployment);
        }
        // The counts of its pods depend on its selector, which does not change while it exists.
        let identity = |object: &CachedObject| {
            (object.text("/metadata/uid").to_owned(), object.first, equations::deletes_dependents(object))
        };
        let (was, is) = (before.map(identity), set.map(identity));
        if was == is {
            return;
        }
        let uids: Vec<String> = was.into_iter().chain(is).map(|(uid, ..)| uid).collect();
        for uid in uids {
            let pods: Vec<String> =
                self.pods.owner_counts(&uid).into_iter().flat_map(|owner| owner.pods.clone()).collect();
            pods.iter().for_each(|pod| self.pod_changed(pod));
        }
    }

    fn pod_changed(&mut self, name: &str) {
        self.equations.mark_changed(WatchedKind::Pod, name);
        self.mark_set_of(name);
        let Some(pod) = self.objects.get(&WatchedKind::Pod).and_then(|all| all.get(name)) else {
            return self.pods.remove(name);
        };
        let set = pod.owner().and_then(|uid| self.sets.name_of(uid));
        let set = set.and_then(|set| self.objects.get(&WatchedKind::ReplicaSet)?.get(set));
        self.pods.put(pod, set);
        self.mark_set_of(name);
    }

    /// Mark the ReplicaSet of a pod: its equations must be evaluated again.
    fn mark_set_of(&mut self, pod: &str) {
        if let Some(set) = self.pods.controller(pod).and_then(|uid| self.sets.name_of(uid)) {
            self.equations.mark_changed(WatchedKind::ReplicaSet, set);
        }
    }
}
