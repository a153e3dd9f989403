//! The pods of one namespace, by what can happen to them next and counted by who owns them.
//!
//! Kept with each version that a watch delivers, so that neither the choice of the next pod nor a
//! count costs more where there are more pods.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::equations::{kubelet_lags, selects};
use super::object::{Object, Owner};
use crate::pointer::At;

/// What a pod is in between steps, as far as a step may change it. One that has failed or succeeded
/// is in none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodState {
    /// It is alive and not ready.
    Unready,
    /// It is alive and ready.
    Ready,
    /// It is being deleted.
    Deleting,
}

impl PodState {
    /// The state of a pod.
    pub fn of(pod: &Object) -> Option<Self> {
        match () {
            () if pod.deleting() => Some(Self::Deleting),
            () if !pod.alive() => None,
            () if pod.ready() => Some(Self::Ready),
            () => Some(Self::Unready),
        }
    }
}

/// A pod by its first appearance.
type Place = (u64, String);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pods {
    facts: BTreeMap<String, Facts>,
    owners: BTreeMap<String, Owner>,
    /// By state, then by the first appearance of the ReplicaSet, the newest first; pods without one
    /// come last.
    queues: BTreeMap<PodState, BTreeMap<Reverse<u64>, BTreeSet<Place>>>,
    /// Those that nodes have to do something about: alive without a node, or being deleted.
    restless: BTreeSet<Place>,
    /// Those that may not be where they belong.
    suspects: BTreeSet<String>,
}

/// What counts of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    first: u64,
    /// The UIDs of all owners.
    references: BTreeSet<String>,
    /// The UID of the controller among them.
    controller: Option<String>,
    state: Option<PodState>,
    /// Being deleted, and not at its end.
    terminating: bool,
    restless: bool,
    suspect: bool,
    /// The first appearance of its ReplicaSet.
    rank: Option<u64>,
    /// Whether that selects it.
    selected: bool,
}

impl Facts {
    fn of(pod: &Object, set: Option<&Object>) -> Self {
        let references = pod.value.at("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
        let ended = matches!(pod.text("/status/phase"), "Failed" | "Succeeded");
        let restless = pod.deleting() || pod.alive() && pod.text("/spec/nodeName").is_empty();
        Self {
            first: pod.first,
            references: references.filter_map(|owner| owner["uid"].as_str()).map(str::to_owned).collect(),
            controller: pod.owner().map(str::to_owned),
            state: PodState::of(pod),
            terminating: pod.deleting() && !ended,
            restless,
            suspect: restless || kubelet_lags(pod).is_some(),
            rank: set.map(|set| set.first),
            selected: set.is_some_and(|set| selects(set, pod)),
        }
    }
}

impl Pods {
    /// A pod came or changed; `set` is the ReplicaSet that controls it, if that is known.
    pub(super) fn put(&mut self, pod: &Object, set: Option<&Object>) {
        let now = Facts::of(pod, set);
        if self.facts.get(&pod.name) == Some(&now) {
            return;
        }
        self.remove(&pod.name);
        self.count(&pod.name, &now, true);
        self.facts.insert(pod.name.clone(), now);
    }

    /// A pod is gone.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(facts) = self.facts.remove(name) {
            self.count(name, &facts, false);
        }
    }

    /// The pods of these ReplicaSets, or of all, in these states: in the order of their
    /// ReplicaSets, the newest first, then of their own appearance. No more than so many.
    pub(super) fn next(&self, states: &[PodState], sets: Option<&[u64]>, most: usize) -> Vec<String> {
        let queues: Vec<_> = states.iter().filter_map(|state| self.queues.get(state)).collect();
        let ranks: BTreeSet<Reverse<u64>> = match sets {
            Some(sets) => sets.iter().map(|first| Reverse(*first)).collect(),
            None if most == 1 => queues.iter().filter_map(|queue| queue.keys().next()).copied().collect(),
            None => queues.iter().flat_map(|queue| queue.keys()).copied().collect(),
        };
        let mut found = Vec::new();
        for rank in ranks {
            let of_rank = queues.iter().filter_map(|queue| queue.get(&rank));
            let mut places: Vec<&Place> = of_rank.flat_map(|places| places.iter().take(most - found.len())).collect();
            places.sort_unstable();
            places.truncate(most - found.len());
            found.extend(places.into_iter().map(|(_, name)| name.clone()));
            if found.len() == most {
                break;
            }
        }
        found
    }

    /// Those that nodes have to do something about, by first appearance.
    pub(super) fn restless(&self) -> impl Iterator<Item = &str> {
        self.restless.iter().map(|(_, name)| name.as_str())
    }

    /// Those that may not be where they belong, by name.
    pub(super) fn suspects(&self) -> impl Iterator<Item = &str> {
        self.suspects.iter().map(String::as_str)
    }

    /// What is counted for an owner.
    pub(super) fn of(&self, uid: &str) -> Option<&Owner> {
        self.owners.get(uid)
    }

    /// The UID of a pod's controller.
    pub(super) fn controller(&self, pod: &str) -> Option<&str> {
        self.facts.get(pod)?.controller.as_deref()
    }

    fn count(&mut self, name: &str, facts: &Facts, comes: bool) {
        let step = |number: &mut usize, by: bool| {
            let by = usize::from(by);
            *number = if comes { *number + by } else { *number - by };
        };
        for uid in &facts.references {
            let owner = self.owners.entry(uid.clone()).or_default();
            put(&mut owner.pods, name.to_owned(), comes);
            if facts.controller.as_ref() == Some(uid) {
                step(&mut owner.controlled, true);
                let alive = matches!(facts.state, Some(PodState::Ready | PodState::Unready));
                step(&mut owner.alive, facts.selected && alive);
                step(&mut owner.ready, facts.selected && facts.state == Some(PodState::Ready));
                step(&mut owner.terminating, facts.selected && facts.terminating);
            }
            if *owner == Owner::default() {
                self.owners.remove(uid);
            }
        }
        let place = (facts.first, name.to_owned());
        if facts.suspect {
            put(&mut self.suspects, name.to_owned(), comes);
        }
        if facts.restless {
            put(&mut self.restless, place.clone(), comes);
        }
        if let Some(state) = facts.state {
            let (queue, rank) = (self.queues.entry(state).or_default(), Reverse(facts.rank.unwrap_or(0)));
            let places = queue.entry(rank).or_default();
            put(places, place, comes);
            if places.is_empty() {
                queue.remove(&rank);
            }
        }
    }
}

fn put<T: Ord>(set: &mut BTreeSet<T>, value: T, comes: bool) {
    if comes {
        set.insert(value);
    } else {
        set.remove(&value);
    }
}
