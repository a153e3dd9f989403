//! Event handlers: which ReplicaSets a change of an object enqueues, and which expectations it
//! fulfils.
//!
//! Upstream: the event handlers of replica_set.go. The owner's UID decides; labels decide only for
//! objects without an owner. A pod counts as deleted as soon as its deletion is requested, so its
//! replacement is created at once. There are no side effects: the input is a change and the cache
//! that already contains it, the output are the keys to enqueue.

use std::sync::Arc;
use std::time::Duration;

use controller_client::api::{Cache, CacheDelta, NamespacedName};
use rollout_model::{OwnerReference, Pod, ReplicaSet};

/// Why a ReplicaSet is enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SyncReason {
    /// The ReplicaSet or one of its pods has changed.
    Changed(NamespacedName),
    /// A pod becomes available after this time.
    After(NamespacedName, Duration),
    /// One of its pods has appeared.
    PodCreated(NamespacedName),
    /// One of its pods (the second key) terminates or is deleted.
    PodDeleted(NamespacedName, NamespacedName),
    /// The ReplicaSet with this UID is deleted, so its expectations are dropped.
    Deleted(NamespacedName, String),
}

/// The ReplicaSets to sync after a change.
pub(crate) fn sync_reasons(cache: &Cache, change: &CacheDelta) -> Vec<SyncReason> {
    match change {
        CacheDelta::Deployment { .. } => Vec::new(),
        CacheDelta::ReplicaSet { key, before, now } => reasons_from_replica_set(key, before.as_deref(), now.as_deref()),
        CacheDelta::Pod { key, before, now } => reasons_from_pod(cache, key, before.as_deref(), now.as_deref()),
    }
}

/// Every event of a ReplicaSet enqueues it, even if no field has changed (upstream: `addRS`,
/// `updateRS`, `deleteRS`).
fn reasons_from_replica_set(
    key: &NamespacedName,
    before: Option<&ReplicaSet>,
    now: Option<&ReplicaSet>,
) -> Vec<SyncReason> {
    let mut reasons = Vec::new();
    // The ReplicaSet was deleted and created again between two events.
    if let Some(before) = before
        && now.is_none_or(|now| now.meta.uid != before.meta.uid)
    {
        reasons.push(SyncReason::Deleted(key.clone(), before.meta.uid.clone()));
    }
    reasons.push(SyncReason::Changed(key.clone()));
    reasons
}

/// The ReplicaSets to sync after a change of a pod.
fn reasons_from_pod(cache: &Cache, key: &NamespacedName, before: Option<&Pod>, now: Option<&Pod>) -> Vec<SyncReason> {
    match (before, now) {
        (None, None) => Vec::new(),
        (Some(before), None) => pod_deletion(cache, key, before).into_iter().collect(),
        // A pod that already terminates when it is first observed counts as a deletion, and its
        // creation as not observed.
        (None, Some(now)) if now.traits().deleting => pod_deletion(cache, key, now).into_iter().collect(),
        (None, Some(now)) => match &now.controller {
            Some(owner) => resolve_owner(cache, &key.namespace, owner)
                .map(|(key, _)| SyncReason::PodCreated(key))
                .into_iter()
                .collect(),
            None => adopting_replica_sets(cache, now),
        },
        (Some(before), Some(now)) => reasons_from_pod_update(cache, key, before, now),
    }
}

/// Upstream: `updatePod`.
fn reasons_from_pod_update(cache: &Cache, key: &NamespacedName, before: &Pod, now: &Pod) -> Vec<SyncReason> {
    let mut reasons = Vec::new();
    if before.resource_version == now.resource_version {
        return reasons;
    }
    let labels_changed = before.traits().labels != now.traits().labels;
    if now.traits().deleting {
        reasons.extend(pod_deletion(cache, key, now));
        if labels_changed {
            reasons.extend(pod_deletion(cache, key, before));
        }
        return reasons;
    }
    let owner_changed = before.controller != now.controller;
    if owner_changed && let Some(owner) = &before.controller {
        reasons.extend(resolve_owner(cache, &key.namespace, owner).map(|(key, _)| SyncReason::Changed(key)));
    }
    if let Some(owner) = &now.controller {
        let Some((key, rs)) = resolve_owner(cache, &key.namespace, owner) else { return reasons };
        let becomes_ready = !before.traits().ready && now.traits().ready;
        let wait = u64::try_from(rs.spec.min_ready_seconds).unwrap_or(0);
        let later = (becomes_ready && wait > 0).then(|| SyncReason::After(key.clone(), Duration::from_secs(wait)));
        reasons.push(SyncReason::Changed(key));
        reasons.extend(later);
        return reasons;
    }
    if labels_changed || owner_changed {
        reasons.extend(adopting_replica_sets(cache, now));
    }
    reasons
}

