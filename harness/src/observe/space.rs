//! One namespace as the watches have delivered it: its objects, and what is asked of them again and
//! again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::balance::{Balance, Question, View};
use super::pods::{PodState, Pods};
use super::sets::Sets;
use super::{Kind, Object};
use crate::recording::{Change, Trouble, Version};
use crate::workload::Claims;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Space {
    objects: BTreeMap<Kind, BTreeMap<String, Object>>,
    pods: Pods,
    sets: Sets,
    balance: Balance,
    /// Every version since it was read last, where versions are kept.
    pub(super) journal: Option<Vec<Version>>,
    /// How many versions of other kinds than Event there have been.
    pub(super) activity: u64,
    claims: Claims,
}

impl Space {
    /// Without objects, where this is claimed of a Deployment.
    pub(super) fn claiming(claims: Claims) -> Self {
        Self { claims, ..Self::default() }
    }

    /// All objects of a kind, by name.
    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        self.objects.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    /// One object.
    pub(super) fn get(&self, kind: Kind, name: &str) -> Option<&Object> {
        self.objects.get(&kind)?.get(name)
    }

    /// See [`World::next_pods`](super::World::next_pods).
    pub(super) fn next_pods(&self, states: &[PodState], sets: Option<&[u64]>, most: usize) -> Vec<Object> {
        let names = self.pods.next(states, sets, most);
        names.iter().filter_map(|name| self.get(Kind::Pod, name).cloned()).collect()
    }

    /// The pods that nodes have to do something about, the oldest first.
    pub(super) fn restless_pods(&self) -> Vec<Object> {
        self.pods.restless().filter_map(|name| self.get(Kind::Pod, name).cloned()).collect()
    }

    /// Whether an owner has several ReplicaSets that want pods.
    pub(super) fn has_several_in_use(&self) -> bool {
        self.sets.several_in_use()
    }

    /// When the last ReplicaSet was created, as the API writes times.
    pub(super) fn last_created(&self) -> Option<&str> {
        self.sets.last_created()
    }

    /// The first equation that does not hold.
    pub(super) fn unmet(&mut self, question: Question<'_>) -> Option<Trouble> {
        let Self { objects, pods, sets, balance, claims, .. } = self;
        balance.unmet(&View { objects, pods, sets, claims: *claims }, question)
    }

    /// Whether a completed Deployment still has more empty old ReplicaSets than its history limit.
    pub(super) fn history_pending(&mut self) -> bool {
        let Self { objects, pods, sets, balance, claims, .. } = self;
        balance.history_pending(&View { objects, pods, sets, claims: *claims })
    }

    /// Take a version in.
    pub(super) fn take(&mut self, kind: Kind, change: Change, name: &str, rv: u64, value: Arc<Value>) {
        self.activity += u64::from(kind != Kind::Event);
        // The journal has a case's Events, and nothing asks for them before it is read.
        if kind == Kind::Event && self.journal.is_some() {
            return;
        }
        let all = self.objects.entry(kind).or_default();
        let before = if change == Change::Deleted {
            all.remove(name)
        } else {
            let first = all.get(name).map_or(rv, |known| known.first);
            all.insert(name.to_owned(), Object { name: name.to_owned(), first, value })
        };
        match kind {
            Kind::Deployment => self.deployment_changed(name, before.as_ref()),
            Kind::ReplicaSet => self.set_changed(name, before.as_ref()),
            Kind::Pod => self.pod_changed(name),
            Kind::Event | Kind::StatefulSet | Kind::DaemonSet | Kind::CronJob | Kind::Job | Kind::Rollout => {}
        }
    }

    fn deployment_changed(&mut self, name: &str, before: Option<&Object>) {
        self.balance.changed(Kind::Deployment, name);
        let uid = |object: &Object| object.text("/metadata/uid").to_owned();
        let now = self.get(Kind::Deployment, name).map(uid);
        let before = before.map(uid);
        if now == before {
            return;
        }
        for (uid, name) in before.map(|uid| (uid, None)).into_iter().chain(now.map(|uid| (uid, Some(name)))) {
            self.sets.put_deployment(&uid, name);
            for set in self.sets.referring(&uid) {
                self.balance.changed(Kind::ReplicaSet, set);
            }
        }
    }

    fn set_changed(&mut self, name: &str, before: Option<&Object>) {
        self.balance.changed(Kind::ReplicaSet, name);
        let set = self.objects.get(&Kind::ReplicaSet).and_then(|all| all.get(name));
        let deployments = |sets: &Sets| {
            let controller = sets.controller(name)?;
            sets.deployment(controller).map(str::to_owned)
        };
        let was = deployments(&self.sets);
        self.sets.put(name, set);
        let is = deployments(&self.sets);
        for deployment in was.into_iter().chain(is) {
            self.balance.changed(Kind::Deployment, &deployment);
        }
        // Its pods are counted by what it selects, which does not change while it is there.
        let identity = |object: &Object| (object.text("/metadata/uid").to_owned(), object.first);
        let (was, is) = (before.map(identity), set.map(identity));
        if was == is {
            return;
        }
        let uids: Vec<String> = was.into_iter().chain(is).map(|(uid, _)| uid).collect();
        for uid in uids {
            let pods: Vec<String> = self.pods.of(&uid).into_iter().flat_map(|owner| owner.pods.clone()).collect();
            pods.iter().for_each(|pod| self.pod_changed(pod));
        }
    }

    fn pod_changed(&mut self, name: &str) {
        self.balance.changed(Kind::Pod, name);
        self.mark_set_of(name);
        let Some(pod) = self.objects.get(&Kind::Pod).and_then(|all| all.get(name)) else {
            return self.pods.remove(name);
        };
        let set = pod.owner().and_then(|uid| self.sets.named(uid));
        let set = set.and_then(|set| self.objects.get(&Kind::ReplicaSet)?.get(set));
        self.pods.put(pod, set);
        self.mark_set_of(name);
    }

    /// The equations of a pod's ReplicaSet may no longer hold.
    fn mark_set_of(&mut self, pod: &str) {
        if let Some(set) = self.pods.controller(pod).and_then(|uid| self.sets.named(uid)) {
            self.balance.changed(Kind::ReplicaSet, set);
        }
    }
}
