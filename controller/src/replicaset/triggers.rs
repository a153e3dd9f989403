//! Which ReplicaSets a change wakes, and what it tells of the pods that they expect.
//!
//! Upstream: the event handlers of replica_set.go. Ownership by UID decides; labels only where
//! nobody owns. A pod whose deletion was asked for counts as gone from that moment on, so its
//! successor is made at once. Pure: a change and the cache that it went into come in, and the keys
//! to look at come out.

use std::sync::Arc;
use std::time::Duration;

use crate::api::{Cache, Changed, Key};
use crate::model::{OwnerReference, Pod, ReplicaSet};

/// Why a ReplicaSet is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Something about it has changed.
    Changed(Key),
    /// It is to be looked at after a while.
    After(Key, Duration),
    /// A pod of it has appeared.
    PodCame(Key),
    /// A pod of it, the second key, is on its way out, or gone.
    PodWent(Key, Key),
    /// It is gone, with its UID: nothing is expected of it any more.
    Gone(Key, String),
}

/// ReplicaSets that a change wakes.
pub(crate) fn woken(cache: &Cache, change: &Changed) -> Vec<Wake> {
    match change {
        Changed::Deployment { .. } => Vec::new(),
        Changed::ReplicaSet { key, before, now } => woken_by_itself(key, before.as_deref(), now.as_deref()),
        Changed::Pod { key, before, now } => woken_by_pod(cache, key, before.as_deref(), now.as_deref()),
    }
}

/// Every change of a ReplicaSet wakes it, one that says nothing new included (upstream: `addRS`,
/// `updateRS`, `deleteRS`).
fn woken_by_itself(key: &Key, before: Option<&ReplicaSet>, now: Option<&ReplicaSet>) -> Vec<Wake> {
    let mut woken = Vec::new();
    // One made anew under the name, between two looks, starts afresh.
    if let Some(before) = before
        && now.is_none_or(|now| now.meta.uid != before.meta.uid)
    {
        woken.push(Wake::Gone(key.clone(), before.meta.uid.clone()));
    }
    woken.push(Wake::Changed(key.clone()));
    woken
}

/// ReplicaSets that a change of a pod wakes.
fn woken_by_pod(cache: &Cache, key: &Key, before: Option<&Pod>, now: Option<&Pod>) -> Vec<Wake> {
    match (before, now) {
        (None, None) => Vec::new(),
        (Some(before), None) => went(cache, key, before).into_iter().collect(),
        // It may be on its way out when it is first seen, and then nobody has waited for it.
        (None, Some(now)) if now.traits().deleting => went(cache, key, now).into_iter().collect(),
        (None, Some(now)) => match &now.controller {
            Some(owner) => {
                managing(cache, &key.namespace, owner).map(|(key, _)| Wake::PodCame(key)).into_iter().collect()
            }
            None => selecting(cache, now),
        },
        (Some(before), Some(now)) => woken_by_changed_pod(cache, key, before, now),
    }
}

/// Upstream: `updatePod`.
fn woken_by_changed_pod(cache: &Cache, key: &Key, before: &Pod, now: &Pod) -> Vec<Wake> {
    let mut woken = Vec::new();
    if before.resource_version == now.resource_version {
        return woken;
    }
    let labels_changed = before.traits().labels != now.traits().labels;
    if now.traits().deleting {
        woken.extend(went(cache, key, now));
        if labels_changed {
            woken.extend(went(cache, key, before));
        }
        return woken;
    }
    let owner_changed = before.controller != now.controller;
    if owner_changed && let Some(owner) = &before.controller {
        woken.extend(managing(cache, &key.namespace, owner).map(|(key, _)| Wake::Changed(key)));
    }
    if let Some(owner) = &now.controller {
        let Some((key, rs)) = managing(cache, &key.namespace, owner) else { return woken };
        let becomes_ready = !before.traits().ready && now.traits().ready;
        let wait = u64::try_from(rs.spec.min_ready_seconds).unwrap_or(0);
        let later = (becomes_ready && wait > 0).then(|| Wake::After(key.clone(), Duration::from_secs(wait)));
        woken.push(Wake::Changed(key));
        woken.extend(later);
        return woken;
    }
    if labels_changed || owner_changed {
        woken.extend(selecting(cache, now));
    }
    woken
}

