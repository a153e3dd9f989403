//! What the watches have shown so far: Deployments, ReplicaSets, pods, with the look-ups that rules
//! and triggers need.
//!
//! A plain data structure. All maps are ordered, so what comes out of it is always in the same
//! order.
//!
//! Written here: kube-runtime's store holds one kind in a hash map. The rules look up by owner and
//! by selector, across three kinds that they must see as of one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::change::{Change, Changed};
use super::key::Key;
use super::labels::LabelSets;
use super::nodes::PodsByNode;
use super::owned::OwnedPods;
use super::resource::Resource;
use super::templates::Templates;
use crate::model::{Deployment, Pod, PodCount, ReplicaSet};

/// All that is known.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    deployments: BTreeMap<Key, Arc<Deployment>>,
    replica_sets: BTreeMap<Key, Arc<ReplicaSet>>,
    /// ReplicaSets by namespace and UID of the managing owner; those without one have the empty
    /// UID.
    by_owner: BTreeMap<(String, String), BTreeSet<String>>,
    pods: BTreeMap<Key, Arc<Pod>>,
    /// Pods by namespace and UID of the managing owner; those without one have the empty UID.
    pods_by_owner: BTreeMap<(String, String), OwnedPods>,
    pods_by_node: PodsByNode,
    /// Templates of all these, each text once.
    templates: Templates,
    /// Labels of all these pods, each set once.
    labels: LabelSets,
    /// How far each watch has come.
    versions: BTreeMap<Resource, String>,
}

impl Cache {
    /// How many different templates it holds.
    #[cfg(test)]
    pub(crate) fn templates(&self) -> usize {
        self.templates.len()
    }

    pub(crate) fn deployment(&self, key: &Key) -> Option<Arc<Deployment>> {
        self.deployments.get(key).cloned()
    }

    /// All Deployments, by namespace and name.
    pub(crate) fn deployment_keys(&self) -> Vec<Key> {
        self.deployments.keys().cloned().collect()
    }

    /// All ReplicaSets, by namespace and name.
    pub(crate) fn replica_set_keys(&self) -> Vec<Key> {
        self.replica_sets.keys().cloned().collect()
    }

    /// The version that a watch has come to; empty before its first list is complete.
    pub(crate) fn version(&self, resource: Resource) -> &str {
        self.versions.get(&resource).map_or("", String::as_str)
    }

    /// A watch has come to a version. It never falls: something on the way may let one event pass
    /// another.
    pub(crate) fn reached(&mut self, resource: Resource, version: &str) {
        let before = self.version(resource).parse::<u64>().ok();
        if before.is_some_and(|before| version.parse::<u64>().is_ok_and(|now| now < before)) {
            return;
        }
        self.listed(resource, version);
    }

    /// A kind was listed at a version, which may be older than what was known; then so is what is
    /// known now.
    pub(crate) fn listed(&mut self, resource: Resource, version: &str) {
        self.versions.entry(resource).or_default().replace_range(.., version);
    }

    pub(crate) fn deployments_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Deployment>> {
        let from = Key::new(namespace, "");
        self.deployments
            .range(from..)
            .map(|(_, deployment)| deployment)
            .take_while(move |deployment| deployment.meta.namespace == namespace)
    }

