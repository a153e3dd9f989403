//! The watch cache: Deployments, ReplicaSets and pods, with the look-ups that rules and triggers
//! need.
//!
//! A plain data structure. All maps are ordered, so that results always come in the same order.
//!
//! kube-runtime's store is not used, because it holds one kind in a hash map. The rules look up by
//! owner and by selector, across three kinds that must be read at the same moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rollout_model::{Deployment, Pod, PodCount, ReplicaSet};

use super::cache_update::{CacheDelta, CacheUpdate};
use super::labels::LabelSets;
use super::namespaced_name::NamespacedName;
use super::owned_pods::OwnedPods;
use super::pods_by_node::PodsByNode;
use super::resource::Resource;
use super::templates::TemplateCounts;

/// Objects of all watched kinds.
#[derive(Debug, Default)]
pub struct Cache {
    deployments: BTreeMap<NamespacedName, Arc<Deployment>>,
    replica_sets: BTreeMap<NamespacedName, Arc<ReplicaSet>>,
    /// ReplicaSets by namespace and UID of the managing owner; those without one have the empty
    /// UID.
    by_owner: BTreeMap<(String, String), BTreeSet<String>>,
    pods: BTreeMap<NamespacedName, Arc<Pod>>,
    /// Pods by namespace and UID of the managing owner; those without one have the empty UID.
    pods_by_owner: BTreeMap<(String, String), OwnedPods>,
    pods_by_node: PodsByNode,
    /// Templates of these objects, each text once.
    templates: TemplateCounts,
    /// Labels of these pods, each set once.
    labels: LabelSets,
    /// The version that each watch has reached.
    versions: BTreeMap<Resource, String>,
}

impl Cache {
    /// Number of different templates.
    pub fn template_count(&self) -> usize {
        self.templates.len()
    }

    /// The Deployment of this name.
    pub fn deployment(&self, key: &NamespacedName) -> Option<Arc<Deployment>> {
        self.deployments.get(key).cloned()
    }

    /// All Deployments, by namespace and name.
    pub fn deployment_keys(&self) -> Vec<NamespacedName> {
        self.deployments.keys().cloned().collect()
    }

    /// All ReplicaSets, by namespace and name.
    pub fn replica_set_keys(&self) -> Vec<NamespacedName> {
        self.replica_sets.keys().cloned().collect()
    }

    /// The version that a watch has reached; empty before its first list is complete.
    pub fn version(&self, resource: Resource) -> &str {
        self.versions.get(&resource).map_or("", String::as_str)
    }

    /// Moves the version of a watch forward. It never goes back, since an event can arrive late.
    pub fn advance_version(&mut self, resource: Resource, version: &str) {
        let before = self.version(resource).parse::<u64>().ok();
        if before.is_some_and(|before| version.parse::<u64>().is_ok_and(|now| now < before)) {
            return;
        }
        self.set_version(resource, version);
    }

    /// Sets the version of a watch to that of a list. A list may be older than the cache was; then
    /// the cache is as old.
    pub fn set_version(&mut self, resource: Resource, version: &str) {
        self.versions.entry(resource).or_default().replace_range(.., version);
    }

    /// All Deployments of a namespace.
    pub fn deployments_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Deployment>> {
        let from = NamespacedName::new(namespace, "");
        self.deployments
            .range(from..)
            .map(|(_, deployment)| deployment)
            .take_while(move |deployment| deployment.meta.namespace == namespace)
    }

    /// All ReplicaSets of a namespace.
    pub fn replica_sets_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<ReplicaSet>> {
        let from = NamespacedName::new(namespace, "");
        self.replica_sets.range(from..).map(|(_, rs)| rs).take_while(move |rs| rs.meta.namespace == namespace)
    }

    /// The ReplicaSet of this name.
    pub fn replica_set(&self, key: &NamespacedName) -> Option<Arc<ReplicaSet>> {
        self.replica_sets.get(key).cloned()
    }

    /// ReplicaSets that a Deployment owns or could adopt, oldest first.
    pub fn claimable(&self, namespace: &str, uid: &str) -> Vec<Arc<ReplicaSet>> {
        let mut found = self.replica_sets_owned_by(namespace, uid);
        found.extend(self.replica_sets_owned_by(namespace, ""));
        found.sort_by(|a, b| a.meta.age_order().cmp(&b.meta.age_order()));
        found
    }

    /// ReplicaSets that a Deployment owns, by name.
    pub fn replica_sets_owned_by(&self, namespace: &str, uid: &str) -> Vec<Arc<ReplicaSet>> {
        let names = self.by_owner.get(&(namespace.to_owned(), uid.to_owned()));
        names.into_iter().flatten().filter_map(|name| self.replica_set(&NamespacedName::new(namespace, name))).collect()
    }

