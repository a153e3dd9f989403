//! Event handlers: which Deployments a change of an object enqueues.
//!
//! Upstream: the event handlers of deployment_controller.go. The owner's UID decides; labels decide
//! only for objects without an owner. There are no side effects: the input is a change and the
//! cache that already contains it, the output are the keys to enqueue.

use controller_client::api::{Cache, CacheDelta, NamespacedName};
use rollout_model::{Deployment, OwnerReference, Pod, ReplicaSet};

/// The Deployments to sync after a change.
pub(crate) fn affected_deployments(cache: &Cache, change: &CacheDelta) -> Vec<NamespacedName> {
    match change {
        CacheDelta::Deployment { key } => vec![key.clone()],
        CacheDelta::ReplicaSet { before, now, .. } => affected_by_replica_set(cache, before.as_deref(), now.as_deref()),
        CacheDelta::Pod { before: Some(pod), now: None, .. } => {
            affected_by_pod_deletion(cache, pod).into_iter().collect()
        }
        CacheDelta::Pod { .. } => Vec::new(),
    }
}

/// The Deployments to sync after a change of a ReplicaSet.
fn affected_by_replica_set(
    cache: &Cache,
    before: Option<&ReplicaSet>,
    now: Option<&ReplicaSet>,
) -> Vec<NamespacedName> {
    let Some(rs) = now.or(before) else { return Vec::new() };
    let namespace = rs.meta.namespace.as_str();
    let owner = rs.meta.controller();
    let old_owner = before.and_then(|before| before.meta.controller());
    let owner_changed = before.is_some() && owner != old_owner;
    let mut keys = Vec::new();
    if let (Some(before), Some(now)) = (before, now) {
        if before.meta.resource_version == now.meta.resource_version {
            return keys;
        }
        if owner_changed {
            keys.extend(old_owner.and_then(|owner| resolve_owner(cache, namespace, owner)));
        }
    }
    if let Some(owner) = owner {
        keys.extend(resolve_owner(cache, namespace, owner));
        return keys;
    }
    // An orphan enqueues the Deployments that could adopt it, if it is new or its owner or labels
    // have changed. A deleted or terminating orphan enqueues none.
    let is_relevant = match (before, now) {
        (_, None) => false,
        (None, Some(now)) => !now.meta.is_deleting(),
        (Some(before), Some(now)) => owner_changed || before.meta.labels != now.meta.labels,
    };
    if is_relevant {
        keys.extend(matching_deployments(cache, rs));
    }
    keys
}

/// A Recreate Deployment waits until its last pod is deleted; only that deletion enqueues it. Pods
/// that have ended but still exist delay it (issue 128798).
fn affected_by_pod_deletion(cache: &Cache, pod: &Pod) -> Option<NamespacedName> {
    let owner = pod.controller.as_ref().filter(|owner| owner.kind == "ReplicaSet")?;
    let rs =
        cache.replica_set(&NamespacedName::new(&pod.namespace, &owner.name)).filter(|rs| rs.meta.uid == owner.uid)?;
    let key = resolve_owner(cache, &pod.namespace, rs.meta.controller()?)?;
    let deployment = cache.deployment(&key).filter(|deployment| deployment.spec.strategy.is_recreate())?;
    let mut owned = cache.replica_sets_owned_by(&key.namespace, &deployment.meta.uid);
    owned.retain(|rs| selects(&deployment, rs));
    let alone = owned.iter().all(|rs| cache.pods_of(&key.namespace, &rs.meta.uid).next().is_none());
    alone.then_some(key)
}

/// The Deployment of an owner reference, if its UID is still the same.
fn resolve_owner(cache: &Cache, namespace: &str, owner: &OwnerReference) -> Option<NamespacedName> {
    if owner.kind != "Deployment" {
        return None;
    }
    let key = NamespacedName::new(namespace, &owner.name);
    cache.deployment(&key).filter(|deployment| deployment.meta.uid == owner.uid).map(|_| key)
}

fn matching_deployments(cache: &Cache, rs: &ReplicaSet) -> Vec<NamespacedName> {
    if rs.meta.labels.is_empty() {
        return Vec::new();
    }
    cache
        .deployments_in(&rs.meta.namespace)
        .filter(|deployment| selects(deployment, rs))
        .map(|deployment| NamespacedName::new(&deployment.meta.namespace, &deployment.meta.name))
        .collect()
}

/// An empty or invalid selector selects nothing.
fn selects(deployment: &Deployment, rs: &ReplicaSet) -> bool {
    let selector = deployment.spec.selector.as_ref().filter(|selector| !selector.is_empty());
    selector.is_some_and(|selector| selector.matches(&rs.meta.labels).unwrap_or(false))
}

