//! Custom resources from the view of a client: a definition adds a kind, objects follow its schema,
//! and are deleted with it.

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn send(server: &ApiServer, method: Method, path: &str, content_type: &str, body: &Value) -> (StatusCode, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body)).expect("a request")).await;
    let code = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn post(server: &ApiServer, path: &str, body: &Value) -> (StatusCode, Value) {
    send(server, Method::POST, path, "application/json", body).await
}

fn schema() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"],
            "properties": {
                "size": {"type": "integer"},
                "replicas": {"type": "integer", "default": 1, "minimum": 0},
                "colour": {"type": "string", "enum": ["red", "green"], "default": "red"},
                "port": {"x-kubernetes-int-or-string": true},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                    "items": {"type": "object", "required": ["id"], "properties": {
                        "id": {"type": "string"}, "count": {"type": "integer", "default": 1}}}}}},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}}})
}

fn definition(conversion: &Value) -> Value {
    let version = |name: &str, stored: bool| {
        json!({"name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": schema()},
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}})
    };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "conversion": conversion, "versions": [version("v1", true), version("v1beta1", false)]}})
}

fn widget(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

async fn server_with_definition() -> ApiServer {
    let server = ApiServer::new();
    let (code, _) = post(&server, DEFINITIONS, &definition(&json!({"strategy": "None"}))).await;
    assert_eq!(code, StatusCode::CREATED);
    server
}

#[tokio::test(start_paused = true)]
async fn definition_is_established_and_serves_its_kind() {
    let server = ApiServer::new();
    let (code, _) = send(&server, Method::GET, WIDGETS, "", &Value::Null).await;
    assert_eq!(code, StatusCode::NOT_FOUND);
    let server = server_with_definition().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let (_, stored) = send(&server, Method::GET, &path, "", &Value::Null).await;
    let conditions: Vec<_> =
        stored["status"]["conditions"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(conditions, ["True", "True"]);
    assert_eq!(stored["status"]["acceptedNames"]["listKind"], "WidgetList");
    let (_, group) = send(&server, Method::GET, "/apis/example.com/v1", "", &Value::Null).await;
    let names: Vec<_> = group["resources"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    let (_, list) = send(&server, Method::GET, WIDGETS, "", &Value::Null).await;
    assert_eq!(list["kind"], "WidgetList");
    assert!(server.unsupported().is_empty());
}

#[tokio::test(start_paused = true)]
async fn custom_resource_is_pruned_and_defaulted() {
    let server = server_with_definition().await;
    let given = json!({"size": 5, "other": 1, "port": "http", "free": {"x": {"y": 1}}, "parts": [{"id": "p"}]});
    let (code, created) = post(&server, WIDGETS, &widget(&given)).await;
    assert_eq!(code, StatusCode::CREATED);
    let kept = json!({"size": 5, "replicas": 1, "colour": "red", "port": "http", "free": {"x": {"y": 1}},
        "parts": [{"id": "p", "count": 1}]});
    assert_eq!(created["spec"], kept);
    assert_eq!(created["metadata"]["generation"], 1);
}

#[rstest]
#[case::of_type(&json!({"size": "x"}), "spec.size", "Invalid value: \"string\": spec.size in body must be of type integer: \"string\"")]
#[case::absent(&json!({}), "spec.size", "Required value")]
#[case::choice(&json!({"size": 1, "colour": "blue"}), "spec.colour", "Unsupported value: \"blue\": supported values: \"red\", \"green\"")]
#[case::minimum(&json!({"size": -100, "replicas": -1}), "spec.replicas", "Invalid value: -1: spec.replicas in body should be greater than or equal to 0")]
#[case::twice(&json!({"size": 1, "parts": [{"id": "a"}, {"id": "a"}]}), "spec.parts[1]", "Duplicate value: {\"id\":\"a\"}")]
#[tokio::test(start_paused = true)]
async fn rejects_object_that_violates_the_schema(#[case] spec: &Value, #[case] field: &str, #[case] message: &str) {
    let server = server_with_definition().await;
    let (code, status) = post(&server, WIDGETS, &widget(spec)).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    let cause = &status["details"]["causes"][0];
    assert_eq!((cause["field"].as_str(), cause["message"].as_str()), (Some(field), Some(message)));
}

#[tokio::test(start_paused = true)]
async fn status_and_scale_are_subresources() {
    let server = server_with_definition().await;
    post(&server, WIDGETS, &widget(&json!({"size": 5}))).await;
    let path = format!("{WIDGETS}/a/status");
    let change = json!({"spec": {"size": 9}, "status": {"replicas": 2, "selector": "a=b"}});
    let (_, changed) = send(&server, Method::PATCH, &path, "application/merge-patch+json", &change).await;
    assert_eq!((&changed["spec"]["size"], &changed["status"]["replicas"]), (&json!(5), &json!(2)));
    let path = format!("{WIDGETS}/a/scale");
    let scale = json!({"metadata": {"name": "a"}, "spec": {"replicas": 3}});
    let (_, scaled) = send(&server, Method::PUT, &path, "application/json", &scale).await;
    assert_eq!(scaled["status"], json!({"replicas": 2, "selector": "a=b"}));
    let (_, object) = send(&server, Method::GET, &format!("{WIDGETS}/a"), "", &Value::Null).await;
    assert_eq!((&object["spec"]["replicas"], &object["metadata"]["generation"]), (&json!(3), &json!(2)));
}

#[tokio::test(start_paused = true)]
async fn every_version_serves_the_same_objects() {
    let server = server_with_definition().await;
    post(&server, WIDGETS, &widget(&json!({"size": 5}))).await;
    let (_, other) =
        send(&server, Method::GET, &format!("{}/a", WIDGETS.replace("/v1/", "/v1beta1/")), "", &Value::Null).await;
    assert_eq!((&other["apiVersion"], &other["spec"]["size"]), (&json!("example.com/v1beta1"), &json!(5)));
}

#[tokio::test(start_paused = true)]
async fn server_side_apply_merges_by_the_schema() {
    let server = server_with_definition().await;
    let apply = |manager: &'static str, part: &'static str| {
        let server = server.clone();
        async move {
            let body = widget(&json!({"size": 5, "parts": [{"id": part}]}));
            let path = format!("{WIDGETS}/a?fieldManager={manager}");
            send(&server, Method::PATCH, &path, "application/apply-patch+yaml", &body).await
        }
    };
    apply("one", "p").await;
    let (code, merged) = apply("two", "q").await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(merged["spec"]["parts"].as_array().unwrap().len(), 2);
    let patch = "application/strategic-merge-patch+json";
    let (code, _) = send(&server, Method::PATCH, &format!("{WIDGETS}/a"), patch, &json!({})).await;
    assert_eq!(code, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

/// Recorded from kube-apiserver v1.36.3, which cannot compare such objects.
#[tokio::test(start_paused = true)]
async fn ignored_status_of_the_wrong_type_drops_the_managers() {
    let server = server_with_definition().await;
    let (_, created) = post(&server, WIDGETS, &widget(&json!({"size": 5}))).await;
    assert!(created["metadata"]["managedFields"].is_array());
    let patch = json!({"status": {"replicas": "x"}});
    let path = format!("{WIDGETS}/a");
    let (code, patched) = send(&server, Method::PATCH, &path, "application/merge-patch+json", &patch).await;
    assert_eq!((code, &patched["metadata"]["managedFields"]), (StatusCode::OK, &Value::Null));
}

/// A change of the names, the columns or another version counts too; one of the metadata does not.
#[tokio::test(start_paused = true)]
async fn watches_end_when_the_definition_changes() {
    let server = server_with_definition().await;
    let watch = Request::builder().uri(format!("{WIDGETS}?watch=true")).body(Full::<bytes::Bytes>::default());
    let mut events = server.handle(watch.unwrap()).await.into_body();
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let merge = "application/merge-patch+json";
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(send(&server, Method::PATCH, &path, merge, &label).await.0, StatusCode::OK);
    let (code, _) = post(&server, WIDGETS, &widget(&json!({"size": 1}))).await;
    assert_eq!(code, StatusCode::CREATED);
    let event = events.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(event.starts_with(b"{\"type\":\"ADDED\""), "{event:?}");
    let names = json!({"spec": {"names": {"shortNames": ["wi"]}}});
    assert_eq!(send(&server, Method::PATCH, &path, merge, &names).await.0, StatusCode::OK);
    assert!(events.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn deleting_a_definition_deletes_its_objects() {
    let server = server_with_definition().await;
    let mut protected = widget(&json!({"size": 5}));
    protected["metadata"]["finalizers"] = json!(["example.com/hold"]);
    post(&server, WIDGETS, &protected).await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    send(&server, Method::DELETE, &path, "", &Value::Null).await;
    let (code, waiting) = send(&server, Method::GET, &path, "", &Value::Null).await;
    assert_eq!(
        (code, &waiting["status"]["conditions"][2]["reason"]),
        (StatusCode::OK, &json!("InstanceDeletionInProgress"))
    );
    let patch = json!({"metadata": {"finalizers": null}});
    send(&server, Method::PATCH, &format!("{WIDGETS}/a"), "application/merge-patch+json", &patch).await;
    let (code, _) = send(&server, Method::GET, &path, "", &Value::Null).await;
    assert_eq!(code, StatusCode::NOT_FOUND);
    let (code, _) = send(&server, Method::GET, WIDGETS, "", &Value::Null).await;
    assert_eq!(code, StatusCode::NOT_FOUND);
}

#[rstest]
#[case::webhook(
    definition(&json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://example.com/convert"}}})),
    "conversion of custom resources by a webhook"
)]
#[case::pattern(with_pattern(r"^a\Bb$"), r"a schema with the pattern ^a\Bb$")]
#[tokio::test(start_paused = true)]
async fn rejects_unsupported_definition(#[case] definition: Value, #[case] message: &str) {
    let server = ApiServer::new();
    let (code, _) = post(&server, DEFINITIONS, &definition).await;
    assert_eq!(code, StatusCode::NOT_IMPLEMENTED);
    assert!(server.unsupported()[0].contains(message), "{:?}", server.unsupported());
}

fn with_pattern(pattern: &str) -> Value {
    let mut definition = definition(&json!({"strategy": "None"}));
    for version in definition["spec"]["versions"].as_array_mut().expect("versions") {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["name"] =
            json!({"type": "string", "pattern": pattern});
    }
    definition
}

/// The warnings of a write.
async fn warnings_of(server: &ApiServer, method: Method, path: &str, body: &Value) -> Vec<String> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body.to_string())).expect("a request")).await;
    assert!(response.status().is_success(), "{:?}", response.into_body().collect().await.unwrap().to_bytes());
    let all = response.headers().get_all("warning").iter();
    all.map(|warning| warning.to_str().expect("a warning is a text").to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn warns_about_cel_rules_and_does_not_evaluate_them() {
    const WARNING: &str = "299 - \"this server does not evaluate the rules of x-kubernetes-validations: it accepts \
                           objects that break them\"";
    let server = ApiServer::new();
    let definition = with_rule("self.size > 100 && isIP(self.nonsense)");
    assert_eq!(warnings_of(&server, Method::POST, DEFINITIONS, &definition).await, [WARNING]);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let (_, mut stored) = send(&server, Method::GET, &path, "", &Value::Null).await;
    stored["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(warnings_of(&server, Method::PUT, &path, &stored).await, [WARNING]);
    let (code, _) = post(&server, WIDGETS, &widget(&json!({"size": 5}))).await;
    assert_eq!(code, StatusCode::CREATED);
    assert!(server.unsupported().is_empty());
}

#[tokio::test(start_paused = true)]
async fn warns_once_about_unrecognized_format() {
    let server = ApiServer::new();
    let mut definition = with_pattern("^a");
    for version in definition["spec"]["versions"].as_array_mut().expect("versions") {
        let properties = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        properties["name"] = json!({"type": "string", "format": "my-format"});
    }
    let warnings = warnings_of(&server, Method::POST, DEFINITIONS, &definition).await;
    assert_eq!(warnings, ["299 - \"unrecognized format \\\"my-format\\\"\""]);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let (_, stored) = send(&server, Method::GET, &path, "", &Value::Null).await;
    assert_eq!(warnings_of(&server, Method::PUT, &path, &stored).await, Vec::<String>::new());
    let (code, _) = post(&server, WIDGETS, &widget(&json!({"size": 5, "name": "x"}))).await;
    assert_eq!(code, StatusCode::CREATED);
}

#[rstest]
#[case::dropped(
    "v2",
    "status.storedVersions[0]",
    "Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"
)]
#[case::scope("Cluster", "spec.scope", "Invalid value: \"Cluster\": field is immutable")]
#[case::kind("Gadget", "spec.names.kind", "Invalid value: \"Gadget\": field is immutable")]
#[tokio::test(start_paused = true)]
async fn rejects_definition_change_that_stored_objects_forbid(
    #[case] change: &str,
    #[case] field: &str,
    #[case] message: &str,
) {
    let server = server_with_definition().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let (_, mut stored) = send(&server, Method::GET, &path, "", &Value::Null).await;
    match change {
        "v2" => stored["spec"]["versions"][0]["name"] = change.into(),
        "Cluster" => stored["spec"]["scope"] = change.into(),
        _ => stored["spec"]["names"]["kind"] = change.into(),
    }
    let (code, status) = send(&server, Method::PUT, &path, "application/json", &stored).await;
    let cause = &status["details"]["causes"][0];
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY, "{status}");
    assert_eq!((cause["field"].as_str(), cause["message"].as_str()), (Some(field), Some(message)));
}

#[tokio::test(start_paused = true)]
async fn invented_stored_versions_block_definition_changes() {
    let server = server_with_definition().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let set = |versions: Value| {
        let (server, path) = (server.clone(), format!("{path}/status"));
        async move {
            let patch = json!({"status": {"storedVersions": versions}});
            send(&server, Method::PATCH, &path, "application/merge-patch+json", &patch).await
        }
    };
    let (_, emptied) = set(json!([])).await;
    assert_eq!(emptied["status"]["storedVersions"], json!(["v1"]));
    let (code, _) = set(json!(["v9"])).await;
    assert_eq!(code, StatusCode::OK);
    let patch = json!({"spec": {"names": {"shortNames": ["w"]}}});
    let (code, status) = send(&server, Method::PATCH, &path, "application/merge-patch+json", &patch).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(status["details"]["causes"][0]["field"], "status.storedVersions[0]");
}

fn with_rule(rule: &str) -> Value {
    let mut definition = definition(&json!({"strategy": "None"}));
    for version in definition["spec"]["versions"].as_array_mut().expect("versions") {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
            json!([{"rule": rule}]);
    }
    definition
}

#[tokio::test(start_paused = true)]
async fn starts_with_definitions_and_their_objects() {
    let mut object = widget(&json!({"size": 5}));
    object["metadata"]["namespace"] = "default".into();
    let builder = ApiServer::builder().objects([definition(&json!({"strategy": "None"})), object]).unwrap();
    let server = builder.build();
    assert_eq!(server.storage("widgets").unwrap().list("default").len(), 1);
    let (code, _) = send(&server, Method::GET, &format!("{WIDGETS}/a"), "", &Value::Null).await;
    assert_eq!(code, StatusCode::OK);
}

/// kube-apiserver v1.36.3 quotes the text as sent, unless field validation is off.
#[rstest]
#[case::yaml(
    "",
    "application/yaml",
    "{}\n",
    "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{}\n' ({}\n)"
)]
#[case::json(
    "",
    "application/json",
    "{ }\n",
    "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{ }\n' ({ }\n)"
)]
#[case::not_validated(
    "?fieldValidation=Ignore",
    "application/json",
    " { }\n",
    "Widget in version \"v1\" cannot be handled as a Widget: Object 'Kind' is missing in '{ }'"
)]
#[tokio::test(start_paused = true)]
async fn error_quotes_body_without_a_kind(
    #[case] query: &str,
    #[case] content_type: &str,
    #[case] body: &'static str,
    #[case] message: &str,
) {
    let server = server_with_definition().await;
    let request = Request::post(format!("{WIDGETS}{query}")).header("content-type", content_type);
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body)).expect("a request")).await;
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(status["message"], message);
}

#[tokio::test(start_paused = true)]
async fn custom_scale_cannot_be_requested_as_list_metadata() {
    let server = server_with_definition().await;
    post(&server, WIDGETS, &widget(&json!({"size": 1}))).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let request = Request::get(format!("{WIDGETS}/a/scale")).header("accept", accept);
    let response = server.handle(request.body(Full::<bytes::Bytes>::default()).expect("a request")).await;
    assert_eq!(response.status(), StatusCode::NOT_ACCEPTABLE);
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&bytes).unwrap();
    let message = "you requested PartialObjectMetadataList, but the requested object is not a list (*v1.Scale)";
    assert_eq!(status["message"], message);
}

#[tokio::test(start_paused = true)]
async fn missing_name_is_reported_before_unacceptable_media_type() {
    let server = server_with_definition().await;
    let body = widget(&json!({"size": 1})).to_string();
    let request = Request::put(WIDGETS).header("content-type", "application/json").header("accept", "text/html");
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body)).expect("a request")).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}