    /// The pods of an owner, by name. The empty UID stands for pods without an owner.
    pub fn pods_of(&self, namespace: &str, uid: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.owned_pods(namespace, uid).into_iter().flat_map(OwnedPods::pods)
    }

    /// The same pods as counts of equal ones.
    pub fn pod_counts_of(&self, namespace: &str, uid: &str) -> impl Iterator<Item = &PodCount> {
        self.owned_pods(namespace, uid).into_iter().flat_map(OwnedPods::counts)
    }

    fn owned_pods(&self, namespace: &str, uid: &str) -> Option<&OwnedPods> {
        self.pods_by_owner.get(&(namespace.to_owned(), uid.to_owned()))
    }

    /// The pods on a node, by name, if there are several.
    pub fn pods_on(&self, namespace: &str, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_by_node.pods_on(namespace, node)
    }

    /// The pods of a namespace on nodes that have several of them, by node and name.
    pub fn pods_on_shared_nodes<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Pod>> {
        self.pods_by_node.on_shared_nodes(namespace)
    }

    /// All pods of a namespace, by name.
    pub fn pods_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Pod>> {
        let from = NamespacedName::new(namespace, "");
        self.pods.range(from..).map(|(_, pod)| pod).take_while(move |pod| pod.namespace == namespace)
    }

    /// Applies an update, and returns what it changed.
    pub fn apply(&mut self, update: CacheUpdate) -> CacheDelta {
        match update {
            CacheUpdate::Deployment(key, now) => {
                self.put_deployment(&key, now);
                CacheDelta::Deployment { key }
            }
            CacheUpdate::ReplicaSet(key, now) => {
                let before = self.put_replica_set(&key, now);
                // Read back from the cache, since its template may be replaced by an equal one
                // there.
                let now = self.replica_set(&key);
                CacheDelta::ReplicaSet { key, before, now }
            }
            CacheUpdate::Pod(key, now) => {
                let now = now.map(|pod| self.labels.intern(pod));
                let before = self.put_pod(&key, now.clone());
                CacheDelta::Pod { key, before, now }
            }
        }
    }

    /// Stores or removes a Deployment; returns the previous one.
    fn put_deployment(&mut self, key: &NamespacedName, now: Option<Arc<Deployment>>) -> Option<Arc<Deployment>> {
        let before = match now {
            Some(mut deployment) => {
                self.templates.intern(Arc::make_mut(&mut deployment).template_mut());
                self.deployments.insert(key.clone(), deployment)
            }
            None => self.deployments.remove(key),
        };
        if let Some(before) = &before {
            self.templates.release(before.template());
        }
        before
    }

    /// Stores or removes a ReplicaSet; returns the previous one.
    fn put_replica_set(&mut self, key: &NamespacedName, now: Option<Arc<ReplicaSet>>) -> Option<Arc<ReplicaSet>> {
        let new_owner = now.as_deref().map(owner_of);
        if let Some(owner) = &new_owner {
            self.by_owner.entry(owner.clone()).or_default().insert(key.name.clone());
        }
        let before = match now {
            Some(mut rs) => {
                self.templates.intern(Arc::make_mut(&mut rs).template_mut());
                self.replica_sets.insert(key.clone(), rs)
            }
            None => self.replica_sets.remove(key),
        };
        if let Some(before) = &before {
            self.templates.release(before.template());
            let owner = owner_of(before);
            if new_owner.as_ref() != Some(&owner) {
                remove(&mut self.by_owner, &owner, &key.name);
            }
        }
        before
    }

    /// Stores or removes a pod; returns the previous one.
    fn put_pod(&mut self, key: &NamespacedName, now: Option<Arc<Pod>>) -> Option<Arc<Pod>> {
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
            self.labels.release(before);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A late event does not set the version back: a Deployment that waits for its own write would
    /// wait for ever.
    #[test]
    fn version_of_a_watch_never_goes_back() {
        let mut cache = Cache::default();
        let mut seen = |listed: bool, version: &str| {
            if listed {
                cache.set_version(Resource::Deployments, version);
            } else {
                cache.advance_version(Resource::Deployments, version);
            }
            cache.version(Resource::Deployments).to_owned()
        };
        assert_eq!(seen(true, "9"), "9");
        assert_eq!((seen(false, "10"), seen(false, "7")), ("10".to_owned(), "10".to_owned()));
        assert_eq!((seen(true, "5"), seen(false, "6")), ("5".to_owned(), "6".to_owned()));
    }
}
