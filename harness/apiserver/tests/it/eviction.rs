//! Evictions, as `kubectl drain` sends them: disruption budgets limit their number.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn send(server: &ApiServer, method: Method, path: &str, body: &Value) -> (StatusCode, HeaderMap, Value) {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body)).expect("a request")).await;
    let (code, headers) = (response.status(), response.headers().clone());
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, headers, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn evict(server: &ApiServer, name: &str, query: &str) -> (StatusCode, HeaderMap, Value) {
    let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    send(server, Method::POST, &format!("{PODS}/{name}/eviction{query}"), &body).await
}

/// A server with two ready pods on a node, and a budget with this status.
async fn two_pods(budget: &Value) -> ApiServer {
    let server = ApiServer::new();
    for name in ["a", "b"] {
        let spec = json!({"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]});
        let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec});
        let (code, _, mut created) = send(&server, Method::POST, PODS, &pod).await;
        assert_eq!(code, StatusCode::CREATED);
        created["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let (code, ..) = send(&server, Method::PUT, &format!("{PODS}/{name}/status"), &created).await;
        assert_eq!(code, StatusCode::OK);
    }
    let body =
        json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    let (_, _, mut created) = send(&server, Method::POST, BUDGETS, &body).await;
    created["status"] = budget.clone();
    assert_eq!(send(&server, Method::PUT, &format!("{BUDGETS}/web/status"), &created).await.0, StatusCode::OK);
    server
}

fn allowing(disruptions: u32) -> Value {
    json!({"observedGeneration": 1, "disruptionsAllowed": disruptions, "currentHealthy": 2, "desiredHealthy": 1,
        "expectedPods": 2})
}

#[tokio::test(start_paused = true)]
async fn budget_limits_evictions() {
    let server = two_pods(&allowing(1)).await;
    let (code, _, status) = evict(&server, "a", "").await;
    assert_eq!((code, &status["status"]), (StatusCode::CREATED, &json!("Success")));
    let pods = server.storage("pods").unwrap();
    let gone = pods.get("default", "a").expect("its grace period runs");
    assert!(gone["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(gone["status"]["conditions"][1]["type"], "DisruptionTarget");
    let budget = server.storage("poddisruptionbudgets").unwrap().get("default", "web").unwrap();
    assert_eq!(budget["status"]["disruptionsAllowed"], 0);
    assert!(budget["status"]["disruptedPods"]["a"].is_string(), "{budget}");
    assert_eq!(budget["status"]["conditions"][0]["reason"], "InsufficientPods");

    let (code, _, status) = evict(&server, "b", "").await;
    assert_eq!((code, &status["reason"]), (StatusCode::TOO_MANY_REQUESTS, &json!("TooManyRequests")));
    assert_eq!(status["details"]["causes"][0]["reason"], "DisruptionBudget");
    assert!(pods.get("default", "b").expect("it stays")["metadata"]["deletionTimestamp"].is_null());

    // Evicting a pod in deletion again does not count as a disruption.
    assert_eq!(evict(&server, "a", "").await.0, StatusCode::CREATED);
    assert_eq!(server.unsupported(), Vec::<String>::new());
}

#[rstest]
#[case::used_up(allowing(0), None, "currently")]
#[case::not_looked_at_yet(json!({"disruptionsAllowed": 2}), Some("10"), "is still being processed by the server")]
#[tokio::test(start_paused = true)]
async fn refused_eviction_has_retry_after(#[case] budget: Value, #[case] after: Option<&str>, #[case] why: &str) {
    let server = two_pods(&budget).await;
    let (code, headers, status) = evict(&server, "a", "").await;
    assert_eq!(code, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()), after);
    assert!(status["details"]["causes"][0]["message"].as_str().unwrap().contains(why), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_evicts_nothing() {
    let server = two_pods(&allowing(1)).await;
    let before = server.resource_version();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(evict(&server, "a", "?dryRun=All").await.0, StatusCode::CREATED);
    assert_eq!(server.resource_version(), before);
}
