//! The memory of stored objects and definitions, counted in allocated bytes, beside their JSON.
//!
//! ```text
//! cargo test --package kube-apiserver-sim --test memory -- --nocapture
//! ```

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The objects that a server has before a measurement, and those that it measures.
const OBJECTS: usize = 1500;
/// The same for definitions.
const DEFINITIONS: usize = 40;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const PODS: &str = "/api/v1/namespaces/default/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CUSTOM: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server, and the runtime of its requests.
struct Fixture {
    server: ApiServer,
    runtime: Runtime,
}

/// Bytes of live allocations, and of JSON as a client reads the objects, with `managedFields`.
#[derive(Default)]
struct Footprint {
    allocated: i64,
    json: i64,
}

impl Fixture {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let fixture = Self { server: runtime.block_on(async { ApiServer::new() }), runtime };
        // Tables that are made once for the whole program.
        fixture.store(PODS, &[pod("first")]);
        fixture
    }

    fn store(&self, path: &str, objects: &[Value]) {
        for object in objects {
            self.runtime.block_on(send(&self.server, "POST", path, object));
        }
    }

    /// Stores objects, and measures what the server holds more.
    fn measure(&self, path: &str, objects: &[Value]) -> Footprint {
        let allocated = allocation_counter::measure(|| self.store(path, objects)).bytes_current;
        let mut json = 0;
        for object in objects {
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().expect("a name"));
            json += self.runtime.block_on(send(&self.server, "GET", &path, &Value::Null)).len();
        }
        assert_eq!(self.server.unsupported(), Vec::<String>::new());
        Footprint { allocated, json: i64::try_from(json).expect("some megabytes") }
    }
}

impl Footprint {
    /// The memory in percent of the JSON.
    fn percent(&self) -> i64 {
        self.allocated * 100 / self.json
    }

    fn print(&self, title: &str) {
        let (allocated, json) = (self.allocated / 1000, self.json / 1000);
        println!("{title}: {allocated} kB for {json} kB of JSON, {} % of it", self.percent());
    }
}

async fn send(server: &ApiServer, method: &str, path: &str, body: &Value) -> Bytes {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = server.handle(request.body(Full::<Bytes>::from(text)).expect("a request")).await;
    let status = response.status();
    let body = response.into_body().collect().await.expect("a body never fails").to_bytes();
    assert!(status.is_success(), "{method} {path}: {}", String::from_utf8_lossy(&body));
    body
}

fn pod_spec() -> Value {
    json!({"containers": [{"name": "app", "image": "registry.example/app:1.2.3",
        "env": [{"name": "COLOUR", "value": "red"}, {"name": "LEVEL", "value": "info"}],
        "ports": [{"containerPort": 8080, "name": "http"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
        "volumeMounts": [{"name": "settings", "mountPath": "/etc/app"}]}],
        "volumes": [{"name": "settings", "configMap": {"name": "settings"}}]})
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": "web", "tier": "front"}}, "spec": pod_spec()})
}

fn deployment(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": "web", "tier": "front"}}, "spec": {"replicas": 3,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec()}}})
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"colour": "red", "settings.yaml": "level: info\nports: [1, 2, 3]\n"}})
}

/// A definition with some hundred fields, as those of operators have.
fn definition(number: usize) -> Value {
    let field = |at: usize| match at % 4 {
        0 => {
            json!({"type": "string", "description": format!("Field {at} of the kind {number}, which an operator reads."),
            "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63})
        }
        1 => json!({"type": "integer", "minimum": 0, "format": "int32", "description": "A count."}),
        2 => json!({"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "description": "The name of the item."}, "value": {"type": "string"}}}}),
        _ => {
            json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "Labels of what is made."})
        }
    };
    let group = |from: usize| -> Value {
        let fields: serde_json::Map<String, Value> =
            (0..12).map(|at| (format!("field{}", from + at), field(at))).collect();
        json!({"type": "object", "description": "A part of the whole.", "properties": fields})
    };
    let spec: serde_json::Map<String, Value> = (0..8).map(|at| (format!("part{at}"), group(at * 12))).collect();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things{number}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": format!("things{number}"), "kind": format!("Thing{number}")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": spec},
                    "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}}]}})
}

/// This many objects from a number on.
fn objects(object: fn(&str) -> Value, from: usize, count: usize) -> Vec<Value> {
    (from..from + count).map(|number| object(&format!("object-{number}"))).collect()
}

#[rstest]
#[case::pods(PODS, pod)]
#[case::deployments(DEPLOYMENTS, deployment)]
#[case::config_maps(MAPS, config_map)]
fn further_object_takes_at_most_twice_its_json(#[case] path: &str, #[case] object: fn(&str) -> Value) {
    let fixture = Fixture::new();
    fixture.store(path, &objects(object, 0, OBJECTS));
    let footprint = fixture.measure(path, &objects(object, OBJECTS, OBJECTS));
    footprint.print(path);
    assert!(footprint.percent() <= 200, "{} %", footprint.percent());
}

/// The log has two versions of each before it is established, and its kind has its schema.
#[test]
fn further_definition_takes_at_most_six_times_its_json() {
    let definitions: Vec<Value> = (0..2 * DEFINITIONS).map(definition).collect();
    let (first, further) = definitions.split_at(DEFINITIONS);
    let fixture = Fixture::new();
    fixture.store(CUSTOM, first);
    let footprint = fixture.measure(CUSTOM, further);
    footprint.print(CUSTOM);
    assert!(footprint.percent() <= 600, "{} %", footprint.percent());
}

/// A log that keeps every version would grow by the JSON of each update.
#[test]
fn log_of_updates_has_a_bound() {
    const KILOBYTE: usize = 1 << 10;
    let fixture = Fixture::new();
    fixture.store(MAPS, &[config_map("large")]);
    let update = |number: usize| {
        let patch = json!({"data": {"settings.yaml": "x".repeat(512 * KILOBYTE), "number": number.to_string()}});
        fixture.runtime.block_on(send(&fixture.server, "PATCH", &format!("{MAPS}/large"), &patch));
    };
    let measured = allocation_counter::measure(|| (0..200).for_each(update));
    let mebibytes = measured.bytes_current >> 20;
    println!("200 updates of 0.5 MiB: {mebibytes} MiB");
    assert!(mebibytes < 70, "{mebibytes} MiB");
    let from = format!("{MAPS}?watch=true&resourceVersion=20&timeoutSeconds=1");
    let events = fixture.runtime.block_on(send(&fixture.server, "GET", &from, &Value::Null));
    let event: Value = serde_json::from_slice(&events).expect("one event");
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
}

/// Prints the memory of a large cluster.
#[test]
#[ignore = "it only measures"]
fn large_cluster() {
    let fixture = Fixture::new();
    let definitions: Vec<Value> = (1000..1510).map(definition).collect();
    let mut sum = Footprint::default();
    for (path, objects) in [
        (PODS, objects(pod, 0, 2000)),
        (DEPLOYMENTS, objects(deployment, 0, 2000)),
        (MAPS, objects(config_map, 0, 1500)),
        (CUSTOM, definitions),
    ] {
        let footprint = fixture.measure(path, &objects);
        footprint.print(path);
        sum.allocated += footprint.allocated;
        sum.json += footprint.json;
    }
    sum.print("5,500 objects and 510 definitions");
}