    pub(crate) fn replica_sets_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<ReplicaSet>> {
        let from = Key::new(namespace, "");
        self.replica_sets.range(from..).map(|(_, rs)| rs).take_while(move |rs| rs.meta.namespace == namespace)
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

    /// The pods of an owner, by name; those of the empty UID have none.
    pub(crate) fn pods_of(&self, namespace: &str, uid: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.owned(namespace, uid).into_iter().flat_map(OwnedPods::pods)
    }

    /// The same pods, counted.
    pub(crate) fn counts_of(&self, namespace: &str, uid: &str) -> impl Iterator<Item = &PodCount> {
        self.owned(namespace, uid).into_iter().flat_map(OwnedPods::counts)
    }

    fn owned(&self, namespace: &str, uid: &str) -> Option<&OwnedPods> {
        self.pods_by_owner.get(&(namespace.to_owned(), uid.to_owned()))
    }

    /// The pods on a node, by name, if there are several.
    pub(crate) fn pods_on(&self, namespace: &str, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_by_node.on(namespace, node)
    }

    /// The pods of a namespace on nodes that have several of them, by node and name.
    pub(crate) fn pods_on_shared_nodes<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Pod>> {
        self.pods_by_node.on_shared_nodes(namespace)
    }

    /// All pods of a namespace, by name.
    #[cfg(test)]
    pub(crate) fn pods_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Pod>> {
        let from = Key::new(namespace, "");
        self.pods.range(from..).map(|(_, pod)| pod).take_while(move |pod| pod.namespace == namespace)
    }

    /// Takes a change in; returns it with what was there before.
    pub(crate) fn take(&mut self, change: Change) -> Changed {
        match change {
            Change::Deployment(key, now) => {
                self.put_deployment(&key, now);
                Changed::Deployment { key }
            }
            Change::ReplicaSet(key, now) => {
                let before = self.put_replica_set(&key, now);
                // Not what came: its template may be one that is there already.
                let now = self.replica_set(&key);
                Changed::ReplicaSet { key, before, now }
            }
            Change::Pod(key, now) => {
                let now = now.map(|pod| self.labels.join(pod));
                let before = self.put_pod(&key, now.clone());
                Changed::Pod { key, before, now }
            }
        }
    }

    /// Puts in what a watch showed, or takes out what it showed gone; returns what was there
    /// before.
    fn put_deployment(&mut self, key: &Key, now: Option<Arc<Deployment>>) -> Option<Arc<Deployment>> {
        let before = match now {
            Some(mut deployment) => {
                self.templates.join(Arc::make_mut(&mut deployment).template_mut());
                self.deployments.insert(key.clone(), deployment)
            }
            None => self.deployments.remove(key),
        };
        if let Some(before) = &before {
            self.templates.leave(before.template());
        }
        before
    }

    /// The same for a ReplicaSet.
    fn put_replica_set(&mut self, key: &Key, now: Option<Arc<ReplicaSet>>) -> Option<Arc<ReplicaSet>> {
        let new_owner = now.as_deref().map(owner_of);
        if let Some(owner) = &new_owner {
            self.by_owner.entry(owner.clone()).or_default().insert(key.name.clone());
        }
        let before = match now {
            Some(mut rs) => {
                self.templates.join(Arc::make_mut(&mut rs).template_mut());
                self.replica_sets.insert(key.clone(), rs)
            }
            None => self.replica_sets.remove(key),
        };
        if let Some(before) = &before {
            self.templates.leave(before.template());
            let owner = owner_of(before);
            if new_owner.as_ref() != Some(&owner) {
                remove(&mut self.by_owner, &owner, &key.name);
            }
        }
        before
    }

    /// The same for a pod.
    fn put_pod(&mut self, key: &Key, now: Option<Arc<Pod>>) -> Option<Arc<Pod>> {
        let owner = |pod: &Pod| {
            let uid = pod.controller.as_ref().map_or(String::new(), |owner| owner.uid.clone());
            (key.namespace.clone(), uid)
        };
        let new_owner = now.as_deref().map(owner);
        if let (Some(owner), Some(now)) = (&new_owner, &now) {
            self.pods_by_owner.entry(owner.clone()).or_default().put(&key.name, now.clone());
        }
        let before = match now {
            Some(pod) => self.pods.insert(key.clone(), pod),
            None => self.pods.remove(key),
        };
        if let Some(before) = &before {
            self.labels.leave(before);
            self.pods_by_node.remove(before);
        }
        if let Some(now) = self.pods.get(key) {
            self.pods_by_node.put(now);
        }
        if let Some(owner) = before.as_deref().map(owner)
            && new_owner.as_ref() != Some(&owner)
            && let Some(pods) = self.pods_by_owner.get_mut(&owner)
        {
            pods.remove(&key.name);
            if pods.is_empty() {
                self.pods_by_owner.remove(&owner);
            }
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
