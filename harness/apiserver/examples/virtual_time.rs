//! A test of a Kubernetes client in virtual time: create, watch, let an hour pass, delete.
//!
//! In a test, write `#[tokio::test(start_paused = true)]` in place of the attribute of `main`.
#![expect(clippy::disallowed_methods, reason = "an example has no clock module of its own")]

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams, WatchEvent, WatchParams};
use kube_apiserver_sim::ApiServer;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = ApiServer::builder().seed(1).epoch("2030-01-01T00:00:00Z".parse()?).build();
    let client = kube::Client::new(server.clone(), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);

    let map = serde_json::from_value(serde_json::json!({"metadata": {"name": "settings"}}))?;
    let made = maps.create(&PostParams::default(), &map).await?;
    let version = made.metadata.resource_version.unwrap_or_default();
    let mut events = maps.watch(&WatchParams::default().timeout(290), &version).await?.boxed();

    // tokio's clock is paused: it jumps ahead whenever every task waits for it.
    let start = tokio::time::Instant::now();
    let delete = async {
        tokio::time::sleep(Duration::from_secs(200)).await;
        maps.delete("settings", &DeleteParams::default()).await
    };
    let (deleted, event) = tokio::join!(delete, events.try_next());
    deleted?;
    assert!(matches!(event?, Some(WatchEvent::Deleted(map)) if map.metadata.name.as_deref() == Some("settings")));
    assert_eq!(start.elapsed().as_secs(), 200);

    // An hour later the server's time of day is an hour later too.
    tokio::time::sleep(Duration::from_secs(3400)).await;
    let again = maps.create(&PostParams::default(), &map).await?;
    assert_eq!(
        again.metadata.creation_timestamp.map(|time| time.0.to_string()),
        Some("2030-01-01T01:00:00Z".to_owned())
    );

    // No request was one that the server does not support.
    assert_eq!(server.unsupported(), Vec::<String>::new());
    println!("an hour has passed");
    Ok(())
}

#[test]
fn runs() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
