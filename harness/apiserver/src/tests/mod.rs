//! Tests the server through requests and responses, at a time that the test sets.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use crate::http::request::{ApiRequest, ManagedFieldsPolicy};
use crate::http::response::ApiResponse;
use crate::registry::core::pod;
use crate::registry::state::Server;
use crate::storage::keys::StoreKey;
use crate::storage::store::LOGGED;
use crate::{ApiServer, ControllerMode};

mod deletion;
mod quantities;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

struct Fixture {
    server: Server,
    now: Timestamp,
}

fn fixture() -> Fixture {
    let now = Timestamp::from_second(1_767_571_200).unwrap();
    let mut server = Server::new(1, now, Vec::new());
    while server.step_controllers(now, true) {}
    Fixture { server, now }
}

impl Fixture {
    fn raw(&mut self, method: Method, path: &str, content_type: &str, body: &str) -> ApiResponse {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: BTreeMap<String, String> = query.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (path, content_type, body) = (path.to_owned(), content_type.to_owned(), body.as_bytes().to_vec().into());
        let request = ApiRequest {
            method,
            path,
            query,
            content_type,
            accept: String::new(),
            user_agent: "test/1".to_owned(),
            body,
            yaml_body: None,
            managed_fields: ManagedFieldsPolicy::Include,
        };
        self.server.respond(&request, self.now)
    }

    fn request(&mut self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let content_type =
            if method == Method::PATCH { "application/strategic-merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        match self.raw(method, path, content_type, &body) {
            ApiResponse::Complete { code, body, .. } => {
                (code.as_u16(), serde_json::from_slice(&body).unwrap_or_default())
            }
            ApiResponse::Watch(_) => panic!("a watch"),
        }
    }

    fn get(&mut self, path: &str) -> (u16, Value) {
        self.request(Method::GET, path, &Value::Null)
    }

    fn step_controllers(&mut self) {
        while self.server.step_controllers(self.now, true) {}
    }
}

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}}, "template": template(name)}})
}

fn template(app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}})
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": template("x")["spec"]})
}

#[test]
fn create_sets_defaults_of_a_deployment() {
    let mut fixture = fixture();
    let (code, created) = fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    assert_eq!(code, 201);
    assert_eq!(created["spec"]["replicas"], 1);
    assert_eq!(
        created["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(created["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 30);
    assert_eq!((&created["metadata"]["generation"], &created["status"]), (&json!(1), &json!({})));
    let (code, again) = fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    assert_eq!((code, &again["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(again["message"], "deployments.apps \"web\" already exists");
}

#[test]
fn generation_counts_spec_and_annotation_changes() {
    let mut fixture = fixture();
    fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    let path = format!("{DEPLOYMENTS}/web");
    let generation = |answer: (u16, Value)| answer.1["metadata"]["generation"].clone();
    assert_eq!(generation(fixture.request(Method::PATCH, &path, &json!({"spec": {"replicas": 3}}))), 2);
    assert_eq!(generation(fixture.request(Method::PATCH, &path, &json!({"metadata": {"labels": {"a": "1"}}}))), 2);
    assert_eq!(generation(fixture.request(Method::PATCH, &path, &json!({"metadata": {"annotations": {"a": "1"}}}))), 3);
    let (_, before) = fixture.get(&path);
    let (_, same) = fixture.request(Method::PATCH, &path, &json!({"spec": {"replicas": 3}}));
    assert_eq!(same["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"], "nothing changed");
}

#[test]
fn status_update_writes_annotations_but_not_labels_and_spec() {
    let mut fixture = fixture();
    let (_, mut web) = fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    web["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
    web["metadata"]["labels"] = json!({"a": "1"});
    web["spec"]["replicas"] = 9.into();
    web["status"] = json!({"replicas": 1, "observedGeneration": 1, "readyReplicas": 0});
    let (code, updated) = fixture.request(Method::PUT, &format!("{DEPLOYMENTS}/web/status"), &web);
    assert_eq!(code, 200);
    assert_eq!(updated["metadata"]["annotations"], json!({"deployment.kubernetes.io/revision": "1"}));
    assert_eq!((&updated["metadata"]["labels"], &updated["spec"]["replicas"]), (&Value::Null, &json!(1)));
    assert_eq!(updated["status"], json!({"replicas": 1, "observedGeneration": 1}));
    assert_eq!(updated["metadata"]["generation"], 1);
    let (code, stale) = fixture.request(Method::PUT, &format!("{DEPLOYMENTS}/web/status"), &web);
    assert_eq!((code, &stale["reason"]), (409, &json!("Conflict")));
}

#[rstest]
#[case(json!({"spec": {"replicas": -1}}), "spec.replicas", "spec.replicas: Invalid value: -1: must be greater than or equal to 0")]
#[case(json!({"spec": {"selector": {"matchLabels": {"b": "1"}}, "template": {"metadata": {"labels": {"b": "1"}}}}}), "spec.selector",
    "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"web\",\"b\":\"1\"}}: field is immutable")]
#[case(json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}}), "spec.strategy.rollingUpdate.maxUnavailable",
    "may not be 0 when `maxSurge` is 0")]
