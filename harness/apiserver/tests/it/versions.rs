//! Reads that request a future resourceVersion: upstream's watch cache waits three seconds for it.
#![expect(clippy::disallowed_methods, reason = "this is virtual time")]

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::{ApiServer, ResponseBody};
use rstest::rstest;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn send(server: &ApiServer, method: &str, path: &str, body: Value) -> Response<ResponseBody> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    server.handle(request.body(Full::<Bytes>::from(body)).expect("a request")).await
}

async fn read(response: Response<ResponseBody>) -> (u16, Value) {
    let code = response.status().as_u16();
    (code, serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).expect("JSON"))
}

#[rstest]
#[case::list("", 3)]
#[case::get("/a", 3)]
#[tokio::test(start_paused = true)]
async fn read_of_future_version_times_out(#[case] name: &str, #[case] seconds: u64) {
    let server = ApiServer::new();
    let start = tokio::time::Instant::now();
    let path = format!("{MAPS}{name}?resourceVersion={}", server.resource_version() + 1);
    let (code, status) = read(send(&server, "GET", &path, Value::Null).await).await;
    assert_eq!((code, &status["details"]["retryAfterSeconds"]), (504, &json!(1)));
    assert_eq!(start.elapsed().as_secs(), seconds);
}

#[tokio::test(start_paused = true)]
async fn read_waits_for_its_version() {
    let server = ApiServer::new();
    let start = tokio::time::Instant::now();
    let path = format!("{MAPS}?resourceVersion={}", server.resource_version() + 1);
    let write = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        send(&server, "POST", MAPS, json!({"metadata": {"name": "a"}})).await
    };
    let (response, _) = tokio::join!(send(&server, "GET", &path, Value::Null), write);
    let (code, list) = read(response).await;
    assert_eq!((code, &list["items"][0]["metadata"]["name"]), (200, &json!("a")));
    assert_eq!(start.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn watch_from_future_version_shows_later_changes() {
    let server = ApiServer::new();
    let start = tokio::time::Instant::now();
    let path = format!("{MAPS}?watch=1&timeoutSeconds=9&resourceVersion={}", server.resource_version() + 1);
    let watch = send(&server, "GET", &path, Value::Null).await;
    assert!(start.elapsed().as_secs() < 1, "it begins at once");
    for name in ["a", "b"] {
        assert_eq!(send(&server, "POST", MAPS, json!({"metadata": {"name": name}})).await.status(), 201);
    }
    let (code, event) = read(watch).await;
    assert_eq!((code, &event["object"]["metadata"]["name"]), (200, &json!("b")));
}

#[tokio::test(start_paused = true)]
async fn watch_list_at_future_version_gets_error_event() {
    let server = ApiServer::new();
    let options = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let path = format!("{MAPS}?{options}&resourceVersion=99999999");
    let (code, event) = read(send(&server, "GET", &path, Value::Null).await).await;
    assert_eq!((code, &event["type"], &event["object"]["code"]), (200, &json!("ERROR"), &json!(504)));
}
