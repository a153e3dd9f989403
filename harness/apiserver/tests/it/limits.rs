//! Requests that the server rejects as too deep, too long or too expensive, with upstream's limits.

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TREES: &str = "/apis/example.com/v1/namespaces/default/trees";
const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const YAML: &str = "application/yaml";

async fn send(server: &ApiServer, method: Method, path: &str, content_type: &str, body: String) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body)).expect("a request")).await;
    let code = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    // This test must not depend on serde_json's own limit.
    (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into()))
}

/// Runs a test on a stack of the size of tokio's threads. An overflow aborts the process.
fn on_small_stack<F: Future>(test: impl FnOnce() -> F + Send + 'static) {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async { test().await });
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread").join().expect("the test passes");
}

fn definition(name: &str, kind: &str, schema: &Value) -> Value {
    let plural = name.trim_end_matches(".example.com");
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

/// A server with a ConfigMap, and a kind without a schema, with an object.
async fn server() -> ApiServer {
    let server = ApiServer::new();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = definition("trees.example.com", "Tree", &schema);
    let map = json!({"metadata": {"name": "a"}, "data": {"a": "1"}});
    for (path, body) in [(DEFINITIONS, &definition), (TREES, &tree("a", &json!({"leaf": 1}))), (MAPS, &map)] {
        let (code, response) = send(&server, Method::POST, path, JSON, body.to_string()).await;
        assert_eq!(code, StatusCode::CREATED, "{response}");
    }
    server
}

fn tree(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Tree", "metadata": {"name": name}, "spec": spec})
}

/// A value nested in this many lists.
fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn deep_tree(name: &str, depth: usize) -> String {
    tree(name, &json!("SPEC")).to_string().replace("\"SPEC\"", &nested(depth))
}

#[rstest]
#[case::create(Method::POST, MAPS, JSON)]
#[case::create_custom(Method::POST, TREES, JSON)]
#[case::replace(Method::PUT, "/a", JSON)]
#[case::strategic(Method::PATCH, "/a", STRATEGIC)]
#[case::merge(Method::PATCH, "/a", MERGE_PATCH)]
#[case::operations(Method::PATCH, "/a", JSON_PATCH)]
#[case::apply(Method::PATCH, "/a?fieldManager=a", APPLY)]
#[case::yaml(Method::POST, MAPS, YAML)]
#[case::delete(Method::DELETE, "/a", JSON)]
#[case::delete_all(Method::DELETE, MAPS, JSON)]
#[case::review(Method::POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON)]
fn rejects_deeply_nested_bodies(
    #[case] method: Method,
    #[case] path: &'static str,
    #[case] content_type: &'static str,
) {
    on_small_stack(move || async move {
        let server = server().await;
        let path = if path.starts_with("/a?") || path == "/a" { format!("{MAPS}{path}") } else { path.to_owned() };
        let members = "{\"a\":".repeat(9_000) + "1" + &"}".repeat(9_000);
        let block = "a:\n- ".to_owned() + &"- ".repeat(100_000);
        let flow = "{a: ".repeat(100_000);
        let bodies =
            ["[".repeat(100_000), nested(100_000), "{\"a\":".repeat(100_000), nested(9_000), members, block, flow];
        for body in bodies {
            let (code, response) = send(&server, method.clone(), &path, content_type, body).await;
            assert!(matches!(code.as_u16(), 400 | 501), "{code} {response}");
        }
    });
}

#[test]
fn reports_excessive_depth_with_the_message_of_go() {
    on_small_stack(|| async {
        let server = server().await;
        let (code, response) = send(&server, Method::POST, MAPS, JSON, "[".repeat(100_000)).await;
        assert_eq!(code, StatusCode::BAD_REQUEST);
        let message = response["message"].as_str().unwrap_or_default();
        assert!(message.contains("json parse error: invalid character '[' exceeded max depth"), "{message}");
        let (code, _) = send(&server, Method::POST, TREES, JSON, deep_tree("b", 1_000)).await;
        assert_eq!(code, StatusCode::NOT_IMPLEMENTED);
        let refused = format!("POST {TREES}: kube-apiserver-sim does not support values nested deeper than 100 levels");
        assert_eq!(server.unsupported(), [refused]);
    });
}

/// An object of the maximum depth can be written and read in every way, although its managers are
/// deeper.
#[test]
fn serves_objects_of_the_greatest_depth() {
    on_small_stack(|| async {
        let server = server().await;
        let members = "{\"a\":".repeat(98) + "{}" + &"}".repeat(98);
        let of_members = tree("c", &json!("SPEC")).to_string().replace("\"SPEC\"", &members);
        for (name, body) in [("b", deep_tree("b", 99)), ("c", of_members)] {
            let path = format!("{TREES}/{name}");
            let (code, created) = send(&server, Method::POST, TREES, JSON, body.clone()).await;
            assert_eq!(code, StatusCode::CREATED, "{created}");
            for content_type in [MERGE_PATCH, YAML, APPLY] {
                let method = if content_type == YAML { Method::PUT } else { Method::PATCH };
                let path = format!("{path}?fieldManager=x&force=true");
                let path = if content_type == APPLY { &path } else { path.trim_end_matches("&force=true") };
                let (code, response) = send(&server, method, path, content_type, body.clone()).await;
                assert!(
                    code.is_success() || content_type == YAML && code == StatusCode::UNPROCESSABLE_ENTITY,
                    "{content_type} {response}"
                );
            }
            let test = json!([{"op": "add", "path": "/metadata/labels", "value": {"a": "1"}}]).to_string();
            let (code, response) = send(&server, Method::PATCH, &path, JSON_PATCH, test).await;
            assert_eq!(code, StatusCode::OK, "{response}");
            for path in [path.as_str(), TREES] {
                let (code, response) = send(&server, Method::GET, path, "", String::new()).await;
                assert!(code == StatusCode::OK && response.is_object());
            }
            let (code, _) = send(&server, Method::DELETE, &path, "", String::new()).await;
            assert_eq!(code, StatusCode::OK);
        }
        assert_eq!(server.unsupported(), Vec::<String>::new());
    });
}

/// Each copy into itself doubles the depth.
#[test]
fn rejects_patches_that_build_depth() {
    on_small_stack(|| async {
        let server = server().await;
        let path = format!("{TREES}/a");
        let mut copies = vec![json!({"op": "add", "path": "/spec/x", "value": {}})];
        let mut place = "/spec/x".to_owned();
        for _ in 0..14 {
            copies.push(json!({"op": "copy", "from": "/spec/x", "path": format!("{place}/x")}));
            place = "/x".repeat(place.matches("/x").count() * 2);
            place.insert_str(0, "/spec");
        }
        let moves: Vec<Value> = (0..9_000)
            .flat_map(|_| {
                [
                    json!({"op": "add", "path": "/spec/y", "value": {}}),
                    json!({"op": "move", "from": "/spec/leaf", "path": "/spec/y/leaf"}),
                    json!({"op": "move", "from": "/spec/y", "path": "/spec/leaf"}),
                ]
            })
            .take(9_999)
            .collect();
        let place = "/0".repeat(200);
        let adds: Vec<Value> = (1..200)
            .map(|at| json!({"op": "add", "path": format!("/spec/leaf{}", &place[..2 * at]), "value": []}))
            .collect();
        let adds = [vec![json!({"op": "add", "path": "/spec/leaf", "value": []})], adds].concat();
        for operations in [copies, moves, adds] {
            let (code, response) = send(&server, Method::PATCH, &path, JSON_PATCH, json!(operations).to_string()).await;
            assert_eq!(code, StatusCode::NOT_IMPLEMENTED, "{response}");
        }
        let (_, tree) = send(&server, Method::GET, &path, "", String::new()).await;
        assert_eq!(tree["spec"], json!({"leaf": 1}));
    });
}

/// A schema with this many levels, each nested in the previous one through this member.
fn deep_schema(within: &str, depth: usize) -> Value {
    let mut schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    for _ in 0..depth {
        schema = match within {
            "items" => json!({"type": "array", "items": schema}),
            "properties" => json!({"type": "object", "properties": {"a": schema}}),
            "additionalProperties" => json!({"type": "object", "additionalProperties": schema}),
            "not" => json!({"not": schema}),
            list => json!({list: [schema]}),
        };
    }
    schema
}

#[rstest]
fn deep_definitions_are_accepted_or_rejected(
    #[values("items", "properties", "additionalProperties", "not", "allOf", "anyOf", "oneOf")] within: &'static str,
    #[values(20, 42, 90, 2_000)] depth: usize,
) {
    on_small_stack(move || async move {
        let server = ApiServer::new();
        // `Value` is dropped recursively, so the deepest values are written as text.
        let (levels, times) = if depth > 100 { (50, depth / 50) } else { (depth, 1) };
        let one = deep_schema(within, levels).to_string();
        let leaf = r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#;
        let mut schema = leaf.to_owned();
        for _ in 0..times {
            schema = one.replace(leaf, &schema);
        }
        if !schema.starts_with("{\"type\":\"object\"") {
            schema = format!(r#"{{"type":"object","properties":{{"spec":{schema}}}}}"#);
        }
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "trees.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "trees", "kind": "Tree"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": "SCHEMA"}}]}});
        let definition = definition.to_string().replace("\"SCHEMA\"", &schema);
        let (code, response) = send(&server, Method::POST, DEFINITIONS, JSON, definition).await;
        assert!(matches!(code.as_u16(), 201 | 422 | 501), "{code} {response}");
        let value = match within {
            "items" => nested(depth.min(90)),
            _ => "{\"a\":".repeat(depth.min(90)) + "{}" + &"}".repeat(depth.min(90)),
        };
        for value in [value.as_str(), "1", "{}"] {
            let object = tree("a", &json!("SPEC")).to_string().replace("\"SPEC\"", value);
            let (code, response) = send(&server, Method::POST, TREES, JSON, object).await;
            assert!(code.as_u16() < 500 || code == StatusCode::NOT_IMPLEMENTED, "{code} {response}");
        }
        for path in ["/openapi/v2", "/openapi/v3/apis/example.com/v1"] {
            let (code, _) = send(&server, Method::GET, path, "", String::new()).await;
            assert!(matches!(code.as_u16(), 200 | 404 | 501), "{code} {path}");
        }
    });
}