#[case(json!({"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": "110%"}}}}), "spec.strategy.rollingUpdate.maxUnavailable",
    "must not be greater than 100%")]
#[case(json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "some"}}}}), "spec.strategy.rollingUpdate.maxSurge", "a valid percent string")]
#[case(json!({"spec": {"minReadySeconds": 700}}), "spec.progressDeadlineSeconds", "must be greater than minReadySeconds")]
#[case(json!({"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}}), "spec.template.metadata.labels", "does not match template")]
#[case(json!({"spec": {"strategy": {"type": "Recreate"}}}), "spec.strategy.rollingUpdate", "Forbidden: may not be specified")]
#[case(json!({"spec": {"template": {"spec": {"containers": [{"name": "b"}]}}}}), "spec.template.spec.containers[0].image", "Required value")]
fn rejects_invalid_deployment_naming_the_field(#[case] patch: Value, #[case] field: &str, #[case] message: &str) {
    let mut fixture = fixture();
    fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    let (code, status) = fixture.request(Method::PATCH, &format!("{DEPLOYMENTS}/web"), &patch);
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{status}");
    assert_eq!(status["details"]["causes"][0]["field"], field, "{status}");
    assert!(status["message"].as_str().unwrap().contains(message), "{status}");
}

#[test]
fn unknown_fields_cause_a_warning_or_a_strict_error() {
    let mut fixture = fixture();
    let mut misspelled = deployment("web");
    misspelled["spec"]["replica"] = 2.into();
    let (code, status) = fixture.request(Method::POST, &format!("{DEPLOYMENTS}?fieldValidation=Strict"), &misspelled);
    assert_eq!(code, 400);
    assert_eq!(
        status["message"],
        "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"spec.replica\""
    );
    let ApiResponse::Complete { code, warnings, .. } =
        fixture.raw(Method::POST, DEPLOYMENTS, "application/json", &misspelled.to_string())
    else {
        panic!("no answer")
    };
    assert_eq!((code.as_u16(), warnings), (201, vec!["unknown field \"spec.replica\"".to_owned()]));
    assert_eq!(fixture.get(&format!("{DEPLOYMENTS}/web")).1["spec"]["replica"], Value::Null);
}

#[test]
fn patching_the_scale_changes_replicas() {
    let mut fixture = fixture();
    fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    let path = format!("{DEPLOYMENTS}/web/scale");
    let ApiResponse::Complete { body, .. } =
        fixture.raw(Method::PATCH, &path, "application/merge-patch+json", "{\"spec\":{\"replicas\":4}}")
    else {
        panic!("no answer")
    };
    let scale: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&scale["kind"], &scale["spec"], &scale["status"]["selector"]),
        (&json!("Scale"), &json!({"replicas": 4}), &json!("app=web"))
    );
    let (_, web) = fixture.get(&format!("{DEPLOYMENTS}/web"));
    assert_eq!((&web["spec"]["replicas"], &web["metadata"]["generation"]), (&json!(4), &json!(2)));
}

