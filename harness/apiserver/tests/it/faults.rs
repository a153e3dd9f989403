//! Faults that a test injects into requests, and watches that it controls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use kube::{Client, Error};
use kube_apiserver_sim::{ApiServer, Reaction, RequestInfo};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

const MINUTE: Duration = Duration::from_secs(60);

fn maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.clone(), "default"))
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).expect("a ConfigMap")
}

fn names(server: &ApiServer) -> Vec<String> {
    let stored = server.storage("configmaps").expect("they are served").list("default");
    stored.iter().filter_map(|map| map["metadata"]["name"].as_str().map(str::to_owned)).collect()
}

/// The result of creating an object, and the stored objects afterwards.
async fn create(reaction: Reaction) -> (Result<ConfigMap, Error>, Vec<String>) {
    let server = ApiServer::new();
    server.on_request(move |_| reaction.clone());
    (maps(&server).create(&PostParams::default(), &map("a")).await, names(&server))
}

#[tokio::test(start_paused = true)]
async fn hook_reaction_decides_the_response() {
    let (response, stored) = create(Reaction::Pass).await;
    assert!(response.is_ok() && stored == ["a"]);
    let refused = Reaction::failure(StatusCode::CONFLICT, "Conflict", "try again");
    let (response, stored) = create(refused).await;
    assert!(
        matches!(&response, Err(Error::Api(status)) if status.reason == "Conflict" && status.message == "try again")
    );
    assert!(stored.is_empty());
    let (response, stored) = create(Reaction::Disconnect).await;
    assert!(matches!(&response, Err(Error::Service(why)) if why.to_string().contains("broke before an answer")));
    assert!(stored.is_empty());
    let (response, stored) = create(Reaction::LoseAnswer).await;
    assert!(matches!(&response, Err(Error::Service(_))) && stored == ["a"]);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "this is virtual time")]
async fn hook_can_delay_or_withhold_a_response() {
    let start = Instant::now();
    assert!(create(Reaction::Delay(MINUTE)).await.0.is_ok());
    assert!(start.elapsed() >= MINUTE);
    assert!(timeout(60 * MINUTE, create(Reaction::Hang)).await.is_err());
}

/// The hook sees the complete request, and can read from the server while it runs.
#[tokio::test(start_paused = true)]
async fn hook_sees_requests_in_server_order() {
    let server = ApiServer::new();
    let (seen, inside) = (Arc::new(Mutex::new(Vec::new())), server.clone());
    let log = Arc::clone(&seen);
    server.on_request(move |request| {
        let route = RequestInfo::parse(request.method(), request.uri().path(), request.uri().query());
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        log.lock().unwrap().push(format!("{} {} {name} {}", route.verb, route.resource, names(&inside).len()));
        if request.method() == Method::POST && name == "c" {
            inside.on_request(|_| Reaction::failure(StatusCode::FORBIDDEN, "Forbidden", "no more"));
        }
        Reaction::Pass
    });
    server.start_transcript();
    for name in ["a", "b", "c"] {
        maps(&server).create(&PostParams::default(), &map(name)).await.unwrap();
    }
    maps(&server).get("a").await.unwrap_err();
    assert_eq!(*seen.lock().unwrap(), ["create configmaps a 0", "create configmaps b 1", "create configmaps c 2"]);
    let transcript = server.transcript();
    assert!(transcript.len() == 4 && transcript[3].contains(" -> 403 "), "{transcript:?}");
}

async fn watch(server: &ApiServer) -> BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>> {
    let params = WatchParams { bookmarks: true, ..WatchParams::default().timeout(290) };
    maps(server).watch(&params, &server.resource_version().to_string()).await.expect("a watch").boxed()
}

#[tokio::test(start_paused = true)]
async fn paused_watch_delivers_everything_after_resume() {
    let server = ApiServer::new();
    let watches = server.watches("configmaps").unwrap();
    let mut events = watch(&server).await;
    maps(&server).create(&PostParams::default(), &map("before")).await.unwrap();
    watches.pause();
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))), "what was before arrives");
    let mut later = watch(&server).await;
    maps(&server).create(&PostParams::default(), &map("a")).await.unwrap();
    watches.send_bookmarks();
    for events in [&mut events, &mut later] {
        assert!(timeout(2 * MINUTE, events.next()).await.is_err());
    }
    watches.resume();
    assert!(matches!(later.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    assert!(matches!(later.try_next().await, Ok(Some(WatchEvent::Bookmark(_)))));
    watches.pause();
    assert!(timeout(60 * MINUTE, later.next()).await.is_err(), "it does not end while it is paused");
}

#[tokio::test(start_paused = true)]
async fn pausing_one_resource_does_not_pause_others() {
    let server = ApiServer::new();
    let mut events = watch(&server).await;
    for of in ["secrets", "deployments.apps"] {
        server.watches(of).unwrap().pause();
        server.watches(of).unwrap().end();
    }
    maps(&server).create(&PostParams::default(), &map("a")).await.unwrap();
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    server.watches("pods.apps").unwrap_err();
}

/// A bookmark has the latest version, even if nothing of the resource has changed.
#[tokio::test(start_paused = true)]
async fn watch_can_restart_from_last_bookmark() {
    let server = ApiServer::new();
    let mut events = watch(&server).await;
    server.forget(server.resource_version());
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}});
    server.put_stored(secret).unwrap();
    server.watches("configmaps").unwrap().send_bookmarks();
    let Ok(Some(WatchEvent::Bookmark(bookmark))) = events.try_next().await else { panic!("no bookmark") };
    assert_eq!(bookmark.metadata.resource_version, server.resource_version().to_string());
    server.watches("configmaps").unwrap().end();
    assert!(events.next().await.is_none());
    maps(&server).create(&PostParams::default(), &map("a")).await.unwrap();
    let mut again =
        maps(&server).watch(&WatchParams::default(), &bookmark.metadata.resource_version).await.unwrap().boxed();
    assert!(matches!(again.try_next().await, Ok(Some(WatchEvent::Added(_)))));
}

#[tokio::test(start_paused = true)]
async fn idle_watch_times_out_with_bookmark_of_latest_version() {
    let server = ApiServer::new();
    let mut events = watch(&server).await;
    for number in 0..3 {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": format!("p{number}")}});
        server.put_stored(pod).unwrap();
    }
    let Ok(Some(WatchEvent::Bookmark(bookmark))) = events.try_next().await else { panic!("no bookmark") };
    assert_eq!(bookmark.metadata.resource_version, server.resource_version().to_string());
    assert!(events.try_next().await.unwrap().is_none());
}

/// Upstream: `ListResource`. Zero stands for its own default.
#[tokio::test(start_paused = true)]
async fn watch_without_a_positive_timeout_ends_at_once_or_never() {
    let server = ApiServer::new();
    let read = async |seconds: i32| {
        let uri = format!("/api/v1/namespaces?watch=1&timeoutSeconds={seconds}");
        let response = server.handle(Request::get(uri).body(Full::<Bytes>::default()).expect("a request")).await;
        timeout(60 * MINUTE, response.into_body().collect()).await.map(|body| body.unwrap().to_bytes())
    };
    assert_eq!(read(-1).await, Ok(Bytes::new()));
    assert!(read(0).await.is_err(), "it does not end");
    assert!(!read(1).await.unwrap().is_empty());
}
