//! Which Deployments a change wakes.
//!
//! Upstream: the event handlers of deployment_controller.go. Ownership by UID decides; labels only
//! where nobody owns. Pure: a change and the cache that it went into come in, and the keys to look
//! at come out.

use crate::api::{Cache, Changed, Key};
use crate::model::{Deployment, OwnerReference, Pod, ReplicaSet};

/// Deployments that a change wakes.
pub(crate) fn woken(cache: &Cache, change: &Changed) -> Vec<Key> {
    match change {
        Changed::Deployment { key } => vec![key.clone()],
        Changed::ReplicaSet { before, now, .. } => woken_by_replica_set(cache, before.as_deref(), now.as_deref()),
        Changed::Pod { before: Some(pod), now: None, .. } => woken_by_deleted_pod(cache, pod).into_iter().collect(),
        Changed::Pod { .. } => Vec::new(),
    }
}

/// Deployments that a change of a ReplicaSet wakes.
fn woken_by_replica_set(cache: &Cache, before: Option<&ReplicaSet>, now: Option<&ReplicaSet>) -> Vec<Key> {
    let Some(rs) = now.or(before) else { return Vec::new() };
    let namespace = rs.meta.namespace.as_str();
    let owner = rs.meta.controller();
    let old_owner = before.and_then(|before| before.meta.controller());
    let owner_changed = before.is_some() && owner != old_owner;
    let mut woken = Vec::new();
    if let (Some(before), Some(now)) = (before, now) {
        if before.meta.resource_version == now.meta.resource_version {
            return woken;
        }
        if owner_changed {
            woken.extend(old_owner.and_then(|owner| managing(cache, namespace, owner)));
        }
    }
    if let Some(owner) = owner {
        woken.extend(managing(cache, namespace, owner));
        return woken;
    }
    // Nobody's: whoever could adopt it, if that is news. One that is going or gone is of no
    // interest.
    let news = match (before, now) {
        (_, None) => false,
        (None, Some(now)) => !now.meta.is_deleting(),
        (Some(before), Some(now)) => owner_changed || before.meta.labels != now.meta.labels,
    };
    if news {
        woken.extend(matching(cache, rs));
    }
    woken
}

/// A Recreate Deployment waits for its last pod to be gone; only that one wakes it (pods that have
/// ended but are still there hold the wake-up back, issue 128798).
fn woken_by_deleted_pod(cache: &Cache, pod: &Pod) -> Option<Key> {
    let owner = pod.controller.as_ref().filter(|owner| owner.kind == "ReplicaSet")?;
    let rs = cache.replica_set(&Key::new(&pod.namespace, &owner.name)).filter(|rs| rs.meta.uid == owner.uid)?;
    let key = managing(cache, &pod.namespace, rs.meta.controller()?)?;
    let deployment = cache.deployment(&key).filter(|deployment| deployment.spec.strategy.is_recreate())?;
    let mut owned = cache.owned_by(&key.namespace, &deployment.meta.uid);
    owned.retain(|rs| selects(&deployment, rs));
    let alone = owned.iter().all(|rs| cache.pods_of(&key.namespace, &rs.meta.uid).next().is_none());
    alone.then_some(key)
}

/// The Deployment that an owner reference means, if it is still the same one.
fn managing(cache: &Cache, namespace: &str, owner: &OwnerReference) -> Option<Key> {
    if owner.kind != "Deployment" {
        return None;
    }
    let key = Key::new(namespace, &owner.name);
    cache.deployment(&key).filter(|deployment| deployment.meta.uid == owner.uid).map(|_| key)
}

fn matching(cache: &Cache, rs: &ReplicaSet) -> Vec<Key> {
    if rs.meta.labels.is_empty() {
        return Vec::new();
    }
    cache
        .deployments_in(&rs.meta.namespace)
        .filter(|deployment| selects(deployment, rs))
        .map(|deployment| Key::new(&deployment.meta.namespace, &deployment.meta.name))
        .collect()
}

/// An empty or invalid selector selects nothing.
fn selects(deployment: &Deployment, rs: &ReplicaSet) -> bool {
    let selector = deployment.spec.selector.as_ref().filter(|selector| !selector.is_empty());
    selector.is_some_and(|selector| selector.matches(&rs.meta.labels).unwrap_or(false))
}

