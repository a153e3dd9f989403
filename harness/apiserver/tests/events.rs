//! Events in both groups, and Ingresses, as clients see them.

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::{ApiServer, protobuf};
use rstest::rstest;
use serde_json::{Value, json};

const NEW: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
const CORE: &str = "/api/v1/namespaces/default/events";
const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

async fn send(server: &ApiServer, method: Method, path: &str, form: &str, body: Vec<u8>) -> (StatusCode, Vec<u8>) {
    let accept = if form == protobuf::MEDIA_TYPE { form } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", form).header("accept", accept);
    let answer = server.handle(request.body(Full::<bytes::Bytes>::from(body)).expect("a request")).await;
    let code = answer.status();
    (code, answer.into_body().collect().await.unwrap().to_bytes().to_vec())
}

async fn ask(server: &ApiServer, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let form = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let (code, bytes) = send(server, method, path, form, body).await;
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn event(name: &str) -> Value {
    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-11-21T10:00:00.000000Z", "reportingController": "example.com/web", "reportingInstance": "web-1",
        "action": "Scaling", "reason": "Scaled", "note": "to 3", "type": "Normal",
        "regarding": {"kind": "Deployment", "namespace": "default", "name": "web"}})
}

#[tokio::test(start_paused = true)]
async fn both_groups_have_the_same_events() {
    let server = ApiServer::new();
    let (code, made) = ask(&server, Method::POST, NEW, &event("a")).await;
    assert_eq!(
        (code, &made["note"], &made["apiVersion"]),
        (StatusCode::CREATED, &json!("to 3"), &json!("events.k8s.io/v1"))
    );
    assert_eq!(made["metadata"]["managedFields"][0]["apiVersion"], "events.k8s.io/v1");
    let (code, core) = ask(&server, Method::GET, &format!("{CORE}/a"), &Value::Null).await;
    assert_eq!((code, &core["message"], &core["apiVersion"]), (StatusCode::OK, &json!("to 3"), &json!("v1")));
    assert_eq!(
        (&core["involvedObject"]["name"], &core["reportingComponent"]),
        (&json!("web"), &json!("example.com/web"))
    );
    assert_eq!(core["metadata"]["uid"], made["metadata"]["uid"]);

    let old = json!({"metadata": {"name": "b"}, "involvedObject": {"namespace": "default", "name": "x"}, "message": "m",
        "source": {"component": "c"}, "count": 3, "firstTimestamp": "2026-11-21T10:00:00Z"});
    assert_eq!(ask(&server, Method::POST, CORE, &old).await.0, StatusCode::CREATED);
    let (_, seen) = ask(&server, Method::GET, &format!("{NEW}/b"), &Value::Null).await;
    assert_eq!((&seen["note"], &seen["deprecatedCount"]), (&json!("m"), &json!(3)));
    assert_eq!(seen["deprecatedSource"]["component"], "c");
    for (path, names) in [
        (format!("{NEW}?fieldSelector=regarding.name%3Dweb"), vec!["a"]),
        (format!("{CORE}?fieldSelector=involvedObject.name%3Dx"), vec!["b"]),
        (format!("{NEW}?fieldSelector=reportingController!%3Dz"), vec!["a", "b"]),
    ] {
        let (_, list) = ask(&server, Method::GET, &path, &Value::Null).await;
        let found: Vec<&str> =
            list["items"].as_array().unwrap().iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
        assert_eq!(found, names, "{path}");
    }
    let (code, _) = ask(&server, Method::DELETE, &format!("{NEW}/a"), &Value::Null).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(ask(&server, Method::GET, &format!("{CORE}/a"), &Value::Null).await.0, StatusCode::NOT_FOUND);
    assert!(server.unsupported().is_empty(), "{:?}", server.unsupported());
}

#[tokio::test(start_paused = true)]
async fn only_the_series_of_an_event_changes() {
    let server = ApiServer::new();
    ask(&server, Method::POST, NEW, &event("a")).await;
    let path = format!("{NEW}/a");
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-11-21T10:00:05.000000Z"}});
    let (code, new) = ask(&server, Method::PATCH, &path, &series).await;
    assert_eq!((code, &new["series"]["count"]), (StatusCode::OK, &json!(2)));
    let (code, refused) = ask(&server, Method::PATCH, &path, &json!({"note": "else"})).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused["details"]["causes"][0]["field"], "message");
}

#[tokio::test(start_paused = true)]
async fn an_event_can_be_protobuf() {
    let server = ApiServer::new();
    let body = protobuf::encode(&event("a")).unwrap();
    let (code, bytes) = send(&server, Method::POST, NEW, protobuf::MEDIA_TYPE, body).await;
    assert_eq!(code, StatusCode::CREATED);
    let made = protobuf::decode(&bytes).unwrap();
    assert_eq!((&made["note"], &made["apiVersion"]), (&json!("to 3"), &json!("events.k8s.io/v1")));
    let (_, bytes) = send(&server, Method::GET, NEW, protobuf::MEDIA_TYPE, Vec::new()).await;
    assert_eq!(protobuf::decode(&bytes).unwrap()["items"][0]["regarding"]["name"], "web");
}

#[rstest]
#[case(json!({"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}), None)]
#[case(json!({}), Some("spec"))]
#[case(json!({"rules": [{"host": "10.0.0.1"}]}), Some("spec.rules[0].host"))]
#[case(json!({"rules": [{"host": "*.example.com", "http": {"paths": [{"path": "/"}]}}]}), Some("spec.rules[0].http.paths[0].pathType"))]
#[tokio::test(start_paused = true)]
async fn ingresses(#[case] spec: Value, #[case] wrong: Option<&str>) {
    let server = ApiServer::new();
    let (code, made) = ask(&server, Method::POST, INGRESSES, &json!({"metadata": {"name": "a"}, "spec": spec})).await;
    match wrong {
        None => {
            assert_eq!((code, &made["metadata"]["generation"]), (StatusCode::CREATED, &json!(1)));
            assert_eq!(made["status"], json!({"loadBalancer": {}}));
        }
        Some(field) => {
            assert_eq!(
                (code, &made["details"]["causes"][0]["field"]),
                (StatusCode::UNPROCESSABLE_ENTITY, &json!(field))
            );
        }
    }
    assert!(server.unsupported().is_empty());
}

/// Upstream shows an empty list as it was given, and a list that was not given as null.
#[rstest]
#[case(json!({"rules": []}), "Invalid value: []: either")]
#[case(json!({}), "Invalid value: null: either")]
#[tokio::test(start_paused = true)]
async fn an_ingress_without_rules_is_refused_as_it_was_given(#[case] spec: Value, #[case] why: &str) {
    let server = ApiServer::new();
    let path = format!("{INGRESSES}/a");
    let with = |spec: &Value| json!({"metadata": {"name": "a"}, "spec": spec});
    let (code, refused) = ask(&server, Method::POST, INGRESSES, &with(&spec)).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");

    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let (code, made) = ask(&server, Method::POST, INGRESSES, &with(&json!({"defaultBackend": backend}))).await;
    assert_eq!(code, StatusCode::CREATED);
    let (code, refused) = ask(&server, Method::PUT, &path, &with(&spec)).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");
    // It is no change, and not stored.
    let patch = json!({"spec": {"rules": spec["rules"]}});
    let (code, same) = ask(&server, Method::PATCH, &path, &patch).await;
    assert_eq!((code, &same["metadata"]["resourceVersion"]), (StatusCode::OK, &made["metadata"]["resourceVersion"]));
}