/// That a pod goes concerns only its owner.
fn went(cache: &Cache, pod: &Key, was: &Pod) -> Option<Wake> {
    let owner = was.controller.as_ref()?;
    managing(cache, &pod.namespace, owner).map(|(key, _)| Wake::PodWent(key, pod.clone()))
}

/// The ReplicaSet that an owner reference means, if it is still the same one (upstream:
/// `resolveControllerRef`).
fn managing(cache: &Cache, namespace: &str, owner: &OwnerReference) -> Option<(Key, Arc<ReplicaSet>)> {
    if owner.kind != "ReplicaSet" {
        return None;
    }
    let key = Key::new(namespace, &owner.name);
    cache.replica_set(&key).filter(|rs| rs.meta.uid == owner.uid).map(|rs| (key, rs))
}

/// ReplicaSets that could adopt a pod; an empty or invalid selector selects nothing here (upstream:
/// `GetPodReplicaSets`).
fn selecting(cache: &Cache, pod: &Pod) -> Vec<Wake> {
    let labels = &pod.traits().labels;
    if labels.is_empty() {
        return Vec::new();
    }
    cache
        .replica_sets_in(&pod.namespace)
        .filter(|rs| rs.spec.selector.as_ref().is_some_and(|selector| !selector.is_empty()))
        .filter(|rs| rs.selects(labels).unwrap_or(false))
        .map(|rs| Wake::Changed(Key::new(&rs.meta.namespace, &rs.meta.name)))
        .collect()
}

