//! Objects that a test stores and reads without requests.

use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube_apiserver_sim::{ApiServer, StorageError};
use rstest::rstest;
use serde_json::{Value, json};

type Error = Box<dyn std::error::Error>;

fn map(name: &str, metadata: &Value) -> Value {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    for (field, value) in metadata.as_object().into_iter().flatten() {
        map["metadata"][field] = value.clone();
    }
    map
}

fn maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.clone(), "default"))
}

/// Restores a status, times and a UID that no client could write, and a spec without defaults.
#[tokio::test(start_paused = true)]
async fn restores_objects_unchanged() -> Result<(), Error> {
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "d", "resourceVersion": "70", "generation": 9,
            "creationTimestamp": "2020-01-01T00:00:00Z", "deletionTimestamp": "2020-01-01T00:00:01Z"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "strategy": {},
            "template": {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": null}}},
        "status": {"replicas": 2, "observedGeneration": 8}});
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "spec": {}, "status": {"phase": "Active"},
        "metadata": {"name": "default", "uid": "n", "resourceVersion": "2", "creationTimestamp": "2019-01-01T00:00:00Z"}});
    let server = ApiServer::builder().objects([web.clone(), space.clone()])?.build();
    assert_eq!(server.storage("deployments.apps")?.get("default", "web"), Some(web));
    assert_eq!(server.storage("namespaces")?.get("", "default"), Some(space), "in place of the initial one");
    assert!(server.unsupported().is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn keeps_restored_versions_and_continues_after_them() -> Result<(), Error> {
    let [old, new] = ["3", "5000"].map(|version| map(version, &json!({"resourceVersion": version})));
    let server =
        ApiServer::builder().epoch(Timestamp::UNIX_EPOCH).objects([new, map("none", &json!({})), old])?.build();
    let versions = || -> Result<Vec<u64>, Error> {
        let stored = server.storage("configmaps")?.list("default");
        Ok(stored.iter().filter_map(|map| map["metadata"]["resourceVersion"].as_str()?.parse().ok()).collect())
    };
    // By name: 3, 5000, none.
    assert_eq!(versions()?, [3, 5000, 5001]);
    let created = server.storage("configmaps")?.get("", "none");
    assert_eq!(created, None, "a namespaced object is not found without its namespace");
    let created = server.storage("configmaps")?.get("default", "none").ok_or("not there")?;
    assert!(created["metadata"]["uid"].as_str().is_some_and(|uid| uid.len() == 36));
    assert_eq!(created["metadata"]["creationTimestamp"], "1970-01-01T00:00:00Z");

    let blue = Patch::Merge(json!({"data": {"colour": "blue"}}));
    let patched = maps(&server).patch("3", &PatchParams::default(), &blue).await?;
    assert_eq!(patched.metadata.resource_version, Some((server.resource_version()).to_string()));
    assert!(server.resource_version() > 5001);
    // Earlier history is unknown, so a watch cannot start there.
    let event = maps(&server).watch(&WatchParams::default(), "4999").await?.boxed().next().await;
    assert!(matches!(&event, Some(Ok(WatchEvent::Error(status))) if status.code == 410), "{event:?}");
    Ok(())
}

/// Replaces an object, replaces one without a difference, and removes one.
#[tokio::test(start_paused = true)]
async fn watches_deliver_restored_objects() -> Result<(), Error> {
    let server = ApiServer::new();
    let first = server.put_stored(map("a", &json!({"uid": "1", "finalizers": ["example.com/never"]})))?;
    let version = first["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let mut events = maps(&server).watch(&WatchParams::default(), version).await?.boxed();
    server.put_stored(first.clone())?;
    let other = server.put_stored(map("a", &json!({"uid": "2", "resourceVersion": "900"})))?;
    assert_eq!(other["metadata"]["resourceVersion"], "900");
    assert_eq!(
        server.storage("configmaps")?.remove("default", "a").map(|map| map["metadata"]["uid"].clone()),
        Some(json!("2"))
    );
    for (expected, version) in [("MODIFIED 1", ""), ("MODIFIED 2", "900"), ("DELETED 2", "901")] {
        let (what, map) = match events.try_next().await?.ok_or("the watch ended")? {
            WatchEvent::Modified(map) => ("MODIFIED", map),
            WatchEvent::Deleted(map) => ("DELETED", map),
            other => panic!("{other:?}"),
        };
        assert_eq!(format!("{what} {}", map.metadata.uid.unwrap_or_default()), expected);
        assert!(version.is_empty() || map.metadata.resource_version.as_deref() == Some(version));
    }
    assert_eq!(maps(&server).list(&ListParams::default()).await?.items.len(), 0);
    Ok(())
}

/// An object depends on the owner that was stored last under its name.
#[tokio::test(start_paused = true)]
async fn garbage_collector_follows_restored_uids() -> Result<(), Error> {
    let server = ApiServer::new();
    let owned =
        |uid: &str| json!({"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": uid}]});
    server.put_stored(map("a", &json!({"uid": "1"})))?;
    server.put_stored(map("of-1", &owned("1")))?;
    server.put_stored(map("a", &json!({"uid": "2"})))?;
    server.put_stored(map("of-2", &owned("2")))?;
    assert!(server.storage("configmaps")?.get("default", "of-2").is_some());
    maps(&server).delete("a", &DeleteParams::background()).await?;
    assert!(server.storage("configmaps")?.list("default").is_empty());
    Ok(())
}

#[rstest]
#[case(json!({"kind": "Pod", "apiVersion": "v2"}), "the kind \"Pod\" of the version \"v2\" is not served")]
#[case(json!({}), "the kind \"\" of the version \"\" is not served")]
#[case(json!({"kind": "Pod", "apiVersion": "v1"}), "a stored object needs metadata.name")]
#[case(json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}), "a stored object needs metadata.namespace")]
#[tokio::test(start_paused = true)]
async fn rejects_objects_that_cannot_be_restored(#[case] object: Value, #[case] expected: &str) {
    let server = ApiServer::new();
    let before = server.resource_version();
    assert_eq!(server.put_stored(object.clone()).map_err(|why| why.to_string()), Err(expected.to_owned()));
    assert!(ApiServer::builder().objects([object]).is_err());
    assert_eq!(server.resource_version(), before);
}

#[tokio::test(start_paused = true)]
async fn reports_unknown_resource_and_undecodable_field() {
    let server = ApiServer::new();
    assert_eq!(server.storage("pods.apps").err(), Some(StorageError::UnknownResource("pods.apps".to_owned())));
    let undecodable = server.put_stored(map("a", &json!({"labels": 1})));
    assert!(matches!(&undecodable, Err(StorageError::Undecodable(why)) if why.contains("labels")), "{undecodable:?}");
}