#[rstest]
#[case::create(Method::POST, MAPS, JSON)]
#[case::yaml(Method::POST, MAPS, YAML)]
#[case::replace(Method::PUT, "/api/v1/namespaces/default/configmaps/a", JSON)]
#[case::merge(Method::PATCH, "/api/v1/namespaces/default/configmaps/a", MERGE_PATCH)]
#[case::apply(Method::PATCH, "/api/v1/namespaces/default/configmaps/a?fieldManager=a", APPLY)]
#[case::delete(Method::DELETE, "/api/v1/namespaces/default/configmaps/a", JSON)]
#[case::delete_all(Method::DELETE, MAPS, JSON)]
#[case::evict(Method::POST, "/api/v1/namespaces/default/pods/a/eviction", JSON)]
#[case::review(Method::POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON)]
#[tokio::test(start_paused = true)]
async fn rejects_bodies_over_three_megabytes(#[case] method: Method, #[case] path: &str, #[case] content_type: &str) {
    let server = server().await;
    let (code, response) = send(&server, method, path, content_type, " ".repeat((3 << 20) + 1)).await;
    assert_eq!((code, &response["reason"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("RequestEntityTooLarge")));
    assert_eq!(response["message"], "Request entity too large: limit is 3145728");
    let (code, _) = send(&server, Method::GET, &format!("{MAPS}/a"), "", String::new()).await;
    assert_eq!(code, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn accepts_body_of_three_megabytes() {
    let server = server().await;
    let mut body = json!({"metadata": {"name": "b"}}).to_string();
    body += &" ".repeat((3 << 20) - body.len());
    let (code, response) = send(&server, Method::POST, MAPS, JSON, body).await;
    assert_eq!(code, StatusCode::CREATED, "{response}");
}

#[tokio::test(start_paused = true)]
async fn rejects_json_patches_with_too_many_operations_or_copies() {
    let server = server().await;
    let path = format!("{MAPS}/a");
    let tests = |count: usize| json!(vec![json!({"op": "test", "path": "/data/a", "value": "1"}); count]).to_string();
    let (code, _) = send(&server, Method::PATCH, &path, JSON_PATCH, tests(10_000)).await;
    assert_eq!(code, StatusCode::OK);
    let (code, response) = send(&server, Method::PATCH, &path, JSON_PATCH, tests(10_001)).await;
    let expected = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!((code, &response["message"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!(expected)));
    // Each operation copies everything that the previous ones copied.
    let mut copies = vec![json!({"op": "add", "path": "/spec/list", "value": ["x".repeat(1_000)]})];
    for _ in 0..20 {
        copies.push(json!({"op": "copy", "from": "/spec", "path": "/copy"}));
        copies.push(json!({"op": "move", "from": "/copy", "path": "/spec/list/0"}));
    }
    let (code, response) =
        send(&server, Method::PATCH, &format!("{TREES}/a"), JSON_PATCH, json!(copies).to_string()).await;
    assert_eq!((code, &response["reason"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("Invalid")), "{response}");
    let (_, tree) = send(&server, Method::GET, &format!("{TREES}/a"), "", String::new()).await;
    assert_eq!(tree["spec"], json!({"leaf": 1}));
}

/// Items must not be compared pairwise: that takes minutes, and the test times out first.
#[rstest]
#[case::merged_by_key(STRATEGIC, "n")]
#[case::appended_by_key(STRATEGIC, "m")]
#[case::applied(APPLY, "m")]
#[tokio::test(start_paused = true)]
async fn merges_long_lists(#[case] content_type: &str, #[case] prefix: &str) {
    const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
    let server = ApiServer::new();
    let deployment = |prefix: &str| {
        let env: Vec<Value> = (0..8_000).map(|at| json!({"name": format!("{prefix}{at}"), "value": "1"})).collect();
        let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "app", "image": "a", "env": env}]}});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}})
    };
    let (code, _) = send(&server, Method::POST, DEPLOYMENTS, JSON, deployment("n").to_string()).await;
    assert_eq!(code, StatusCode::CREATED);
    let path = format!("{DEPLOYMENTS}/a?fieldManager=x");
    let (code, response) = send(&server, Method::PATCH, &path, content_type, deployment(prefix).to_string()).await;
    assert_eq!(code, StatusCode::OK, "{}", response["message"]);
    let env = response["spec"]["template"]["spec"]["containers"][0]["env"].as_array().map(Vec::len);
    assert_eq!(env, Some(if prefix == "n" { 8_000 } else { 16_000 }));
}

