//! What the watches have shown so far: Deployments, ReplicaSets, pods, with the look-ups that rules and triggers need.
//!
//! A plain data structure. All maps are ordered, so what comes out of it is always in the same order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Deployment, Pod, ReplicaSet};

/// Namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}", self.namespace, self.name)
    }
}

/// All that is known.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    deployments: BTreeMap<Key, Arc<Deployment>>,
    replica_sets: BTreeMap<Key, Arc<ReplicaSet>>,
    /// ReplicaSets by namespace and UID of the managing owner; the empty UID is nobody's.
    by_owner: BTreeMap<(String, String), BTreeSet<String>>,
    pods: BTreeMap<Key, Pod>,
    /// Pods by UID of the managing owner.
    pods_by_owner: BTreeMap<String, BTreeSet<Key>>,
}

impl Cache {
    pub(crate) fn deployment(&self, key: &Key) -> Option<Arc<Deployment>> {
        self.deployments.get(key).cloned()
    }

    /// All Deployments there are, by namespace and name.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.deployments.keys().cloned().collect()
    }

    pub(crate) fn deployments_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Deployment>> {
        let from = Key::new(namespace, "");
        self.deployments
            .range(from..)
            .map(|(_, deployment)| deployment)
            .take_while(move |deployment| deployment.meta.namespace == namespace)
    }

    pub(crate) fn replica_set(&self, key: &Key) -> Option<Arc<ReplicaSet>> {
        self.replica_sets.get(key).cloned()
    }

    /// ReplicaSets that one Deployment owns or could adopt, oldest first.
    pub(crate) fn claimable(&self, namespace: &str, uid: &str) -> Vec<Arc<ReplicaSet>> {
        let mut found = self.owned_by(namespace, uid);
        found.extend(self.owned_by(namespace, ""));
        found.sort_by(|a, b| a.meta.age_order().cmp(&b.meta.age_order()));
        found
    }

    /// ReplicaSets that one Deployment owns, by name.
    pub(crate) fn owned_by(&self, namespace: &str, uid: &str) -> Vec<Arc<ReplicaSet>> {
        let names = self.by_owner.get(&(namespace.to_owned(), uid.to_owned()));
        names.into_iter().flatten().filter_map(|name| self.replica_set(&Key::new(namespace, name))).collect()
    }

    /// Pods that a ReplicaSet owns, by name.
    pub(crate) fn pods_of(&self, uid: &str) -> impl Iterator<Item = &Pod> {
        self.pods_by_owner.get(uid).into_iter().flatten().filter_map(|key| self.pods.get(key))
    }

    /// Puts in what a watch showed, or takes out what it showed gone; returns what was there before.
    pub(super) fn put_deployment(&mut self, key: &Key, now: Option<Arc<Deployment>>) -> Option<Arc<Deployment>> {
        match now {
            Some(deployment) => self.deployments.insert(key.clone(), deployment),
            None => self.deployments.remove(key),
        }
    }

    /// The same for a ReplicaSet.
    pub(super) fn put_replica_set(&mut self, key: &Key, now: Option<&Arc<ReplicaSet>>) -> Option<Arc<ReplicaSet>> {
        if let Some(now) = now {
            self.by_owner.entry(owner_of(now)).or_default().insert(key.name.clone());
        }
        let before = match now {
            Some(rs) => self.replica_sets.insert(key.clone(), rs.clone()),
            None => self.replica_sets.remove(key),
        };
        if let Some(before) = &before {
            let owner = owner_of(before);
            if now.map(|rs| owner_of(rs)).as_ref() != Some(&owner) {
                remove(&mut self.by_owner, &owner, &key.name);
            }
        }
        before
    }

    /// The same for a pod.
    pub(super) fn put_pod(&mut self, key: &Key, now: Option<Pod>) -> Option<Pod> {
        let uid = |pod: &Pod| pod.controller.as_ref().map_or(String::new(), |owner| owner.uid.clone());
        let new_owner = now.as_ref().map(uid);
        if let Some(owner) = &new_owner {
            self.pods_by_owner.entry(owner.clone()).or_default().insert(key.clone());
        }
        let before = match now {
            Some(pod) => self.pods.insert(key.clone(), pod),
            None => self.pods.remove(key),
        };
        if let Some(owner) = before.as_ref().map(uid)
            && new_owner.as_ref() != Some(&owner)
        {
            remove(&mut self.pods_by_owner, &owner, key);
        }
        before
    }
}

fn owner_of(rs: &ReplicaSet) -> (String, String) {
    (rs.meta.namespace.clone(), rs.meta.controller().map_or(String::new(), |owner| owner.uid.clone()))
}

fn remove<K: Ord, V: Ord>(index: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(values) = index.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            index.remove(key);
        }
    }
}