#[test]
fn paged_list_stays_at_one_version() {
    let mut fixture = fixture();
    for name in ["a", "b", "c"] {
        fixture.request(Method::POST, PODS, &pod(name));
    }
    let (_, first) = fixture.get(&format!("{PODS}?limit=2"));
    assert_eq!((first["items"].as_array().unwrap().len(), &first["metadata"]["remainingItemCount"]), (2, &json!(1)));
    fixture.request(Method::POST, PODS, &pod("d"));
    let next = first["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = fixture.get(&format!("{PODS}?limit=2&continue={next}"));
    let names: Vec<_> = rest["items"].as_array().unwrap().iter().map(|pod| &pod["metadata"]["name"]).collect();
    assert_eq!(names, ["c"]);
    assert_eq!(rest["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

#[test]
fn watch_resumes_at_its_version_and_applies_its_selector() {
    let mut fixture = fixture();
    fixture.request(Method::POST, PODS, &pod("a"));
    let (_, list) = fixture.get(PODS);
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let path = format!("{PODS}?watch=true&labelSelector=x=1&resourceVersion={version}");
    let ApiResponse::Watch(mut watch) = fixture.raw(Method::GET, &path, "", "") else { panic!("no watch") };
    for label in ["1", "2"] {
        fixture.request(Method::PATCH, &format!("{PODS}/a"), &json!({"metadata": {"labels": {"x": label}}}));
    }
    let pending = fixture.server.pending_events(&mut watch, u64::MAX);
    let lines = pending.into_iter().map(|event| watch.encode(event));
    let events: Vec<Value> = lines.map(|line| serde_json::from_slice(&line).unwrap()).collect();
    let types_and_values: Vec<_> =
        events.iter().map(|event| (&event["type"], &event["object"]["metadata"]["labels"]["x"])).collect();
    assert_eq!(types_and_values, [(&json!("ADDED"), &json!("1")), (&json!("DELETED"), &json!("1"))]);
    assert!(fixture.server.pending_events(&mut watch, u64::MAX).is_empty());
}

/// Events have no watch cache, and the error is that of etcd.
#[rstest]
#[case::pods(PODS, "too old resource version: 1 (LATEST)")]
#[case::events("/api/v1/namespaces/default/events", "The resourceVersion for the provided watch is too old.")]
fn watch_from_forgotten_version_gets_410(#[case] collection: &str, #[case] message: &str) {
    let mut fixture = fixture();
    fixture.request(Method::POST, PODS, &pod("a"));
    fixture.request(Method::POST, PODS, &pod("b"));
    let latest = fixture.server.store.version();
    fixture.server.store.forget(latest);
    let ApiResponse::Watch(mut watch) =
        fixture.raw(Method::GET, &format!("{collection}?watch=true&resourceVersion=1"), "", "")
    else {
        panic!("no watch")
    };
    let first = watch.initial_events.remove(0);
    let event: Value = serde_json::from_slice(&watch.encode(first)).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(event["object"]["message"], message.replace("LATEST", &latest.to_string()));
}

#[test]
fn watch_behind_the_log_ends_with_410() {
    let mut fixture = fixture();
    fixture.request(Method::POST, PODS, &pod("a"));
    let path = format!("{PODS}?watch=true&resourceVersion={}", fixture.server.store.version());
    let ApiResponse::Watch(mut watch) = fixture.raw(Method::GET, &path, "", "") else { panic!("no watch") };
    let path = format!("{MAPS}?watch=true&resourceVersion={}", fixture.server.store.version());
    let ApiResponse::Watch(mut idle) = fixture.raw(Method::GET, &path, "", "") else { panic!("no watch") };
    let (kind, mut body) = (&pod::KIND, pod("a"));
    for number in 0..2 * LOGGED {
        body["metadata"]["labels"] = json!({"number": number.to_string()});
        fixture.server.store.put(kind, StoreKey::new(kind, "default", "a"), body.clone(), None);
    }
    let pending = fixture.server.pending_events(&mut watch, u64::MAX);
    let lines = pending.into_iter().map(|event| watch.encode(event));
    let events: Vec<Value> = lines.map(|line| serde_json::from_slice(&line).unwrap()).collect();
    let types_and_values: Vec<_> = events.iter().map(|event| (&event["type"], &event["object"]["code"])).collect();
    assert_eq!((types_and_values, watch.is_finished), (vec![(&json!("ERROR"), &json!(410))], true));

    // A watch of a kind that did not change keeps its position and misses nothing.
    fixture.request(Method::POST, MAPS, &json!({"metadata": {"name": "a"}}));
    let pending = fixture.server.pending_events(&mut idle, u64::MAX);
    assert_eq!((pending.len(), idle.is_finished), (1, false));
}

#[test]
fn records_unsupported_request() {
    let mut fixture = fixture();
    let (code, status) = fixture.get("/api/v1/namespaces/default/endpoints");
    assert_eq!(code, 501, "{status}");
    assert_eq!(fixture.server.unsupported.len(), 1);
    assert_eq!(
        fixture.get("/apis/example.com/v1/namespaces/default/things").0,
        404,
        "the real server does not serve it either"
    );
    assert_eq!(fixture.server.unsupported.len(), 1);
}

#[test]
fn dry_run_responds_and_stores_nothing() {
    let mut fixture = fixture();
    let version = fixture.server.store.version();
    let (code, created) = fixture.request(Method::POST, &format!("{DEPLOYMENTS}?dryRun=All"), &deployment("web"));
    assert_eq!(
        (code, &created["spec"]["replicas"], &created["metadata"]["resourceVersion"]),
        (201, &json!(1), &Value::Null)
    );
    assert_eq!((fixture.get(&format!("{DEPLOYMENTS}/web")).0, fixture.server.store.version()), (404, version));
    let (_, created) = fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    let patch = json!({"spec": {"replicas": 7}});
    let (code, patched) = fixture.request(Method::PATCH, &format!("{DEPLOYMENTS}/web?dryRun=All"), &patch);
    assert_eq!((code, &patched["spec"]["replicas"], &patched["metadata"]["generation"]), (200, &json!(7), &json!(2)));
    assert_eq!(patched["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    let deleted = fixture.request(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"dryRun": ["All"]}));
    assert_eq!((deleted.0, &deleted.1["status"]), (200, &json!("Success")));
    assert_eq!(fixture.get(&format!("{DEPLOYMENTS}/web")).1, created);
    // The controllers that run after a dry run do write.
    fixture.request(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": "Foreground"}));
    fixture.request(Method::POST, &format!("{DEPLOYMENTS}?dryRun=All"), &deployment("other"));
    fixture.step_controllers();
    assert_eq!(fixture.get(&format!("{DEPLOYMENTS}/web")).0, 404);
    let (code, refused) = fixture.request(Method::POST, &format!("{DEPLOYMENTS}?dryRun=Some"), &deployment("x"));
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("dryRun")));
}

#[test]
fn accepts_yaml_body_and_rejects_cbor() {
    let mut fixture = fixture();
    let body = "metadata:\n  name: a\ndata:\n  x: \"1\"\n";
    let post = |fixture: &mut Fixture, content_type: &str, body: &str| match fixture.raw(
        Method::POST,
        "/api/v1/namespaces/default/configmaps",
        content_type,
        body,
    ) {
        ApiResponse::Complete { code, body, .. } => (code.as_u16(), serde_json::from_slice::<Value>(&body).unwrap()),
        ApiResponse::Watch(_) => panic!("a watch"),
    };
    let (code, created) = post(&mut fixture, "application/yaml", body);
    assert_eq!((code, &created["data"]), (201, &json!({"x": "1"})));
    let (code, status) = post(&mut fixture, "application/yaml", "hello");
    let message = status["message"].as_str().unwrap();
    assert!(code == 400 && message.ends_with("(68656c6c6f)"), "{message}");
    assert_eq!(post(&mut fixture, "application/cbor", "").0, 415);
    assert_eq!(fixture.server.unsupported.len(), 0, "the real server refuses these too");
    let version = fixture.server.store.version();
    assert_eq!(post(&mut fixture, "application/yaml", "metadata: {name: yes}").0, 501);
    assert_eq!((fixture.server.unsupported.len(), fixture.server.store.version()), (1, version), "it wrote nothing");
}

#[test]
fn not_before_sets_minimum_creation_time() {
    let mut fixture = fixture();
    let later = Timestamp::from_second(fixture.now.as_second() + 1).unwrap();
    fixture.server.not_before.insert("default".to_owned(), later);
    let created = |fixture: &mut Fixture| {
        let (_, created) =
            fixture.request(Method::POST, PODS, &json!({"metadata": {"generateName": "p-"}, "spec": pod("p")["spec"]}));
        created["metadata"]["creationTimestamp"].as_str().unwrap().parse::<Timestamp>().unwrap()
    };
    assert_eq!(created(&mut fixture), later);
    fixture.now = Timestamp::from_second(later.as_second() + 5).unwrap();
    assert_eq!(created(&mut fixture), fixture.now, "the server's own clock is ahead again");
}
