//! Requests that fail as a test decides, and watches that it steers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use kube::{Client, Error};
use kube_apiserver_sim::{ApiServer, Reaction, Route};
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
    let stored = server.stored("configmaps").expect("they are served").list("default");
    stored.iter().filter_map(|map| map["metadata"]["name"].as_str().map(str::to_owned)).collect()
}

/// What creating an object leads to, and what is stored afterwards.
async fn create(reaction: Reaction) -> (Result<ConfigMap, Error>, Vec<String>) {
    let server = ApiServer::new();
    server.on_request(move |_| reaction.clone());
    (maps(&server).create(&PostParams::default(), &map("a")).await, names(&server))
}

#[tokio::test(start_paused = true)]
async fn a_hook_decides_what_becomes_of_a_request() {
    let (answer, stored) = create(Reaction::Pass).await;
    assert!(answer.is_ok() && stored == ["a"]);
    let refused = Reaction::failure(StatusCode::CONFLICT, "Conflict", "try again");
    let (answer, stored) = create(refused).await;
    assert!(matches!(&answer, Err(Error::Api(status)) if status.reason == "Conflict" && status.message == "try again"));
    assert!(stored.is_empty());
    let (answer, stored) = create(Reaction::Disconnect).await;
    assert!(matches!(&answer, Err(Error::Service(why)) if why.to_string().contains("broke before an answer")));
    assert!(stored.is_empty());
    let (answer, stored) = create(Reaction::LoseAnswer).await;
    assert!(matches!(&answer, Err(Error::Service(_))) && stored == ["a"]);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "this is virtual time")]
async fn an_answer_may_be_late_or_never_come() {
    let start = Instant::now();
    assert!(create(Reaction::Delay(MINUTE)).await.0.is_ok());
    assert!(start.elapsed() >= MINUTE);
    assert!(timeout(60 * MINUTE, create(Reaction::Hang)).await.is_err());
}

/// The hook sees the whole request, and can read the server while it decides.
#[tokio::test(start_paused = true)]
async fn a_hook_sees_requests_in_the_servers_order() {
    let server = ApiServer::new();
    let (seen, inside) = (Arc::new(Mutex::new(Vec::new())), server.clone());
    let log = Arc::clone(&seen);
    server.on_request(move |request| {
        let route = Route::parse(request.method(), request.uri().path(), request.uri().query());
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
async fn a_paused_watch_is_silent_past_its_time_and_then_loses_nothing() {
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
async fn watches_of_other_resources_go_on() {
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
async fn an_ended_watch_begins_where_its_last_bookmark_was() {
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
async fn a_watch_that_times_out_ends_with_a_bookmark_of_the_latest_version_though_nothing_of_its_kind_changed() {
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