/// deployment_controller_test.go: which Deployments are queued.
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::api::Change;

    fn woken(cache: &mut Cache, change: Change) -> Vec<Key> {
        let changed = cache.take(change);
        super::woken(cache, &changed)
    }

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    fn deployment(name: &str, app: &str, strategy: &str) -> Change {
        let raw = json!({
            "metadata": {"namespace": "ns", "name": name, "uid": name},
            "spec": {"selector": {"matchLabels": {"app": app}}, "strategy": {"type": strategy}},
        });
        Change::Deployment(key(name), Some(Arc::new(Deployment::read(raw).unwrap())))
    }

    fn owners(kind: &str, owner: Option<&str>) -> Value {
        owner.into_iter().map(|name| json!({"kind": kind, "name": name, "uid": name, "controller": true})).collect()
    }

    fn replica_set(name: &str, version: i32, app: &str, owner: Option<&str>) -> Change {
        let raw = json!({"metadata": {
            "namespace": "ns", "name": name, "uid": name, "resourceVersion": version.to_string(),
            "labels": {"app": app}, "ownerReferences": owners("Deployment", owner),
        }});
        Change::ReplicaSet(key(name), Some(Arc::new(ReplicaSet::read(raw).unwrap())))
    }

    fn pod(name: &str, owner: Option<&str>, phase: &str) -> Change {
        let raw = json!({
            "metadata": {"namespace": "ns", "name": name, "uid": name, "ownerReferences": owners("ReplicaSet", owner)},
            "status": {"phase": phase},
        });
        Change::Pod(key(name), Some(Arc::new(serde_json::from_value(raw).unwrap())))
    }

    /// Deployments `a` and `b` select the same pods; `c` selects others.
    fn cache() -> Cache {
        let mut cache = Cache::default();
        for (name, app, strategy) in [("a", "x", "Recreate"), ("b", "x", "RollingUpdate"), ("c", "y", "RollingUpdate")]
        {
            assert_eq!(woken(&mut cache, deployment(name, app, strategy)), [key(name)]);
        }
        cache
    }

    fn gone(name: &str) -> Change {
        Change::ReplicaSet(key(name), None)
    }

    #[test]
    fn an_added_replica_set_wakes_its_owner_only() {
        assert_eq!(woken(&mut cache(), replica_set("rs", 1, "x", Some("b"))), [key("b")]);
    }

    #[test]
    fn an_added_orphan_wakes_all_that_select_it() {
        assert_eq!(woken(&mut cache(), replica_set("rs", 1, "x", None)), [key("a"), key("b")]);
    }

    #[test]
    fn an_owner_of_the_same_name_is_not_the_owner() {
        let mut cache = cache();
        let raw = json!({"metadata": {"namespace": "ns", "name": "a", "uid": "made-anew"}});
        woken(&mut cache, Change::Deployment(key("a"), Some(Arc::new(Deployment::read(raw).unwrap()))));
        assert!(woken(&mut cache, replica_set("rs", 1, "x", Some("a"))).is_empty());
    }

    #[test]
    fn an_updated_replica_set_wakes_its_owner() {
        let mut cache = cache();
        woken(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(woken(&mut cache, replica_set("rs", 2, "x", Some("a"))), [key("a")]);
        assert!(woken(&mut cache, replica_set("rs", 2, "x", Some("a"))).is_empty(), "the same version is no news");
    }

    #[test]
    fn an_orphan_with_new_labels_wakes_those_that_select_it_now() {
        let mut cache = cache();
        woken(&mut cache, replica_set("rs", 1, "x", None));
        assert_eq!(woken(&mut cache, replica_set("rs", 2, "y", None)), [key("c")]);
        assert!(woken(&mut cache, replica_set("rs", 3, "y", None)).is_empty(), "nothing that matters has changed");
    }

    #[test]
    fn a_changed_owner_wakes_both() {
        let mut cache = cache();
        woken(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(woken(&mut cache, replica_set("rs", 2, "x", Some("b"))), [key("a"), key("b")]);
    }

    #[test]
    fn a_released_replica_set_wakes_its_owner_and_all_that_select_it() {
        let mut cache = cache();
        woken(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(woken(&mut cache, replica_set("rs", 2, "x", None)), [key("a"), key("a"), key("b")]);
    }

    #[test]
    fn a_deleted_replica_set_wakes_its_owner_and_a_deleted_orphan_nobody() {
        let mut cache = cache();
        woken(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert_eq!(woken(&mut cache, gone("rs")), [key("a")]);
        woken(&mut cache, replica_set("rs", 1, "x", None));
        assert!(woken(&mut cache, gone("rs")).is_empty());
        assert!(cache.claimable("ns", "a").is_empty());
    }

    #[test]
    fn the_last_pod_wakes_a_recreate_deployment() {
        let mut cache = cache();
        woken(&mut cache, replica_set("rs", 1, "x", Some("a")));
        assert!(woken(&mut cache, pod("one", Some("rs"), "Running")).is_empty());
        assert!(woken(&mut cache, pod("two", Some("rs"), "Failed")).is_empty());
        assert!(woken(&mut cache, Change::Pod(key("one"), None)).is_empty(), "one that has ended is still there");
        assert_eq!(woken(&mut cache, Change::Pod(key("two"), None)), [key("a")]);
    }

    #[test]
    fn a_pod_elsewhere_holds_nothing_back() {
        let mut cache = cache();
        woken(&mut cache, replica_set("rs", 1, "x", Some("a")));
        woken(&mut cache, replica_set("other", 1, "x", Some("b")));
        for (name, owner) in [("one", Some("rs")), ("two", Some("other")), ("three", None)] {
            woken(&mut cache, pod(name, owner, "Running"));
        }
        assert_eq!(woken(&mut cache, Change::Pod(key("one"), None)), [key("a")]);
        assert!(
            woken(&mut cache, Change::Pod(key("two"), None)).is_empty(),
            "a rolling Deployment does not wait for pods"
        );
        assert!(woken(&mut cache, Change::Pod(key("three"), None)).is_empty());
    }
}