#[tokio::test(start_paused = true)]
async fn validates_long_lists_of_custom_resources() {
    let server = ApiServer::new();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"parts": {"type": "array",
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": {"type": "object", "required": ["id"],
            "properties": {"id": {"type": "string"}, "size": {"type": "integer"}}}}}}}});
    let definition = definition("trees.example.com", "Tree", &schema);
    let (code, response) = send(&server, Method::POST, DEFINITIONS, JSON, definition.to_string()).await;
    assert_eq!(code, StatusCode::CREATED, "{response}");
    let parts = |size: Value| -> Value { (0..8_000).map(|at| json!({"id": format!("{at}"), "size": size})).collect() };
    let trees = |size: Value| tree("a", &json!({"parts": parts(size)})).to_string();
    let path = format!("{TREES}/a");
    for (method, path, content_type, size, expected) in [
        (Method::POST, TREES, JSON, json!(1), 201),
        (Method::PATCH, path.as_str(), MERGE_PATCH, json!(2), 200),
        (Method::PATCH, path.as_str(), MERGE_PATCH, json!("x"), 422),
    ] {
        let (code, response) = send(&server, method, path, content_type, trees(size)).await;
        assert_eq!(code.as_u16(), expected, "{}", response["message"]);
    }
}

#[tokio::test(start_paused = true)]
async fn rejects_definitions_with_too_many_patterns() {
    let server = ApiServer::new();
    let patterns = |count: usize| -> Value {
        let one = |at| (format!("p{at}"), json!({"type": "string", "pattern": format!("^a{{1,9}}{at}$")}));
        json!({"type": "object", "properties": Value::Object((0..count).map(one).collect())})
    };
    for (count, name, expected) in [(1_000, "A", 201), (1_001, "B", 501)] {
        let definition = definition(&format!("{}s.example.com", name.to_lowercase()), name, &patterns(count));
        let (code, response) = send(&server, Method::POST, DEFINITIONS, JSON, definition.to_string()).await;
        assert_eq!(code.as_u16(), expected, "{response}");
    }
}
