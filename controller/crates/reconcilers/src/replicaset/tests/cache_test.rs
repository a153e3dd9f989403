//! Measures the memory of cached objects in allocated bytes: their text and about 3 kB for what
//! rules read, each template once.

use std::sync::Arc;

use allocation_counter::measure;
use controller_client::api::{Cache, CacheUpdate, ListPage, NamespacedName};
use controller_client::runtime::{RawObject, WireObject};
use rollout_model::{Deployment, Pod, ReplicaSet, names};
use serde_json::{Value, json};

use crate::replicaset::observe::observe;

fn template(index: usize, image: &str) -> Value {
    let env: Vec<_> = (0..60)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("https://service-{index}.example.com/{n}")}))
        .collect();
    let probe = json!({"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 3});
    let labels = json!({"app": format!("service-{index}"), "team": "platform"});
    json!({"metadata": {"labels": labels}, "spec": {"ofTheFuture": 1, "containers": [
        {"name": "app", "image": image, "env": env, "livenessProbe": probe, "readinessProbe": probe}]}})
}

/// As the server sends it, with managed fields and kubectl's last-applied annotation.
fn deployment(index: usize, image: &str) -> Value {
    let template = template(index, image);
    let managers = json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:template": template}}}]);
    json!({
        "metadata": {
            "namespace": "ns", "name": format!("service-{index}"), "uid": format!("d{index}"), "resourceVersion": "1",
            "labels": {"app": format!("service-{index}")}, "managedFields": managers,
            "annotations": {names::LAST_APPLIED: json!({"spec": {"template": template}}).to_string()},
        },
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": format!("service-{index}")}}, "template": template},
        "status": {"observedGeneration": 1},
    })
}

fn replica_set(index: usize, image: &str, hash: &str) -> Value {
    let mut template = template(index, image);
    template["metadata"]["labels"][names::POD_TEMPLATE_HASH] = hash.into();
    json!({
        "metadata": {
            "namespace": "ns", "name": format!("service-{index}-{hash}"), "uid": format!("r{index}-{hash}"), "resourceVersion": "1",
            "labels": template["metadata"]["labels"], "annotations": {names::REVISION: "1"},
            "ownerReferences": [{"kind": "Deployment", "name": format!("service-{index}"), "uid": format!("d{index}"), "controller": true}],
        },
        "spec": {"replicas": 3, "selector": {"matchLabels": template["metadata"]["labels"]}, "template": template},
        "status": {"replicas": 3},
    })
}

/// Applies an object from a watch.
fn take<W: WireObject<Update = CacheUpdate>>(cache: &mut Cache, text: &str) {
    let update = serde_json::from_str::<W>(text).unwrap().into_update().unwrap();
    cache.apply(update);
}

/// Bytes that stay allocated.
fn allocated_bytes(act: impl FnOnce()) -> usize {
    usize::try_from(measure(act).bytes_current).unwrap()
}

#[test]
fn object_takes_little_more_memory_than_its_text() {
    let mut cache = Cache::default();
    let mut raw = deployment(0, "app:1");
    let text = raw.to_string();
    raw["metadata"].as_object_mut().unwrap().remove("managedFields");
    let size = raw.to_string().len();
    assert!(size > 8000, "as large as people write them: {size}");
    let first = allocated_bytes(|| take::<RawObject<Deployment>>(&mut cache, &text));
    assert!(first < size + 3000, "{first} bytes for one of {size}");

    let of_new = replica_set(0, "app:1", "a").to_string();
    let newest = allocated_bytes(|| take::<RawObject<ReplicaSet>>(&mut cache, &of_new));
    assert!(newest < 5000, "{newest} bytes for a ReplicaSet of {}, whose template is there already", of_new.len());

    let of_old = replica_set(0, "app:0", "b").to_string();
    let old = allocated_bytes(|| take::<RawObject<ReplicaSet>>(&mut cache, &of_old));
    assert!(old < of_old.len() + 4000, "{old} bytes for a ReplicaSet of {}", of_old.len());

    // The same objects again, and the comparisons that rules make: memory does not grow.
    let again = allocated_bytes(|| {
        take::<RawObject<Deployment>>(&mut cache, &text);
        take::<RawObject<ReplicaSet>>(&mut cache, &of_new);
        let deployment = cache.deployment(&NamespacedName::new("ns", "service-0")).unwrap();
        let sets =
            ["a", "b"].map(|hash| cache.replica_set(&NamespacedName::new("ns", &format!("service-0-{hash}"))).unwrap());
        assert_eq!(sets.map(|set| set.template().is_same(deployment.template())), [true, false]);
    });
    assert!(again < 500, "{again} bytes more");
}

#[test]
fn equal_templates_are_shared_and_dropped_with_their_last_object() {
    let mut cache = Cache::default();
    take::<RawObject<Deployment>>(&mut cache, &deployment(0, "app:1").to_string());
    for hash in ["a", "b"] {
        take::<RawObject<ReplicaSet>>(&mut cache, &replica_set(0, "app:1", hash).to_string());
    }
    let text = |cache: &Cache, hash: &str| {
        let set = cache.replica_set(&NamespacedName::new("ns", &format!("service-0-{hash}"))).unwrap();
        assert_eq!(set.raw(), replica_set(0, "app:1", hash), "each with its own hash");
        set.template().text().clone()
    };
    let of_deployment = cache.deployment(&NamespacedName::new("ns", "service-0")).unwrap().template().text().clone();
    assert!(Arc::ptr_eq(&text(&cache, "a"), &text(&cache, "b")));
    assert!(Arc::ptr_eq(&text(&cache, "a"), &of_deployment));
    assert_eq!(cache.template_count(), 1);

    take::<RawObject<Deployment>>(&mut cache, &deployment(0, "app:2").to_string());
    assert_eq!(cache.template_count(), 2, "the old one is still the ReplicaSets'");
    for hash in ["a", "b"] {
        assert_eq!(cache.template_count(), 2);
        cache.apply(CacheUpdate::ReplicaSet(NamespacedName::new("ns", &format!("service-0-{hash}")), None));
    }
    assert_eq!(cache.template_count(), 1);
    cache.apply(CacheUpdate::Deployment(NamespacedName::new("ns", "service-0"), None));
    cache.apply(CacheUpdate::Deployment(NamespacedName::new("ns", "service-0"), None));
    assert_eq!(cache.template_count(), 0);
}

#[test]
fn cached_object_equals_the_received_one_without_managed_fields() {
    let mut cache = Cache::default();
    let mut raw = deployment(0, "app:1");
    take::<RawObject<Deployment>>(&mut cache, &raw.to_string());
    raw["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(cache.deployment(&NamespacedName::new("ns", "service-0")).unwrap().raw(), raw);
}

/// Parsed JSON of a page would take six times its text.
#[test]
fn list_page_is_never_in_memory_as_parsed_json() {
    let items: Vec<_> = (0..50).map(|index| deployment(index, "app:1")).collect();
    let text = json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string();
    let mut list: Option<ListPage<RawObject<Deployment>>> = None;
    let most = measure(|| list = Some(serde_json::from_str(&text).unwrap())).bytes_max;
    assert_eq!(list.unwrap().items.len(), 50);
    assert!(usize::try_from(most).unwrap() < text.len() * 3 / 2, "{most} bytes for {} of text", text.len());
}

#[test]
fn pod_takes_little_memory_whatever_its_spec() {
    let mut cache = Cache::default();
    let mut pod = json!({
        "metadata": {
            "namespace": "namespace", "name": "service-0-6b7f8c9d5-x2x4z", "uid": "0b7c9a6e-0f3e-4c55-9d3e-2f1f6f8a7b11",
            "resourceVersion": "1234567", "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "service-0-6b7f8c9d5",
                "uid": "1b7c9a6e-0f3e-4c55-9d3e-2f1f6f8a7b11", "controller": true}],
        },
        "spec": template(0, "app:1")["spec"], "status": {"phase": "Running"},
    });
    let count = 100;
    let all = allocated_bytes(|| {
        for index in 0..count {
            pod["metadata"]["name"] = format!("service-0-6b7f8c9d5-{index:05}").into();
            take::<Pod>(&mut cache, &pod.to_string());
        }
    });
    // `pod` itself has a name of the same length before and after.
    assert!(all / count < 1000, "{} bytes a pod", all / count);
}

/// See [`crate::replicaset::ReplicaSetTracker`]: an expectation applies to one UID, not to the next
/// ReplicaSet of that name.
#[test]
fn only_the_replica_set_with_outstanding_expectations_waits() {
    let mut cache = Cache::default();
    take::<RawObject<ReplicaSet>>(&mut cache, &replica_set(0, "app:1", "new").to_string());
    let key = NamespacedName::new("ns", "service-0-new");
    let can_manage = |outstanding| observe(&cache, &key, outstanding).unwrap().can_manage_pods;
    assert!(can_manage(None));
    assert!(!can_manage(Some("r0-new")));
    assert!(can_manage(Some("r0-old")));
}