/// deployment_controller_test.go: which Deployments are enqueued.
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use controller_client::api::CacheUpdate;
    use serde_json::{Value, json};

    use super::*;

    fn affected(cache: &mut Cache, change: CacheUpdate) -> Vec<NamespacedName> {
        let changed = cache.apply(change);
        affected_deployments(cache, &changed)
    }

    fn key(name: &str) -> NamespacedName {
        NamespacedName::new("ns", name)
    }

    fn deployment(name: &str, app: &str, strategy: &str) -> CacheUpdate {
        let raw = json!({
            "metadata": {"namespace": "ns", "name": name, "uid": name},
            "spec": {"selector": {"matchLabels": {"app": app}}, "strategy": {"type": strategy}},
        });
        CacheUpdate::Deployment(key(name), Some(Arc::new(Deployment::read(raw).unwrap())))
    }

    fn owners(kind: &str, owner: Option<&str>) -> Value {
        owner.into_iter().map(|name| json!({"kind": kind, "name": name, "uid": name, "controller": true})).collect()
    }

    fn replica_set(name: &str, version: i32, app: &str, owner: Option<&str>) -> CacheUpdate {
        let raw = json!({"metadata": {
            "namespace": "ns", "name": name, "uid": name, "resourceVersion": version.to_string(),
            "labels": {"app": app}, "ownerReferences": owners("Deployment", owner),
        }});
        CacheUpdate::ReplicaSet(key(name), Some(Arc::new(ReplicaSet::read(raw).unwrap())))
    }

    fn pod(name: &str, owner: Option<&str>, phase: &str) -> CacheUpdate {
        let raw = json!({
            "metadata": {"namespace": "ns", "name": name, "uid": name, "ownerReferences": owners("ReplicaSet", owner)},
            "status": {"phase": phase},
        });
        CacheUpdate::Pod(key(name), Some(Arc::new(serde_json::from_value(raw).unwrap())))
    }

    /// Deployments `a` and `b` select the same pods; `c` selects others.
    fn cache() -> Cache {
        let mut cache = Cache::default();
        for (name, app, strategy) in [("a", "x", "Recreate"), ("b", "x", "RollingUpdate"), ("c", "y", "RollingUpdate")]
        {
            assert_eq!(affected(&mut cache, deployment(name, app, strategy)), [key(name)]);
        }
        cache
    }

    fn deletion(name: &str) -> CacheUpdate {
        CacheUpdate::ReplicaSet(key(name), None)
    }

    #[test]
    fn enqueues_only_the_owner_of_an_added_replica_set() {
        assert_eq!(affected(&mut cache(), replica_set("rs", 1, "x", Some("b"))), [key("b")]);
    }

    #[test]
    fn enqueues_all_deployments_that_select_an_added_orphan() {
        assert_eq!(affected(&mut cache(), replica_set("rs", 1, "x", None)), [key("a"), key("b")]);
    }

    #[test]
    fn enqueues_no_deployment_of_the_same_name_with_another_uid() {
        let mut cache = cache();
        let raw = json!({"metadata": {"namespace": "ns", "name": "a", "uid": "recreated"}});
        affected(&mut cache, CacheUpdate::Deployment(key("a"), Some(Arc::new(Deployment::read(raw).unwrap()))));
        assert!(affected(&mut cache, replica_set("rs", 1, "x", Some("a"))).is_empty());
    }

    #[test]
    fn enqueues_the_owner_of_an_updated_replica_set() {
        let mut cache = cache();
        affected(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(affected(&mut cache, replica_set("rs", 2, "x", Some("a"))), [key("a")]);
        assert!(affected(&mut cache, replica_set("rs", 2, "x", Some("a"))).is_empty(), "the same version is ignored");
    }

    #[test]
    fn enqueues_deployments_that_select_the_new_labels_of_an_orphan() {
        let mut cache = cache();
        affected(&mut cache, replica_set("rs", 1, "x", None));
        assert_eq!(affected(&mut cache, replica_set("rs", 2, "y", None)), [key("c")]);
        assert!(affected(&mut cache, replica_set("rs", 3, "y", None)).is_empty(), "nothing that matters has changed");
    }

    #[test]
    fn enqueues_both_owners_when_the_owner_changes() {
        let mut cache = cache();
        affected(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(affected(&mut cache, replica_set("rs", 2, "x", Some("b"))), [key("a"), key("b")]);
    }

    #[test]
    fn enqueues_the_old_owner_and_all_that_select_a_released_replica_set() {
        let mut cache = cache();
        affected(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(affected(&mut cache, replica_set("rs", 2, "x", None)), [key("a"), key("a"), key("b")]);
    }

    #[test]
    fn enqueues_only_the_owner_of_a_deleted_replica_set() {
        let mut cache = cache();
        affected(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(affected(&mut cache, deletion("rs")), [key("a")]);
        affected(&mut cache, replica_set("rs", 1, "x", None));
        assert!(affected(&mut cache, deletion("rs")).is_empty());
        assert!(cache.claimable("ns", "a").is_empty());
    }

    #[test]
    fn enqueues_a_recreate_deployment_after_its_last_pod_is_deleted() {
        let mut cache = cache();
        affected(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert!(affected(&mut cache, pod("one", Some("rs"), "Running")).is_empty());
        assert!(affected(&mut cache, pod("two", Some("rs"), "Failed")).is_empty());
        assert!(
            affected(&mut cache, CacheUpdate::Pod(key("one"), None)).is_empty(),
            "one that has ended is still there"
        );
        assert_eq!(affected(&mut cache, CacheUpdate::Pod(key("two"), None)), [key("a")]);
    }

    #[test]
    fn ignores_pods_of_other_owners() {
        let mut cache = cache();
        affected(&mut cache, replica_set("rs", 1, "x", Some("a")));
        affected(&mut cache, replica_set("other", 1, "x", Some("b")));
        for (name, owner) in [("one", Some("rs")), ("two", Some("other")), ("three", None)] {
            affected(&mut cache, pod(name, owner, "Running"));
        }
        assert_eq!(affected(&mut cache, CacheUpdate::Pod(key("one"), None)), [key("a")]);
        assert!(
            affected(&mut cache, CacheUpdate::Pod(key("two"), None)).is_empty(),
            "a rolling Deployment does not wait for pods"
        );
        assert!(affected(&mut cache, CacheUpdate::Pod(key("three"), None)).is_empty());
    }
}
