//! Amounts of resources, in the form in which kube-apiserver v1.36 stores them.

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::{Value, json};

/// The stored form of a new object.
async fn created(path: &str, object: &Value) -> Value {
    let server = ApiServer::new();
    let request = Request::post(path).header("content-type", "application/json");
    let response =
        server.handle(request.body(Full::<bytes::Bytes>::from(object.to_string())).expect("a request")).await;
    let code = response.status();
    let body = response.into_body().collect().await.expect("a body never fails").to_bytes();
    assert_eq!((code, server.unsupported()), (StatusCode::CREATED, Vec::new()), "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).expect("a response is JSON")
}

fn pod(container: &Value) -> Value {
    let mut pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    for (name, value) in container.as_object().into_iter().flatten() {
        pod["spec"]["containers"][0][name] = value.clone();
    }
    pod
}

#[tokio::test]
async fn rounds_amounts_of_a_limit_range_up_to_thousandths() {
    let limit =
        json!({"type": "Container", "min": {"cpu": "100u"}, "max": {"cpu": "2.0001"}, "default": {"cpu": "1500u"}});
    let range = json!({"metadata": {"name": "a"}, "spec": {"limits": [limit]}});
    let range = created("/api/v1/namespaces/default/limitranges", &range).await;
    let expected = json!([{"type": "Container", "min": {"cpu": "1m"}, "max": {"cpu": "2001m"}, "default": {"cpu": "2m"},
        "defaultRequest": {"cpu": "2m"}}]);
    assert_eq!(range["spec"]["limits"], expected);
}

#[tokio::test]
async fn rounds_amounts_of_a_quota_up_to_thousandths() {
    let quota = json!({"metadata": {"name": "a"}, "spec": {"hard": {"requests.cpu": "1.00005", "pods": "3"}}});
    let quota = created("/api/v1/namespaces/default/resourcequotas", &quota).await;
    assert_eq!(quota["spec"]["hard"], json!({"requests.cpu": "1001m", "pods": "3"}));
}

#[tokio::test]
async fn rounds_amounts_of_a_container_up_to_thousandths() {
    let pod = pod(&json!({"resources": {"limits": {"cpu": "100u", "memory": "1Mi"}}}));
    let pod = created("/api/v1/namespaces/default/pods", &pod).await;
    let amounts = json!({"cpu": "1m", "memory": "1Mi"});
    assert_eq!(pod["spec"]["containers"][0]["resources"], json!({"limits": amounts, "requests": amounts}));
}

#[rstest]
#[case::absent(json!({"resource": "limits.cpu"}), "0")]
#[case::given(json!({"resource": "limits.cpu", "divisor": "1m"}), "1m")]
#[tokio::test]
async fn resource_field_always_has_a_divisor(#[case] field: Value, #[case] divisor: &str) {
    let pod = pod(&json!({"env": [{"name": "CPU", "valueFrom": {"resourceFieldRef": field}}]}));
    let pod = created("/api/v1/namespaces/default/pods", &pod).await;
    let expected = json!({"resource": "limits.cpu", "divisor": divisor});
    assert_eq!(pod["spec"]["containers"][0]["env"][0]["valueFrom"]["resourceFieldRef"], expected);
}