/// The deletion of a pod affects only its owner.
fn pod_deletion(cache: &Cache, pod: &NamespacedName, was: &Pod) -> Option<SyncReason> {
    let owner = was.controller.as_ref()?;
    resolve_owner(cache, &pod.namespace, owner).map(|(key, _)| SyncReason::PodDeleted(key, pod.clone()))
}

/// The ReplicaSet of an owner reference, if its UID is still the same (upstream:
/// `resolveControllerRef`).
fn resolve_owner(cache: &Cache, namespace: &str, owner: &OwnerReference) -> Option<(NamespacedName, Arc<ReplicaSet>)> {
    if owner.kind != "ReplicaSet" {
        return None;
    }
    let key = NamespacedName::new(namespace, &owner.name);
    cache.replica_set(&key).filter(|rs| rs.meta.uid == owner.uid).map(|rs| (key, rs))
}

/// The ReplicaSets that could adopt a pod. An empty or invalid selector selects nothing here
/// (upstream: `GetPodReplicaSets`).
fn adopting_replica_sets(cache: &Cache, pod: &Pod) -> Vec<SyncReason> {
    let labels = &pod.traits().labels;
    if labels.is_empty() {
        return Vec::new();
    }
    cache
        .replica_sets_in(&pod.namespace)
        .filter(|rs| rs.spec.selector.as_ref().is_some_and(|selector| !selector.is_empty()))
        .filter(|rs| rs.selects(labels).unwrap_or(false))
        .map(|rs| SyncReason::Changed(NamespacedName::new(&rs.meta.namespace, &rs.meta.name)))
        .collect()
}

/// replica_set_test.go: which ReplicaSets are enqueued, and which expectations are fulfilled.
#[cfg(test)]
mod tests {
    use controller_client::api::CacheUpdate;
    use rollout_model::PodWithTraits;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn key(name: &str) -> NamespacedName {
        NamespacedName::new("ns", name)
    }

    fn changed(name: &str) -> SyncReason {
        SyncReason::Changed(key(name))
    }

    fn replica_set(name: &str, uid: &str, app: &str) -> CacheUpdate {
        let raw = json!({
            "metadata": {"namespace": "ns", "name": name, "uid": uid},
            "spec": {"minReadySeconds": 5, "selector": {"matchLabels": {"app": app}}},
        });
        CacheUpdate::ReplicaSet(key(name), Some(Arc::new(ReplicaSet::read(raw).unwrap())))
    }

    /// ReplicaSets `a` and `b` select the same pods; `c` selects others.
    fn cache() -> Cache {
        let mut cache = Cache::default();
        for (name, app) in [("a", "x"), ("b", "x"), ("c", "y")] {
            assert_eq!(reasons(&mut cache, replica_set(name, name, app)), [changed(name)]);
        }
        cache
    }

    fn reasons(cache: &mut Cache, change: CacheUpdate) -> Vec<SyncReason> {
        let changed = cache.apply(change);
        sync_reasons(cache, &changed)
    }

    fn owner(name: &str) -> Value {
        json!([{"kind": "ReplicaSet", "name": name, "uid": name, "controller": true}])
    }

    /// A pod with a resourceVersion and further metadata.
    fn pod(version: u32, meta: &Value, ready: bool) -> CacheUpdate {
        let mut metadata = json!({
            "namespace": "ns", "name": "pod", "uid": "pod", "resourceVersion": version.to_string(), "labels": {"app": "x"},
        });
        metadata.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
        let condition = json!({"type": "Ready", "status": if ready { "True" } else { "False" }});
        let raw = json!({"metadata": metadata, "status": {"conditions": [condition]}});
        CacheUpdate::Pod(key("pod"), Some(Arc::new(serde_json::from_value::<PodWithTraits>(raw).unwrap().0)))
    }

    fn owned(by: &str) -> Value {
        json!({"ownerReferences": owner(by)})
    }

    fn deleting(by: &str) -> Value {
        json!({"ownerReferences": owner(by), "deletionTimestamp": "2026-01-01T00:00:00Z"})
    }

    const DELETED: fn() -> CacheUpdate = || CacheUpdate::Pod(key("pod"), None);

    fn pod_deletion(name: &str) -> SyncReason {
        SyncReason::PodDeleted(key(name), key("pod"))
    }

