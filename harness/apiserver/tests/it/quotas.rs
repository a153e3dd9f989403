//! The usage of quotas over time, and quotas that are unsupported.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

async fn send(server: &ApiServer, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let response = server.handle(request.body(Full::<Bytes>::from(body)).expect("a request")).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).expect("JSON"))
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "app", "image": "app:1"}]}})
}

fn quota(name: &str, hard: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"hard": hard}})
}

async fn used(server: &ApiServer, name: &str) -> Value {
    send(server, "GET", &format!("{QUOTAS}/{name}"), Value::Null).await.1["status"]["used"].clone()
}

#[tokio::test(start_paused = true)]
async fn terminating_pod_counts_until_overdue() {
    let server = ApiServer::new();
    assert_eq!(send(&server, "POST", QUOTAS, quota("one", &json!({"pods": "1"}))).await.0, 201);
    assert_eq!(send(&server, "POST", PODS, pod("a")).await.0, 201);
    let (code, deleted) = send(&server, "DELETE", &format!("{PODS}/a"), Value::Null).await;
    assert_eq!((code, &deleted["metadata"]["deletionGracePeriodSeconds"]), (200, &json!(30)));
    // Its grace period ends after 30 seconds, and it is overdue after 60.
    for seconds in [10, 50, 200] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        assert_eq!(send(&server, "POST", PODS, pod("b")).await.0, 403);
    }
    tokio::time::advance(Duration::from_secs(41)).await;
    assert_eq!(used(&server, "one").await, json!({"pods": "0"}));
    assert_eq!(send(&server, "POST", PODS, pod("b")).await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn ended_or_deleted_pod_frees_quota_at_once() {
    let server = ApiServer::new();
    send(&server, "POST", QUOTAS, quota("one", &json!({"pods": "1", "count/pods": "2"}))).await;
    send(&server, "POST", PODS, pod("a")).await;
    let (_, mut created) = send(&server, "GET", &format!("{PODS}/a"), Value::Null).await;
    created["status"]["phase"] = "Succeeded".into();
    assert_eq!(send(&server, "PUT", &format!("{PODS}/a/status"), created).await.0, 200);
    assert_eq!(used(&server, "one").await, json!({"pods": "0", "count/pods": "1"}));
    assert_eq!(send(&server, "DELETE", &format!("{PODS}/a?gracePeriodSeconds=0"), Value::Null).await.0, 200);
    assert_eq!(used(&server, "one").await, json!({"pods": "0", "count/pods": "0"}));
}

#[tokio::test(start_paused = true)]
async fn quota_counts_restored_objects() {
    let server = ApiServer::new();
    send(&server, "POST", QUOTAS, quota("one", &json!({"requests.memory": "1Gi"}))).await;
    server
        .put_stored(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"},
            "spec": {"containers": [{"name": "app", "image": "app:1", "resources": {"requests": {"memory": "64Mi"}}}]}}))
        .unwrap();
    assert_eq!(used(&server, "one").await, json!({"requests.memory": "64Mi"}));
}

#[rstest]
#[case::a_kind_that_is_not_served(QUOTAS, quota("a", &json!({"count/csistoragecapacities.storage.k8s.io": "1"})), 501)]
#[case::a_kind_that_is_never_there(QUOTAS, quota("a", &json!({"count/persistentvolumeclaims": "1"})), 201)]
#[case::an_extended_resource(QUOTAS, quota("a", &json!({"requests.example.com/gpu": "1"})), 201)]
#[case::pod_security("/api/v1/namespaces",
    json!({"metadata": {"name": "a", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}), 501)]
#[case::privileged("/api/v1/namespaces",
    json!({"metadata": {"name": "a", "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}), 201)]
#[case::a_plain_pod("/api/v1/namespaces/baseline/pods",
    json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}), 201)]
#[case::a_pod_of_the_hosts("/api/v1/namespaces/baseline/pods",
    json!({"metadata": {"name": "a"}, "spec": {"hostNetwork": true, "containers": [{"name": "app", "image": "app:1"}]}}), 501)]
#[case::a_privileged_container("/api/v1/namespaces/baseline/pods",
    json!({"metadata": {"name": "a"}, "spec": {
        "containers": [{"name": "app", "image": "app:1", "securityContext": {"privileged": true}}]}}), 501)]
#[case::a_pod_larger_than_its_containers(PODS, json!({"metadata": {"name": "a"}, "spec": {
    "resources": {"requests": {"cpu": "1"}}, "containers": [{"name": "app", "image": "app:1"}]}}), 201)]
#[case::a_pod_smaller_than_its_containers(PODS, json!({"metadata": {"name": "a"}, "spec": {
    "resources": {"requests": {"cpu": "1"}},
    "containers": [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "2"}}}]}}), 501)]
#[case::a_registry_configuration_that_is_a_list("/api/v1/namespaces/default/secrets",
    json!({"metadata": {"name": "a"}, "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "[]"}}), 501)]
#[tokio::test(start_paused = true)]
async fn rejects_features_it_does_not_enforce(#[case] path: &str, #[case] body: Value, #[case] expected: u16) {
    let server = ApiServer::new();
    let labels = json!({"pod-security.kubernetes.io/enforce": "baseline"});
    let space = json!({"metadata": {"name": "baseline", "labels": labels}});
    assert_eq!(send(&server, "POST", "/api/v1/namespaces", space).await.0, 201);
    let (code, response) = send(&server, "POST", path, body).await;
    assert_eq!(code, expected, "{response}");
    assert_eq!(server.unsupported().len(), usize::from(expected == 501));
}

#[tokio::test(start_paused = true)]
async fn refuses_to_change_the_type_of_a_service() {
    const SERVICES: &str = "/api/v1/namespaces/default/services";
    let server = ApiServer::new();
    let balanced = json!({"metadata": {"name": "a"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}});
    let (code, mut service) = send(&server, "POST", SERVICES, balanced).await;
    assert_eq!(code, 201);
    // Upstream drops the node ports and the policies that only the old type had.
    service["spec"]["type"] = "ClusterIP".into();
    let (code, response) = send(&server, "PUT", &format!("{SERVICES}/a"), service).await;
    assert_eq!(code, 501, "{response}");
}
