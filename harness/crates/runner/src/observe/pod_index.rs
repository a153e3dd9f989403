//! An index of the pods of one namespace, by their possible next operations, with counts by owner.
//!
//! It is updated with each version that a watch delivers, so that neither the choice of the next
//! pod nor a count gets slower with the number of pods.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::equations::{kubelet_lags, selects};
use super::object::{CachedObject, OwnerCounts};

/// The state of a pod between steps, as far as a step may change it. A failed or succeeded pod has
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PodState {
    /// It is alive and not ready.
    Unready,
    /// It is alive and ready.
    Ready,
    /// It is being deleted.
    Deleting,
}

impl PodState {
    pub(crate) fn of(pod: &CachedObject) -> Option<Self> {
        match () {
            () if pod.deleting() => Some(Self::Deleting),
            () if !pod.alive() => None,
            () if pod.ready() => Some(Self::Ready),
            () => Some(Self::Unready),
        }
    }
}

/// Pods in the order of their first appearance.
type PodOrder = (u64, String);

#[derive(Debug, Default)]
pub(super) struct PodIndex {
    facts: BTreeMap<String, PodFacts>,
    owners: BTreeMap<String, OwnerCounts>,
    /// By state, then by the first appearance of the ReplicaSet, the newest first; pods without one
    /// come last.
    queues: BTreeMap<PodState, BTreeMap<Reverse<u64>, BTreeSet<PodOrder>>>,
    /// The pods that a kubelet has to act on: alive without a node, or terminating.
    awaits_kubelet: BTreeSet<PodOrder>,
    /// The pods that may violate an equation.
    suspects: BTreeSet<String>,
}

/// The indexed properties of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PodFacts {
    first: u64,
    /// The UIDs of all owners.
    references: BTreeSet<String>,
    /// The UID of the controller among them.
    controller: Option<String>,
    state: Option<PodState>,
    /// Terminating and not ended.
    terminating: bool,
    awaits_kubelet: bool,
    suspect: bool,
    /// The first appearance of its ReplicaSet.
    rank: Option<u64>,
    /// Whether its ReplicaSet selects it.
    selected: bool,
}

impl PodFacts {
    fn of(pod: &CachedObject, set: Option<&CachedObject>) -> Self {
        let references = pod.value.at("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
        let ended = matches!(pod.text("/status/phase"), "Failed" | "Succeeded");
        let awaits_kubelet = pod.deleting() || pod.alive() && pod.text("/spec/nodeName").is_empty();
        Self {
            first: pod.first,
            references: references.filter_map(|owner| owner["uid"].as_str()).map(str::to_owned).collect(),
            controller: pod.owner().map(str::to_owned),
            state: PodState::of(pod),
            terminating: pod.deleting() && !ended,
            awaits_kubelet,
            suspect: awaits_kubelet || kubelet_lags(pod).is_some(),
            rank: set.map(|set| set.first),
            selected: set.is_some_and(|set| selects(set, pod)),
        }
    }
}

impl PodIndex {
    /// Add or update a pod; `set` is the ReplicaSet that controls it, if known.
    pub(super) fn put(&mut self, pod: &CachedObject, set: Option<&CachedObject>) {
        let now = PodFacts::of(pod, set);
        if self.facts.get(&pod.name) == Some(&now) {
            return;
        }
        self.remove(&pod.name);
        self.count(&pod.name, &now, true);
        self.facts.insert(pod.name.clone(), now);
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Some(facts) = self.facts.remove(name) {
            self.count(name, &facts, false);
        }
    }

    /// The pods of these ReplicaSets, or of all, in these states, ordered by ReplicaSet, the newest
    /// first, then by their own appearance. At most `most`.
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
            let mut places: Vec<&PodOrder> =
                of_rank.flat_map(|places| places.iter().take(most - found.len())).collect();
            places.sort_unstable();
            places.truncate(most - found.len());
            found.extend(places.into_iter().map(|(_, name)| name.clone()));
            if found.len() == most {
                break;
            }
        }
        found
    }

    /// The pods that a kubelet has to act on, by first appearance.
    pub(super) fn awaits_kubelet(&self) -> impl Iterator<Item = &str> {
        self.awaits_kubelet.iter().map(|(_, name)| name.as_str())
    }

    /// The pods that may violate an equation, by name.
    pub(super) fn suspects(&self) -> impl Iterator<Item = &str> {
        self.suspects.iter().map(String::as_str)
    }

    pub(super) fn owner_counts(&self, uid: &str) -> Option<&OwnerCounts> {
        self.owners.get(uid)
    }

    /// The UID of a pod's controller.
    pub(super) fn controller(&self, pod: &str) -> Option<&str> {
        self.facts.get(pod)?.controller.as_deref()
    }

    fn count(&mut self, name: &str, facts: &PodFacts, comes: bool) {
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
            if *owner == OwnerCounts::default() {
                self.owners.remove(uid);
            }
        }
        let place = (facts.first, name.to_owned());
        if facts.suspect {
            put(&mut self.suspects, name.to_owned(), comes);
        }
        if facts.awaits_kubelet {
            put(&mut self.awaits_kubelet, place.clone(), comes);
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

/// Insert a value that comes, or remove one that goes.
pub(super) fn put<T: Ord>(set: &mut BTreeSet<T>, value: T, comes: bool) {
    if comes {
        set.insert(value);
    } else {
        set.remove(&value);
    }
}