    /// TestAddPod, TestAddPodOrphan, TestAddPodBeingDeleted.
    #[rstest]
    #[case::owned(&owned("a"), &[SyncReason::PodCreated(key("a"))])]
    #[case::owned_by_one_of_another_uid(
        &json!({"ownerReferences": [{"kind": "ReplicaSet", "name": "a", "uid": "old", "controller": true}]}), &[])]
    #[case::owned_by_another_kind(
        &json!({"ownerReferences": [{"kind": "StatefulSet", "name": "a", "uid": "a", "controller": true}]}), &[])]
    #[case::owned_and_not_managed(
        &json!({"ownerReferences": [{"kind": "ReplicaSet", "name": "a", "uid": "a"}]}), &[changed("a"), changed("b")])]
    #[case::orphan(&json!({}), &[changed("a"), changed("b")])]
    #[case::orphan_without_labels(&json!({"labels": null}), &[])]
    #[case::being_deleted(&deleting("a"), &[pod_deletion("a")])]
    #[case::orphan_being_deleted(&json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), &[])]
    fn enqueues_for_an_added_pod(#[case] meta: &Value, #[case] expected: &[SyncReason]) {
        assert_eq!(reasons(&mut cache(), pod(1, meta, false)), expected);
    }

    /// TestUpdatePod: changes of labels and owners, releases, and a pod that becomes ready.
    #[rstest]
    #[case::same_version((1, &owned("a"), false), (1, &owned("b"), true), &[])]
    #[case::a_new_version((1, &owned("a"), false), (2, &owned("a"), false), &[changed("a")])]
    #[case::becomes_ready(
        (1, &owned("a"), false), (2, &owned("a"), true), &[changed("a"), SyncReason::After(key("a"), Duration::from_secs(5))])]
    #[case::becomes_unready((1, &owned("a"), true), (2, &owned("a"), false), &[changed("a")])]
    #[case::orphan_with_new_labels((1, &json!({}), false), (2, &json!({"labels": {"app": "y"}}), false), &[changed("c")])]
    #[case::orphan_with_nothing_new((1, &json!({}), false), (2, &json!({}), true), &[])]
    #[case::adopted((1, &json!({}), false), (2, &owned("a"), false), &[changed("a")])]
    #[case::handed_over((1, &owned("a"), false), (2, &owned("b"), false), &[changed("a"), changed("b")])]
    #[case::released((1, &owned("a"), false), (2, &json!({}), false), &[changed("a"), changed("a"), changed("b")])]
    #[case::deleting((1, &owned("a"), true), (2, &deleting("a"), true), &[pod_deletion("a")])]
    #[case::still_going((1, &deleting("a"), true), (2, &deleting("a"), false), &[pod_deletion("a")])]
    #[case::going_with_new_labels(
        (1, &owned("a"), true),
        (2, &json!({"labels": {}, "deletionTimestamp": "2026-01-01T00:00:00Z"}), true),
        &[pod_deletion("a")])]
    fn enqueues_for_an_updated_pod(
        #[case] before: (u32, &Value, bool),
        #[case] after: (u32, &Value, bool),
        #[case] expected: &[SyncReason],
    ) {
        let mut cache = cache();
        reasons(&mut cache, pod(before.0, before.1, before.2));
        assert_eq!(reasons(&mut cache, pod(after.0, after.1, after.2)), expected);
    }

    #[test]
    fn a_deleted_pod_is_observed_by_its_owner_only() {
        let mut cache = cache();
        reasons(&mut cache, pod(1, &owned("a"), true));
        assert_eq!(reasons(&mut cache, DELETED()), [pod_deletion("a")]);
        assert!(reasons(&mut cache, DELETED()).is_empty());
        reasons(&mut cache, pod(1, &json!({}), true));
        assert!(reasons(&mut cache, DELETED()).is_empty());
    }

    /// TestRecreateRSWithSameNameStartsClean, as far as triggers are concerned.
    #[test]
    fn a_deleted_or_recreated_replica_set_is_forgotten() {
        let mut cache = cache();
        assert_eq!(reasons(&mut cache, replica_set("a", "a", "x")), [changed("a")], "an event without a change counts");
        let deleted = |uid: &str| SyncReason::Deleted(key("a"), uid.to_owned());
        assert_eq!(reasons(&mut cache, replica_set("a", "again", "x")), [deleted("a"), changed("a")]);
        assert_eq!(reasons(&mut cache, CacheUpdate::ReplicaSet(key("a"), None)), [deleted("again"), changed("a")]);
    }

    #[test]
    fn finds_pods_by_owner_and_by_namespace() {
        let mut cache = cache();
        reasons(&mut cache, pod(1, &owned("a"), true));
        let names = |cache: &Cache, uid: &str| cache.pods_of("ns", uid).map(|pod| pod.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&cache, "a"), names(&cache, "")), (vec!["pod".to_owned()], vec![]));
        reasons(&mut cache, pod(2, &json!({}), true));
        assert_eq!((names(&cache, "a"), names(&cache, "")), (vec![], vec!["pod".to_owned()]));
        assert_eq!((cache.pods_in("ns").count(), cache.pods_in("n").count()), (1, 0));
        assert_eq!(cache.pods_of("elsewhere", "").count(), 0);
    }
}
