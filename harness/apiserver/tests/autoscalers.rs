//! One autoscaler in two versions.

use http_body_util::BodyExt as _;
use kube_apiserver_sim::ApiServer;
use serde_json::{Value, json};

async fn ask(server: &ApiServer, method: &str, path: &str, form: &str, body: &Value) -> (u16, Value) {
    let path = format!("/apis/autoscaling/{path}");
    let request = http::Request::builder().method(method).uri(path).header("content-type", form);
    let body = http_body_util::Full::new(bytes::Bytes::from(body.to_string()));
    let answer = server.handle(request.body(body).expect("a request")).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

const ALL: &str = "namespaces/default/horizontalpodautoscalers";
const APPLY: &str = "application/apply-patch+yaml";

fn first() -> Value {
    json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {
        "maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
}

#[tokio::test(start_paused = true)]
async fn what_one_version_writes_the_other_reads() {
    let server = ApiServer::new();
    let (code, made) = ask(&server, "POST", &format!("v1/{ALL}"), "application/json", &first()).await;
    assert_eq!((code, &made["apiVersion"]), (201, &"autoscaling/v1".into()));
    assert_eq!(made["spec"]["minReplicas"], 1);
    let (_, second) = ask(&server, "GET", &format!("v2/{ALL}/a"), "", &json!({})).await;
    assert_eq!(second["apiVersion"], "autoscaling/v2");
    assert_eq!(second["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(second["metadata"]["uid"], made["metadata"]["uid"]);
    // The entry of a manager stays one of the version that it wrote.
    let fields = &second["metadata"]["managedFields"][0];
    assert_eq!(fields["apiVersion"], "autoscaling/v1");
    assert!(fields["fieldsV1"]["f:spec"]["f:targetCPUUtilizationPercentage"].is_object(), "{fields}");
    let patch = json!({"spec": {"behavior": {"scaleUp": {"selectPolicy": "Min"}}}});
    let form = "application/merge-patch+json";
    let (code, _) = ask(&server, "PATCH", &format!("v2/{ALL}/a"), form, &patch).await;
    assert_eq!(code, 200);
    let (_, first) = ask(&server, "GET", &format!("v1/{ALL}/a"), "", &json!({})).await;
    let note = first["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"].as_str().unwrap();
    assert!(note.starts_with(r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Min","#), "{note}");
    assert!(server.unsupported().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_field_is_owned_across_versions() {
    let server = ApiServer::new();
    let at = |version: &str, manager: &str| format!("{version}/{ALL}/a?fieldManager={manager}");
    let (code, _) = ask(&server, "PATCH", &at("v1", "one"), APPLY, &first()).await;
    assert_eq!(code, 201);
    let mut second = first();
    second["apiVersion"] = "autoscaling/v2".into();
    second["spec"] = json!({"maxReplicas": 5, "scaleTargetRef": second["spec"]["scaleTargetRef"]});
    let (code, refused) = ask(&server, "PATCH", &at("v2", "two"), APPLY, &second).await;
    assert_eq!((code, &refused["reason"]), (409, &"Conflict".into()));
    assert_eq!(refused["details"]["causes"][0]["field"], ".spec.maxReplicas");
    let (code, forced) = ask(&server, "PATCH", &(at("v2", "two") + "&force=true"), APPLY, &second).await;
    assert_eq!((code, &forced["spec"]["maxReplicas"]), (200, &5.into()));
    let entries = forced["metadata"]["managedFields"].as_array().unwrap();
    let of = |manager: &str| entries.iter().find(|entry| entry["manager"] == manager).unwrap();
    assert!(of("one")["fieldsV1"]["f:spec"]["f:maxReplicas"].is_null());
    assert!(of("one")["fieldsV1"]["f:spec"]["f:targetCPUUtilizationPercentage"].is_object());
    assert!(of("two")["fieldsV1"]["f:spec"]["f:maxReplicas"].is_object());
    // A manager that applies in the other version has no more than one entry.
    let (code, moved) = ask(&server, "PATCH", &(at("v2", "one") + "&force=true"), APPLY, &second).await;
    assert_eq!(code, 200);
    let entries = moved["metadata"]["managedFields"].as_array().unwrap();
    let own: Vec<&Value> = entries.iter().filter(|entry| entry["manager"] == "one").collect();
    assert_eq!((own.len(), &own[0]["apiVersion"]), (1, &"autoscaling/v2".into()));
    assert!(server.unsupported().is_empty());
}
