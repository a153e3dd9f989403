//! An index of the ReplicaSets and Deployments of one namespace, by UID and by owner.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::CachedObject;
use super::pod_index::put;

#[derive(Debug, Default)]
pub(super) struct ReplicaSetIndex {
    /// Names of Deployments by UID.
    deployments: BTreeMap<String, String>,
    /// Names of ReplicaSets by UID.
    sets: BTreeMap<String, String>,
    facts: BTreeMap<String, ReplicaSetFacts>,
    /// ReplicaSets by the UID of their controller.
    by_controller: BTreeMap<String, BTreeSet<String>>,
    /// ReplicaSets by the UIDs of all their owners.
    by_owner: BTreeMap<String, BTreeSet<String>>,
    /// The creation times, as the API writes them, with the names.
    created: BTreeSet<(String, String)>,
    /// How many ReplicaSets in use each controller has, and how many controllers have several.
    in_use: BTreeMap<String, usize>,
    crowded: usize,
}

/// The indexed properties of a ReplicaSet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReplicaSetFacts {
    uid: String,
    controller: Option<String>,
    owners: BTreeSet<String>,
    created: String,
    in_use: bool,
}

impl ReplicaSetFacts {
    fn of(set: &CachedObject) -> Self {
        let owners = set.value.at("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
        Self {
            uid: set.text("/metadata/uid").to_owned(),
            controller: set.owner().map(str::to_owned),
            owners: owners.filter_map(|owner| owner["uid"].as_str()).map(str::to_owned).collect(),
            created: set.text("/metadata/creationTimestamp").to_owned(),
            in_use: set.int("/spec/replicas") > 0,
        }
    }
}

impl ReplicaSetIndex {
    /// The name of the ReplicaSet with this UID.
    pub(super) fn name_of(&self, uid: &str) -> Option<&str> {
        self.sets.get(uid).map(String::as_str)
    }

    /// The name of the Deployment with this UID.
    pub(super) fn deployment(&self, uid: &str) -> Option<&str> {
        self.deployments.get(uid).map(String::as_str)
    }

    /// The names of the ReplicaSets that this object controls.
    pub(super) fn controlled_by(&self, controller: &str) -> impl Iterator<Item = &str> + Clone {
        self.by_controller.get(controller).into_iter().flatten().map(String::as_str)
    }

    /// The names of the ReplicaSets that refer to this owner.
    pub(super) fn referring(&self, owner: &str) -> impl Iterator<Item = &str> {
        self.by_owner.get(owner).into_iter().flatten().map(String::as_str)
    }

    /// The UID of a ReplicaSet's controller.
    pub(super) fn controller(&self, set: &str) -> Option<&str> {
        self.facts.get(set)?.controller.as_deref()
    }

    /// The creation time of the newest ReplicaSet, as the API writes it.
    pub(super) fn last_created(&self) -> Option<&str> {
        self.created.last().map(|(time, _)| time.as_str())
    }

    /// Whether a controller has several ReplicaSets with replicas.
    pub(super) fn several_in_use(&self) -> bool {
        self.crowded > 0
    }

    /// A Deployment with this UID exists, or no longer does; returns whether that is new.
    pub(super) fn put_deployment(&mut self, uid: &str, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.deployments.insert(uid.to_owned(), name.to_owned()).is_none(),
            None => self.deployments.remove(uid).is_some(),
        }
    }

    /// Add, update or remove a ReplicaSet; returns whether it appeared or disappeared.
    pub(super) fn put(&mut self, name: &str, set: Option<&CachedObject>) -> bool {
        let now = set.map(ReplicaSetFacts::of);
        if now.as_ref() == self.facts.get(name) {
            return false;
        }
        let before = match now.clone() {
            Some(now) => self.facts.insert(name.to_owned(), now),
            None => self.facts.remove(name),
        };
        if let Some(before) = &before {
            self.count(name, before, false);
        }
        if let Some(now) = &now {
            self.count(name, now, true);
        }
        before.map(|it| it.uid) != now.map(|it| it.uid)
    }

    fn count(&mut self, name: &str, facts: &ReplicaSetFacts, comes: bool) {
        put(&mut self.created, (facts.created.clone(), name.to_owned()), comes);
        if comes {
            self.sets.insert(facts.uid.clone(), name.to_owned());
        } else {
            self.sets.remove(&facts.uid);
        }
        for owner in &facts.owners {
            put_under(&mut self.by_owner, owner, name, comes);
        }
        let Some(controller) = &facts.controller else { return };
        put_under(&mut self.by_controller, controller, name, comes);
        if facts.in_use {
            let number = self.in_use.entry(controller.clone()).or_default();
            let before = *number;
            *number = if comes { before + 1 } else { before - 1 };
            match (before, *number) {
                (1, 2) => self.crowded += 1,
                (2, 1) => self.crowded -= 1,
                (_, 0) => drop(self.in_use.remove(controller)),
                _ => {}
            }
        }
    }
}

fn put_under(index: &mut BTreeMap<String, BTreeSet<String>>, key: &str, name: &str, comes: bool) {
    let names = index.entry(key.to_owned()).or_default();
    put(names, name.to_owned(), comes);
    if names.is_empty() {
        index.remove(key);
    }
}
