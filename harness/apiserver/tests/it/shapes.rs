//! Malformed requests that once made the server panic, and similar ones. `random_requests.rs`
//! searches for more.

use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const PODS: &str = "/api/v1/namespaces/default/pods";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const JSON: &str = "application/json";

async fn send(server: &ApiServer, method: Method, path: &str, content_type: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = server.handle(request.body(body.to_string()).expect("a request")).await;
    let code = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// A server with a Deployment, a pod and a custom resource.
async fn server() -> ApiServer {
    let server = ApiServer::new();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}}]}});
    let template =
        json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let deployment =
        json!({"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}});
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"replicas": 1}});
    let pod = json!({"metadata": {"name": "a"}, "spec": template["spec"]});
    for (path, body) in [(DEFINITIONS, definition), (WIDGETS, widget), (DEPLOYMENTS, deployment), (PODS, pod)] {
        let (code, response) = send(&server, Method::POST, path, JSON, &body).await;
        assert_eq!(code, StatusCode::CREATED, "{response}");
    }
    server
}

/// Metadata, status and spec that are not objects are rejected for their type, whatever the
/// managers.
#[rstest]
#[tokio::test(start_paused = true)]
async fn rejects_parts_that_are_not_objects(#[values("metadata", "spec", "status")] part: &str) {
    let server = server().await;
    for value in [json!(1), json!("a"), json!(true), json!([]), json!([1])] {
        let merge = json!({part: value});
        let operations = json!([{"op": "add", "path": format!("/{part}"), "value": value}]);
        for (collection, name) in
            [(DEPLOYMENTS, "a"), (PODS, "a"), (WIDGETS, "a"), (DEFINITIONS, "widgets.example.com")]
        {
            for path in ["", "/status", "/scale"].map(|end| format!("{collection}/{name}{end}")) {
                let forms = [
                    ("application/merge-patch+json", &merge),
                    ("application/strategic-merge-patch+json", &merge),
                    ("application/json-patch+json", &operations),
                    ("application/apply-patch+yaml", &merge),
                ];
                for (content_type, body) in forms {
                    let requested = format!("{path}?fieldManager=a");
                    let (code, response) = send(&server, Method::PATCH, &requested, content_type, body).await;
                    let free = collection == WIDGETS && part != "metadata";
                    assert!(
                        code.is_client_error() || free && !code.is_server_error(),
                        "{content_type} {path} {body}: {code} {response}"
                    );
                }
                let (_, mut put) = send(&server, Method::GET, &path, JSON, &Value::Null).await;
                put[part] = value.clone();
                // An object with a resourceVersion cannot be created.
                put["metadata"].as_object_mut().and_then(|meta| meta.remove("resourceVersion"));
                for (method, path) in [(Method::PUT, path.as_str()), (Method::POST, collection)] {
                    let (code, response) = send(&server, method, path, JSON, &put).await;
                    let free = collection == WIDGETS && part != "metadata";
                    assert!(
                        code.is_client_error() || free && !code.is_server_error(),
                        "{path} {put}: {code} {response}"
                    );
                }
            }
        }
        for (end, kind) in [("binding", "Binding"), ("eviction", "Eviction")] {
            let body = json!({"kind": kind, "apiVersion": if end == "binding" { "v1" } else { "policy/v1" }, part: value,
                "target": value, "deleteOptions": value});
            let (code, response) = send(&server, Method::POST, &format!("{PODS}/a/{end}"), JSON, &body).await;
            assert_eq!(code, StatusCode::BAD_REQUEST, "{response}");
        }
    }
    assert_eq!(server.unsupported().iter().find(|why| why.contains("panicked")), None);
}

/// Upstream reports an undecodable patched object as an error of the patch.
#[tokio::test(start_paused = true)]
async fn reports_invalid_patched_metadata() {
    let server = server().await;
    let path = format!("{DEPLOYMENTS}/a");
    let (code, response) =
        send(&server, Method::PATCH, &path, "application/merge-patch+json", &json!({"metadata": 1})).await;
    assert_eq!((code, &response["reason"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("Invalid")));
    let expected = "json: cannot unmarshal number into Go struct field Deployment.metadata of type v1.ObjectMeta";
    assert!(response["message"].as_str().unwrap_or_default().ends_with(expected), "{response}");
}
