//! A test of a client whose requests fail and whose watch lags, on objects as they are in etcd.
//!
//! In a test, write `#[tokio::test(start_paused = true)]` in place of the attribute of `main`.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, WatchEvent, WatchParams};
use kube_apiserver_sim::{ApiServer, Reaction};
use serde_json::json;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The cluster starts with this object, exactly as it is.
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"colour": "red"}, "metadata": {
        "name": "settings", "namespace": "default", "uid": "1-2-3", "resourceVersion": "5000",
        "creationTimestamp": "2020-01-01T00:00:00Z"}});
    let server = ApiServer::builder().objects([settings])?.build();
    let maps: Api<ConfigMap> = Api::default_namespaced(kube::Client::new(server.clone(), "default"));

    // The first write is refused; the second one happens, but its answer is lost.
    let mut writes = 0;
    server.on_request(move |request| {
        writes += u32::from(request.method() != Method::GET);
        match (request.method(), writes) {
            (&Method::PATCH, 1) => Reaction::failure(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "try again"),
            (&Method::PATCH, 2) => Reaction::LoseAnswer,
            _ => Reaction::Pass,
        }
    });
    let blue = Patch::Merge(json!({"data": {"colour": "blue"}}));
    let colour = || {
        let settings = server.storage("configmaps").ok()?.get("default", "settings")?;
        Some(settings["data"]["colour"].as_str()?.to_owned())
    };
    let refused = maps.patch("settings", &PatchParams::default(), &blue).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 429));
    assert_eq!(colour().as_deref(), Some("red"));
    let lost = maps.patch("settings", &PatchParams::default(), &blue).await;
    assert!(matches!(lost, Err(kube::Error::Service(_))));
    assert_eq!(colour().as_deref(), Some("blue"));

    // A watch lags for a minute, and then delivers what it held back.
    let version = server.resource_version().to_string();
    let mut events = maps.watch(&WatchParams::default(), &version).await?.boxed();
    server.watches("configmaps")?.pause();
    let mut green = server.storage("configmaps")?.get("default", "settings").ok_or("not there")?;
    green["data"]["colour"] = "green".into();
    server.put_stored(green)?;
    assert!(tokio::time::timeout(Duration::from_secs(60), events.next()).await.is_err());
    server.watches("configmaps")?.resume();
    assert!(matches!(events.try_next().await?, Some(WatchEvent::Modified(_))));

    assert_eq!(server.unsupported(), Vec::<String>::new());
    println!("a refusal, a lost answer and a late event");
    Ok(())
}

#[test]
fn runs() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
