//! Serves one autoscaler in two versions.

use http_body_util::BodyExt as _;
use kube_apiserver_sim::ApiServer;
use serde_json::{Value, json};

async fn send(server: &ApiServer, method: &str, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
    let path = format!("/apis/autoscaling/{path}");
    let request = http::Request::builder().method(method).uri(path).header("content-type", content_type);
    let body = http_body_util::Full::new(bytes::Bytes::from(body.to_string()));
    let response = server.handle(request.body(body).expect("a request")).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

const ALL: &str = "namespaces/default/horizontalpodautoscalers";
const APPLY: &str = "application/apply-patch+yaml";

fn v1_autoscaler() -> Value {
    json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {
        "maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
}

#[tokio::test(start_paused = true)]
async fn autoscaler_written_in_v1_is_readable_in_v2() {
    let server = ApiServer::new();
    let (code, created) = send(&server, "POST", &format!("v1/{ALL}"), "application/json", &v1_autoscaler()).await;
    assert_eq!((code, &created["apiVersion"]), (201, &"autoscaling/v1".into()));
    assert_eq!(created["spec"]["minReplicas"], 1);
    let (_, v2) = send(&server, "GET", &format!("v2/{ALL}/a"), "", &json!({})).await;
    assert_eq!(v2["apiVersion"], "autoscaling/v2");
    assert_eq!(v2["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(v2["metadata"]["uid"], created["metadata"]["uid"]);
    // The managedFields entry keeps the version of the write.
    let fields = &v2["metadata"]["managedFields"][0];
    assert_eq!(fields["apiVersion"], "autoscaling/v1");
    assert!(fields["fieldsV1"]["f:spec"]["f:targetCPUUtilizationPercentage"].is_object(), "{fields}");
    let patch = json!({"spec": {"behavior": {"scaleUp": {"selectPolicy": "Min"}}}});
    let content_type = "application/merge-patch+json";
    let (code, _) = send(&server, "PATCH", &format!("v2/{ALL}/a"), content_type, &patch).await;
    assert_eq!(code, 200);
    let (_, first) = send(&server, "GET", &format!("v1/{ALL}/a"), "", &json!({})).await;
    let note = first["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"].as_str().unwrap();
    assert!(note.starts_with(r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Min","#), "{note}");
    assert!(server.unsupported().is_empty());
}

#[tokio::test(start_paused = true)]
async fn field_ownership_spans_versions() {
    let server = ApiServer::new();
    let at = |version: &str, manager: &str| format!("{version}/{ALL}/a?fieldManager={manager}");
    let (code, _) = send(&server, "PATCH", &at("v1", "one"), APPLY, &v1_autoscaler()).await;
    assert_eq!(code, 201);
    let mut v2 = v1_autoscaler();
    v2["apiVersion"] = "autoscaling/v2".into();
    v2["spec"] = json!({"maxReplicas": 5, "scaleTargetRef": v2["spec"]["scaleTargetRef"]});
    let (code, refused) = send(&server, "PATCH", &at("v2", "two"), APPLY, &v2).await;
    assert_eq!((code, &refused["reason"]), (409, &"Conflict".into()));
    assert_eq!(refused["details"]["causes"][0]["field"], ".spec.maxReplicas");
    let (code, forced) = send(&server, "PATCH", &(at("v2", "two") + "&force=true"), APPLY, &v2).await;
    assert_eq!((code, &forced["spec"]["maxReplicas"]), (200, &5.into()));
    let entries = forced["metadata"]["managedFields"].as_array().unwrap();
    let of = |manager: &str| entries.iter().find(|entry| entry["manager"] == manager).unwrap();
    assert!(of("one")["fieldsV1"]["f:spec"]["f:maxReplicas"].is_null());
    assert!(of("one")["fieldsV1"]["f:spec"]["f:targetCPUUtilizationPercentage"].is_object());
    assert!(of("two")["fieldsV1"]["f:spec"]["f:maxReplicas"].is_object());
    // A manager that applies in another version keeps a single entry.
    let (code, moved) = send(&server, "PATCH", &(at("v2", "one") + "&force=true"), APPLY, &v2).await;
    assert_eq!(code, 200);
    let entries = moved["metadata"]["managedFields"].as_array().unwrap();
    let own: Vec<&Value> = entries.iter().filter(|entry| entry["manager"] == "one").collect();
    assert_eq!((own.len(), &own[0]["apiVersion"]), (1, &"autoscaling/v2".into()));
    assert!(server.unsupported().is_empty());
}

/// The tables in the response to a GET: one, or one for each event of a watch.
async fn tables(server: &ApiServer, path: &str) -> Vec<Value> {
    let request = http::Request::builder().uri(format!("/apis/autoscaling/v1/{path}"));
    let request = request.header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let response =
        server.handle(request.body(http_body_util::Full::<bytes::Bytes>::default()).expect("a request")).await;
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    let documents = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
    let table = |value: Value| if value["type"].is_string() { value["object"].clone() } else { value };
    documents.map(|document| table(document.expect("JSON"))).collect()
}

#[tokio::test(start_paused = true)]
async fn table_of_v1_prints_the_object_as_it_is_stored() {
    let server = ApiServer::new();
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 50}}});
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "rate"},
        "target": {"type": "AverageValue", "averageValue": "5"}}});
    let mut v2 = v1_autoscaler();
    v2["apiVersion"] = "autoscaling/v2".into();
    v2["spec"] = json!({"maxReplicas": 3, "scaleTargetRef": v2["spec"]["scaleTargetRef"], "metrics": [cpu, pods]});
    assert_eq!(send(&server, "POST", &format!("v2/{ALL}"), "application/json", &v2).await.0, 201);

    // The conversion to v1 puts the CPU last, in the row's object too.
    let watch = "includeObject=Object&watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true\
                 &resourceVersionMatch=NotOlderThan";
    let paths =
        [format!("{ALL}/a?includeObject=Object"), format!("{ALL}?includeObject=Object"), format!("{ALL}?{watch}")];
    for path in &paths {
        let table = &tables(&server, path).await[0];
        let row = &table["rows"][0];
        assert_eq!(row["cells"][2], "cpu: <unknown>/50%, <unknown>/5", "{path}");
        let object = &row["object"];
        assert_eq!(object["apiVersion"], "autoscaling/v1", "{path}");
        assert_eq!(object["spec"]["targetCPUUtilizationPercentage"], 50, "{path}");
        assert!(object["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"].is_string(), "{path}");
        assert_eq!(object["metadata"]["managedFields"][0]["apiVersion"], "autoscaling/v2", "{path}");
    }
    // The object of a bookmark has no default metric.
    let bookmark = &tables(&server, &paths[2]).await[1]["rows"][0];
    assert_eq!(bookmark["cells"], json!(["", "/", "<none>", "<unset>", 0, 0, "<unknown>"]));
    assert_eq!(bookmark["object"]["spec"], json!({"maxReplicas": 0, "scaleTargetRef": {"kind": "", "name": ""}}));

    // Written through v1, the object is stored in the order of the conversion.
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    let content_type = "application/merge-patch+json";
    assert_eq!(send(&server, "PATCH", &format!("v1/{ALL}/a"), content_type, &patch).await.0, 200);
    let table = &tables(&server, &paths[0]).await[0];
    assert_eq!(table["rows"][0]["cells"][2], "<unknown>/5, cpu: <unknown>/50%");
    assert!(server.unsupported().is_empty());
}