/// replica_set_test.go: which ReplicaSets are queued, and what is observed.
#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::Change;
    use crate::model::TraitedPod;

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    fn changed(name: &str) -> Wake {
        Wake::Changed(key(name))
    }

    fn replica_set(name: &str, uid: &str, app: &str) -> Change {
        let raw = json!({
            "metadata": {"namespace": "ns", "name": name, "uid": uid},
            "spec": {"minReadySeconds": 5, "selector": {"matchLabels": {"app": app}}},
        });
        Change::ReplicaSet(key(name), Some(Arc::new(ReplicaSet::read(raw).unwrap())))
    }

    /// ReplicaSets `a` and `b` select the same pods; `c` selects others.
    fn cache() -> Cache {
        let mut cache = Cache::default();
        for (name, app) in [("a", "x"), ("b", "x"), ("c", "y")] {
            assert_eq!(woken(&mut cache, replica_set(name, name, app)), [changed(name)]);
        }
        cache
    }

    fn woken(cache: &mut Cache, change: Change) -> Vec<Wake> {
        let changed = cache.take(change);
        super::woken(cache, &changed)
    }

    fn owner(name: &str) -> Value {
        json!([{"kind": "ReplicaSet", "name": name, "uid": name, "controller": true}])
    }

    /// A pod at a version, with more in its metadata.
    fn pod(version: u32, meta: &Value, ready: bool) -> Change {
        let mut metadata = json!({
            "namespace": "ns", "name": "pod", "uid": "pod", "resourceVersion": version.to_string(), "labels": {"app": "x"},
        });
        metadata.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
        let condition = json!({"type": "Ready", "status": if ready { "True" } else { "False" }});
        let raw = json!({"metadata": metadata, "status": {"conditions": [condition]}});
        Change::Pod(key("pod"), Some(Arc::new(serde_json::from_value::<TraitedPod>(raw).unwrap().0)))
    }

    fn owned(by: &str) -> Value {
        json!({"ownerReferences": owner(by)})
    }

    fn going(by: &str) -> Value {
        json!({"ownerReferences": owner(by), "deletionTimestamp": "2026-01-01T00:00:00Z"})
    }

    const GONE: fn() -> Change = || Change::Pod(key("pod"), None);

    fn went(name: &str) -> Wake {
        Wake::PodWent(key(name), key("pod"))
    }

    /// TestAddPod, TestAddPodOrphan, TestAddPodBeingDeleted.
    #[rstest]
    #[case::owned(&owned("a"), &[Wake::PodCame(key("a"))])]
    #[case::owned_by_one_of_another_uid(
        &json!({"ownerReferences": [{"kind": "ReplicaSet", "name": "a", "uid": "old", "controller": true}]}), &[])]
    #[case::owned_by_another_kind(
        &json!({"ownerReferences": [{"kind": "StatefulSet", "name": "a", "uid": "a", "controller": true}]}), &[])]
    #[case::owned_and_not_managed(
        &json!({"ownerReferences": [{"kind": "ReplicaSet", "name": "a", "uid": "a"}]}), &[changed("a"), changed("b")])]
    #[case::orphan(&json!({}), &[changed("a"), changed("b")])]
    #[case::orphan_without_labels(&json!({"labels": null}), &[])]
    #[case::being_deleted(&going("a"), &[went("a")])]
    #[case::orphan_being_deleted(&json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), &[])]
    fn added(#[case] meta: &Value, #[case] expected: &[Wake]) {
        assert_eq!(woken(&mut cache(), pod(1, meta, false)), expected);
    }

    /// TestUpdatePod: labels, owners, releases; and a pod that becomes ready.
    #[rstest]
    #[case::same_version((1, &owned("a"), false), (1, &owned("b"), true), &[])]
    #[case::a_new_version((1, &owned("a"), false), (2, &owned("a"), false), &[changed("a")])]
    #[case::becomes_ready(
        (1, &owned("a"), false), (2, &owned("a"), true), &[changed("a"), Wake::After(key("a"), Duration::from_secs(5))])]
    #[case::becomes_unready((1, &owned("a"), true), (2, &owned("a"), false), &[changed("a")])]
    #[case::orphan_with_new_labels((1, &json!({}), false), (2, &json!({"labels": {"app": "y"}}), false), &[changed("c")])]
    #[case::orphan_with_nothing_new((1, &json!({}), false), (2, &json!({}), true), &[])]
    #[case::adopted((1, &json!({}), false), (2, &owned("a"), false), &[changed("a")])]
    #[case::handed_over((1, &owned("a"), false), (2, &owned("b"), false), &[changed("a"), changed("b")])]
    #[case::released((1, &owned("a"), false), (2, &json!({}), false), &[changed("a"), changed("a"), changed("b")])]
    #[case::going((1, &owned("a"), true), (2, &going("a"), true), &[went("a")])]
    #[case::still_going((1, &going("a"), true), (2, &going("a"), false), &[went("a")])]
    #[case::going_with_new_labels(
        (1, &owned("a"), true),
        (2, &json!({"labels": {}, "deletionTimestamp": "2026-01-01T00:00:00Z"}), true),
        &[went("a")])]
    fn updated(#[case] before: (u32, &Value, bool), #[case] after: (u32, &Value, bool), #[case] expected: &[Wake]) {
        let mut cache = cache();
        woken(&mut cache, pod(before.0, before.1, before.2));
        assert_eq!(woken(&mut cache, pod(after.0, after.1, after.2)), expected);
    }

    #[test]
    fn a_deleted_pod_concerns_its_owner_and_an_orphan_nobody() {
        let mut cache = cache();
        woken(&mut cache, pod(1, &owned("a"), true));
        assert_eq!(woken(&mut cache, GONE()), [went("a")]);
        assert!(woken(&mut cache, GONE()).is_empty());
        woken(&mut cache, pod(1, &json!({}), true));
        assert!(woken(&mut cache, GONE()).is_empty());
    }

    /// TestRecreateRSWithSameNameStartsClean, as far as it is a trigger's.
    #[test]
    fn one_that_goes_or_is_made_anew_is_forgotten() {
        let mut cache = cache();
        assert_eq!(woken(&mut cache, replica_set("a", "a", "x")), [changed("a")], "nothing new is news");
        let gone = |uid: &str| Wake::Gone(key("a"), uid.to_owned());
        assert_eq!(woken(&mut cache, replica_set("a", "again", "x")), [gone("a"), changed("a")]);
        assert_eq!(woken(&mut cache, Change::ReplicaSet(key("a"), None)), [gone("again"), changed("a")]);
    }

    #[test]
    fn pods_are_found_by_their_owner_and_by_their_namespace() {
        let mut cache = cache();
        woken(&mut cache, pod(1, &owned("a"), true));
        let names = |cache: &Cache, uid: &str| cache.pods_of("ns", uid).map(|pod| pod.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&cache, "a"), names(&cache, "")), (vec!["pod".to_owned()], vec![]));
        woken(&mut cache, pod(2, &json!({}), true));
        assert_eq!((names(&cache, "a"), names(&cache, "")), (vec![], vec!["pod".to_owned()]));
        assert_eq!((cache.pods_in("ns").count(), cache.pods_in("n").count()), (1, 0));
        assert_eq!(cache.pods_of("elsewhere", "").count(), 0);
    }
}
