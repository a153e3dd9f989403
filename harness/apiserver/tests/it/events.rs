//! Events in both groups, and Ingresses, from the view of clients.

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::{ApiServer, protobuf};
use rstest::rstest;
use serde_json::{Value, json};

const NEW: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
const CORE: &str = "/api/v1/namespaces/default/events";
const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

async fn send_bytes(
    server: &ApiServer,
    method: Method,
    path: &str,
    content_type: &str,
    body: Vec<u8>,
) -> (StatusCode, Vec<u8>) {
    let accept = if content_type == protobuf::MEDIA_TYPE { content_type } else { "application/json" };
    let request =
        Request::builder().method(method).uri(path).header("content-type", content_type).header("accept", accept);
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body)).expect("a request")).await;
    let code = response.status();
    (code, response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

async fn send(server: &ApiServer, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let content_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let (code, bytes) = send_bytes(server, method, path, content_type, body).await;
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn event(name: &str) -> Value {
    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-11-21T10:00:00.000000Z", "reportingController": "example.com/web", "reportingInstance": "web-1",
        "action": "Scaling", "reason": "Scaled", "note": "to 3", "type": "Normal",
        "regarding": {"kind": "Deployment", "namespace": "default", "name": "web"}})
}

#[tokio::test(start_paused = true)]
async fn both_groups_serve_the_same_events() {
    let server = ApiServer::new();
    let (code, created) = send(&server, Method::POST, NEW, &event("a")).await;
    assert_eq!(
        (code, &created["note"], &created["apiVersion"]),
        (StatusCode::CREATED, &json!("to 3"), &json!("events.k8s.io/v1"))
    );
    assert_eq!(created["metadata"]["managedFields"][0]["apiVersion"], "events.k8s.io/v1");
    let (code, core) = send(&server, Method::GET, &format!("{CORE}/a"), &Value::Null).await;
    assert_eq!((code, &core["message"], &core["apiVersion"]), (StatusCode::OK, &json!("to 3"), &json!("v1")));
    assert_eq!(
        (&core["involvedObject"]["name"], &core["reportingComponent"]),
        (&json!("web"), &json!("example.com/web"))
    );
    assert_eq!(core["metadata"]["uid"], created["metadata"]["uid"]);

    let old = json!({"metadata": {"name": "b"}, "involvedObject": {"namespace": "default", "name": "x"}, "message": "m",
        "source": {"component": "c"}, "count": 3, "firstTimestamp": "2026-11-21T10:00:00Z"});
    assert_eq!(send(&server, Method::POST, CORE, &old).await.0, StatusCode::CREATED);
    let (_, seen) = send(&server, Method::GET, &format!("{NEW}/b"), &Value::Null).await;
    assert_eq!((&seen["note"], &seen["deprecatedCount"]), (&json!("m"), &json!(3)));
    assert_eq!(seen["deprecatedSource"]["component"], "c");
    for (path, names) in [
        (format!("{NEW}?fieldSelector=regarding.name%3Dweb"), vec!["a"]),
        (format!("{CORE}?fieldSelector=involvedObject.name%3Dx"), vec!["b"]),
        (format!("{NEW}?fieldSelector=reportingController!%3Dz"), vec!["a", "b"]),
    ] {
        let (_, list) = send(&server, Method::GET, &path, &Value::Null).await;
        let found: Vec<&str> =
            list["items"].as_array().unwrap().iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
        assert_eq!(found, names, "{path}");
    }
    let (code, _) = send(&server, Method::DELETE, &format!("{NEW}/a"), &Value::Null).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(send(&server, Method::GET, &format!("{CORE}/a"), &Value::Null).await.0, StatusCode::NOT_FOUND);
    assert!(server.unsupported().is_empty(), "{:?}", server.unsupported());
}

#[tokio::test(start_paused = true)]
async fn only_the_series_of_an_event_is_mutable() {
    let server = ApiServer::new();
    send(&server, Method::POST, NEW, &event("a")).await;
    let path = format!("{NEW}/a");
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-11-21T10:00:05.000000Z"}});
    let (code, new) = send(&server, Method::PATCH, &path, &series).await;
    assert_eq!((code, &new["series"]["count"]), (StatusCode::OK, &json!(2)));
    let (code, refused) = send(&server, Method::PATCH, &path, &json!({"note": "else"})).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused["details"]["causes"][0]["field"], "message");
}

#[tokio::test(start_paused = true)]
async fn event_is_served_as_protobuf() {
    let server = ApiServer::new();
    let body = protobuf::encode(&event("a")).unwrap();
    let (code, bytes) = send_bytes(&server, Method::POST, NEW, protobuf::MEDIA_TYPE, body).await;
    assert_eq!(code, StatusCode::CREATED);
    let created = protobuf::decode(&bytes).unwrap();
    assert_eq!((&created["note"], &created["apiVersion"]), (&json!("to 3"), &json!("events.k8s.io/v1")));
    let (_, bytes) = send_bytes(&server, Method::GET, NEW, protobuf::MEDIA_TYPE, Vec::new()).await;
    assert_eq!(protobuf::decode(&bytes).unwrap()["items"][0]["regarding"]["name"], "web");
}

#[rstest]
#[case(json!({"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}), None)]
#[case(json!({}), Some("spec"))]
#[case(json!({"rules": [{"host": "10.0.0.1"}]}), Some("spec.rules[0].host"))]
#[case(json!({"rules": [{"host": "*.example.com", "http": {"paths": [{"path": "/"}]}}]}), Some("spec.rules[0].http.paths[0].pathType"))]
#[tokio::test(start_paused = true)]
async fn validates_ingresses(#[case] spec: Value, #[case] wrong: Option<&str>) {
    let server = ApiServer::new();
    let (code, created) =
        send(&server, Method::POST, INGRESSES, &json!({"metadata": {"name": "a"}, "spec": spec})).await;
    match wrong {
        None => {
            assert_eq!((code, &created["metadata"]["generation"]), (StatusCode::CREATED, &json!(1)));
            assert_eq!(created["status"], json!({"loadBalancer": {}}));
        }
        Some(field) => {
            assert_eq!(
                (code, &created["details"]["causes"][0]["field"]),
                (StatusCode::UNPROCESSABLE_ENTITY, &json!(field))
            );
        }
    }
    assert!(server.unsupported().is_empty());
}

/// Upstream prints an empty list as sent, and an absent list as null.
#[rstest]
#[case(json!({"rules": []}), "Invalid value: []: either")]
#[case(json!({}), "Invalid value: null: either")]
#[tokio::test(start_paused = true)]
async fn error_shows_rules_of_ingress_as_sent(#[case] spec: Value, #[case] why: &str) {
    let server = ApiServer::new();
    let path = format!("{INGRESSES}/a");
    let with = |spec: &Value| json!({"metadata": {"name": "a"}, "spec": spec});
    let (code, refused) = send(&server, Method::POST, INGRESSES, &with(&spec)).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");

    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let (code, created) = send(&server, Method::POST, INGRESSES, &with(&json!({"defaultBackend": backend}))).await;
    assert_eq!(code, StatusCode::CREATED);
    let (code, refused) = send(&server, Method::PUT, &path, &with(&spec)).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");
    // An empty list equals an absent one, so nothing is stored.
    let patch = json!({"spec": {"rules": spec["rules"]}});
    let (code, same) = send(&server, Method::PATCH, &path, &patch).await;
    assert_eq!((code, &same["metadata"]["resourceVersion"]), (StatusCode::OK, &created["metadata"]["resourceVersion"]));
}
