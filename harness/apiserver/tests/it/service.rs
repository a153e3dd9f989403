//! The server as a service of kube's client, on virtual time, with the configuration of a user.

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Resource};
use kube_apiserver_sim::{ApiServer, Builder, ControllerMode, Latency};
use rstest::rstest;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Error = Box<dyn std::error::Error>;

async fn create<K>(client: &Client, object: Value) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    K: Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
{
    let api: Api<K> = Api::default_namespaced(client.clone());
    Ok(api.create(&PostParams::default(), &serde_json::from_value(object)?).await?)
}

/// Creates an owner and its dependent.
async fn create_owner_and_dependent(client: &Client) -> Result<(), Error> {
    let spec = json!({"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "app:1"}]}}});
    let owner: Deployment = create(client, json!({"metadata": {"name": "web"}, "spec": spec})).await?;
    let owners = json!([owner.controller_owner_ref(&())]);
    let _: ReplicaSet =
        create(client, json!({"metadata": {"name": "web-1", "ownerReferences": owners}, "spec": spec})).await?;
    Ok(())
}

/// Runs several concurrent writers; returns the transcript.
async fn run(builder: Builder) -> Result<Vec<String>, Error> {
    let server = builder.epoch(Timestamp::UNIX_EPOCH).build();
    server.start_transcript();
    let writers = (0..5).map(|_| {
        let client = Client::new(server.clone(), "default");
        async move { create::<ConfigMap>(&client, json!({"metadata": {"generateName": "map-"}})).await }
    });
    futures::future::try_join_all(writers).await?;
    Ok(server.transcript())
}

#[tokio::test(start_paused = true)]
async fn same_seed_repeats_a_run_and_another_seed_does_not() -> Result<(), Error> {
    let random = |seed| ApiServer::builder().seed(seed).latency(Latency::Random);
    let first = run(random(1)).await?;
    assert_eq!(first.len(), 5);
    assert_eq!(first, run(random(1)).await?);
    assert_ne!(first, run(random(2)).await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn watch_from_forgotten_version_gets_410() -> Result<(), Error> {
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    let old: ConfigMap = create(&client, json!({"metadata": {"name": "a"}})).await?;
    let _: ConfigMap = create(&client, json!({"metadata": {"name": "b"}})).await?;
    server.forget(server.resource_version());
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let version = old.metadata.resource_version.unwrap_or_default();
    let event = maps.watch(&WatchParams::default(), &version).await?.boxed().next().await;
    assert!(matches!(&event, Some(Ok(WatchEvent::Error(status))) if status.code == 410), "{event:?}");
    Ok(())
}

#[rstest]
#[case::immediate(ControllerMode::Immediate, 0)]
#[case::background(ControllerMode::Background, 1)]
#[case::off(ControllerMode::Off, 1)]
#[tokio::test(start_paused = true)]
async fn dependents_are_deleted_when_the_controllers_act(
    #[case] controllers: ControllerMode,
    #[case] at_once: usize,
) -> Result<(), Error> {
    let server = ApiServer::builder().controllers(controllers).build();
    let client = Client::new(server.clone(), "default");
    create_owner_and_dependent(&client).await?;
    let sets: Api<ReplicaSet> = Api::default_namespaced(client.clone());
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    deployments.delete("web", &DeleteParams::background()).await?;
    assert_eq!(sets.list(&ListParams::default()).await?.items.len(), at_once);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn pod_needs_service_account_without_controllers() -> Result<(), Error> {
    let server = ApiServer::builder().controllers(ControllerMode::Off).build();
    let client = Client::new(server, "default");
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let refused = create::<Pod>(&client, pod).await;
    assert!(refused.is_err_and(|why| why.to_string().contains("serviceaccount \"default\" not found")));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn not_before_sets_creation_times_ahead_of_the_clock() -> Result<(), Error> {
    let server = ApiServer::builder().epoch(Timestamp::UNIX_EPOCH).build();
    let client = Client::new(server.clone(), "default");
    let later: Timestamp = "1970-01-01T00:00:07Z".parse()?;
    server.not_before("default", later);
    let created: ConfigMap = create(&client, json!({"metadata": {"name": "a"}})).await?;
    assert_eq!(created.metadata.creation_timestamp.map(|time| time.0), Some(later));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn client_without_managed_fields_keeps_them_on_write() -> Result<(), Error> {
    let server = ApiServer::new();
    let (client, other) = (Client::new(server.without_managed_fields(), "default"), Client::new(server, "default"));
    let (maps, whole): (Api<ConfigMap>, Api<ConfigMap>) =
        (Api::default_namespaced(client.clone()), Api::default_namespaced(other));
    let mut events = maps.watch(&WatchParams::default().disable_bookmarks(), "0").await?.boxed();
    let mut created: ConfigMap = create(&client, json!({"metadata": {"name": "a"}, "data": {"key": "1"}})).await?;
    let Some(Ok(WatchEvent::Added(seen))) = events.next().await else { panic!("no event") };
    created.data.get_or_insert_default().insert("key".to_owned(), "2".to_owned());
    let changed = maps.replace("a", &PostParams::default(), &created).await?;
    let listed = maps.list(&ListParams::default()).await?.items.remove(0);
    for shown in [&created, &seen, &changed, &listed] {
        assert_eq!(shown.metadata.managed_fields, None);
    }
    let managers = whole.get("a").await?.metadata.managed_fields.unwrap_or_default();
    let fields: Vec<_> = managers.into_iter().filter_map(|one| one.fields_v1).map(|fields| fields.0).collect();
    assert_eq!(fields, [json!({"f:data": {".": {}, "f:key": {}}})]);
    Ok(())
}
