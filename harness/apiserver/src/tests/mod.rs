//! The server as its clients see it: requests in, answers out, at the time that a test sets.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

mod deletion;

use super::call::Call;
use super::kinds::KINDS;
use super::object::ManagedFields;
use super::server::{Answer, Server};
use super::store::{Key, LOGGED};
use super::{ApiServer, Controllers};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

struct World {
    server: Server,
    now: Timestamp,
}

fn world() -> World {
    let now = Timestamp::from_second(1_767_571_200).unwrap();
    let mut server = Server::new(1, now, Vec::new());
    while server.step_controllers(now, true) {}
    World { server, now }
}

impl World {
    fn raw(&mut self, method: Method, path: &str, form: &str, body: &str) -> Answer {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: BTreeMap<String, String> = query.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (path, content_type, body) = (path.to_owned(), form.to_owned(), body.as_bytes().to_vec().into());
        let call = Call {
            method,
            path,
            query,
            content_type,
            accept: String::new(),
            user_agent: "test/1".to_owned(),
            body,
            written: None,
            managed: ManagedFields::Shown,
        };
        self.server.answer(&call, self.now)
    }

    fn ask(&mut self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let form = if method == Method::PATCH { "application/strategic-merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        match self.raw(method, path, form, &body) {
            Answer::Whole { code, body, .. } => (code.as_u16(), serde_json::from_slice(&body).unwrap_or_default()),
            Answer::Watch(_) => panic!("a watch"),
        }
    }

    fn get(&mut self, path: &str) -> (u16, Value) {
        self.ask(Method::GET, path, &Value::Null)
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
fn a_new_deployment_gets_its_defaults() {
    let mut world = world();
    let (code, made) = world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    assert_eq!(code, 201);
    assert_eq!(made["spec"]["replicas"], 1);
    assert_eq!(
        made["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 30);
    assert_eq!((&made["metadata"]["generation"], &made["status"]), (&json!(1), &json!({})));
    let (code, again) = world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    assert_eq!((code, &again["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(again["message"], "deployments.apps \"web\" already exists");
}

#[test]
fn generations_count_specs_and_a_deployments_annotations() {
    let mut world = world();
    world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    let path = format!("{DEPLOYMENTS}/web");
    let generation = |answer: (u16, Value)| answer.1["metadata"]["generation"].clone();
    assert_eq!(generation(world.ask(Method::PATCH, &path, &json!({"spec": {"replicas": 3}}))), 2);
    assert_eq!(generation(world.ask(Method::PATCH, &path, &json!({"metadata": {"labels": {"a": "1"}}}))), 2);
    assert_eq!(generation(world.ask(Method::PATCH, &path, &json!({"metadata": {"annotations": {"a": "1"}}}))), 3);
    let (_, before) = world.get(&path);
    let (_, same) = world.ask(Method::PATCH, &path, &json!({"spec": {"replicas": 3}}));
    assert_eq!(same["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"], "nothing changed");
}

#[test]
fn a_status_takes_annotations_along_and_leaves_labels_and_spec() {
    let mut world = world();
    let (_, mut web) = world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    web["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
    web["metadata"]["labels"] = json!({"a": "1"});
    web["spec"]["replicas"] = 9.into();
    web["status"] = json!({"replicas": 1, "observedGeneration": 1, "readyReplicas": 0});
    let (code, written) = world.ask(Method::PUT, &format!("{DEPLOYMENTS}/web/status"), &web);
    assert_eq!(code, 200);
    assert_eq!(written["metadata"]["annotations"], json!({"deployment.kubernetes.io/revision": "1"}));
    assert_eq!((&written["metadata"]["labels"], &written["spec"]["replicas"]), (&Value::Null, &json!(1)));
    assert_eq!(written["status"], json!({"replicas": 1, "observedGeneration": 1}));
    assert_eq!(written["metadata"]["generation"], 1);
    let (code, stale) = world.ask(Method::PUT, &format!("{DEPLOYMENTS}/web/status"), &web);
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
fn what_breaks_a_rule_is_refused_by_field(#[case] patch: Value, #[case] field: &str, #[case] says: &str) {
    let mut world = world();
    world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    let (code, status) = world.ask(Method::PATCH, &format!("{DEPLOYMENTS}/web"), &patch);
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{status}");
    assert_eq!(status["details"]["causes"][0]["field"], field, "{status}");
    assert!(status["message"].as_str().unwrap().contains(says), "{status}");
}

#[test]
fn unknown_fields_go_with_a_warning_or_are_refused() {
    let mut world = world();
    let mut odd = deployment("web");
    odd["spec"]["replica"] = 2.into();
    let (code, status) = world.ask(Method::POST, &format!("{DEPLOYMENTS}?fieldValidation=Strict"), &odd);
    assert_eq!(code, 400);
    assert_eq!(
        status["message"],
        "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"spec.replica\""
    );
    let Answer::Whole { code, warnings, .. } =
        world.raw(Method::POST, DEPLOYMENTS, "application/json", &odd.to_string())
    else {
        panic!("no answer")
    };
    assert_eq!((code.as_u16(), warnings), (201, vec!["unknown field \"spec.replica\"".to_owned()]));
    assert_eq!(world.get(&format!("{DEPLOYMENTS}/web")).1["spec"]["replica"], Value::Null);
}

#[test]
fn a_scale_is_a_part_of_its_object() {
    let mut world = world();
    world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    let path = format!("{DEPLOYMENTS}/web/scale");
    let Answer::Whole { body, .. } =
        world.raw(Method::PATCH, &path, "application/merge-patch+json", "{\"spec\":{\"replicas\":4}}")
    else {
        panic!("no answer")
    };
    let scale: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&scale["kind"], &scale["spec"], &scale["status"]["selector"]),
        (&json!("Scale"), &json!({"replicas": 4}), &json!("app=web"))
    );
    let (_, web) = world.get(&format!("{DEPLOYMENTS}/web"));
    assert_eq!((&web["spec"]["replicas"], &web["metadata"]["generation"]), (&json!(4), &json!(2)));
}

#[test]
fn long_lists_come_in_parts_of_one_version() {
    let mut world = world();
    for name in ["a", "b", "c"] {
        world.ask(Method::POST, PODS, &pod(name));
    }
    let (_, first) = world.get(&format!("{PODS}?limit=2"));
    assert_eq!((first["items"].as_array().unwrap().len(), &first["metadata"]["remainingItemCount"]), (2, &json!(1)));
    world.ask(Method::POST, PODS, &pod("d"));
    let next = first["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = world.get(&format!("{PODS}?limit=2&continue={next}"));
    let names: Vec<_> = rest["items"].as_array().unwrap().iter().map(|pod| &pod["metadata"]["name"]).collect();
    assert_eq!(names, ["c"]);
    assert_eq!(rest["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

#[test]
fn a_watch_goes_on_where_it_was_and_shows_what_it_selects() {
    let mut world = world();
    world.ask(Method::POST, PODS, &pod("a"));
    let (_, list) = world.get(PODS);
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let path = format!("{PODS}?watch=true&labelSelector=x=1&resourceVersion={version}");
    let Answer::Watch(mut watch) = world.raw(Method::GET, &path, "", "") else { panic!("no watch") };
    for label in ["1", "2"] {
        world.ask(Method::PATCH, &format!("{PODS}/a"), &json!({"metadata": {"labels": {"x": label}}}));
    }
    let unseen = world.server.unseen(&mut watch, u64::MAX);
    let lines = unseen.into_iter().map(|event| watch.line(event));
    let seen: Vec<Value> = lines.map(|line| serde_json::from_slice(&line).unwrap()).collect();
    let shown: Vec<_> =
        seen.iter().map(|event| (&event["type"], &event["object"]["metadata"]["labels"]["x"])).collect();
    assert_eq!(shown, [(&json!("ADDED"), &json!("1")), (&json!("DELETED"), &json!("1"))]);
    assert!(world.server.unseen(&mut watch, u64::MAX).is_empty());
}

#[test]
fn a_forgotten_past_is_gone() {
    let mut world = world();
    world.ask(Method::POST, PODS, &pod("a"));
    world.ask(Method::POST, PODS, &pod("b"));
    let latest = world.server.store.version();
    world.server.store.forget(latest);
    let Answer::Watch(mut watch) = world.raw(Method::GET, &format!("{PODS}?watch=true&resourceVersion=1"), "", "")
    else {
        panic!("no watch")
    };
    let first = watch.first.remove(0);
    let event: Value = serde_json::from_slice(&watch.line(first)).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
}

#[test]
fn a_watch_that_falls_behind_the_log_ends_with_an_error() {
    let mut world = world();
    world.ask(Method::POST, PODS, &pod("a"));
    let path = format!("{PODS}?watch=true&resourceVersion={}", world.server.store.version());
    let Answer::Watch(mut watch) = world.raw(Method::GET, &path, "", "") else { panic!("no watch") };
    let path = format!("{MAPS}?watch=true&resourceVersion={}", world.server.store.version());
    let Answer::Watch(mut idle) = world.raw(Method::GET, &path, "", "") else { panic!("no watch") };
    let (kind, mut body) = (&KINDS[2], pod("a"));
    for number in 0..2 * LOGGED {
        body["metadata"]["labels"] = json!({"number": number.to_string()});
        world.server.store.put(kind, Key::new(kind, "default", "a"), body.clone(), None);
    }
    let unseen = world.server.unseen(&mut watch, u64::MAX);
    let lines = unseen.into_iter().map(|event| watch.line(event));
    let seen: Vec<Value> = lines.map(|line| serde_json::from_slice(&line).unwrap()).collect();
    let shown: Vec<_> = seen.iter().map(|event| (&event["type"], &event["object"]["code"])).collect();
    assert_eq!((shown, watch.gone), (vec![(&json!("ERROR"), &json!(410))], true));

    // One of a kind that did not change stands where it began, and misses nothing.
    world.ask(Method::POST, MAPS, &json!({"metadata": {"name": "a"}}));
    let unseen = world.server.unseen(&mut idle, u64::MAX);
    assert_eq!((unseen.len(), idle.gone), (1, false));
}

#[test]
fn an_unsupported_request_is_refused_and_recorded() {
    let mut world = world();
    let (code, status) = world.get("/api/v1/namespaces/default/endpoints");
    assert_eq!(code, 501, "{status}");
    assert_eq!(world.server.unsupported.len(), 1);
    assert_eq!(
        world.get("/apis/example.com/v1/namespaces/default/things").0,
        404,
        "the real server does not serve it either"
    );
    assert_eq!(world.server.unsupported.len(), 1);
}

#[test]
fn a_dry_run_is_answered_and_leaves_nothing() {
    let mut world = world();
    let version = world.server.store.version();
    let (code, made) = world.ask(Method::POST, &format!("{DEPLOYMENTS}?dryRun=All"), &deployment("web"));
    assert_eq!((code, &made["spec"]["replicas"], &made["metadata"]["resourceVersion"]), (201, &json!(1), &Value::Null));
    assert_eq!((world.get(&format!("{DEPLOYMENTS}/web")).0, world.server.store.version()), (404, version));
    let (_, made) = world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    let patch = json!({"spec": {"replicas": 7}});
    let (code, patched) = world.ask(Method::PATCH, &format!("{DEPLOYMENTS}/web?dryRun=All"), &patch);
    assert_eq!((code, &patched["spec"]["replicas"], &patched["metadata"]["generation"]), (200, &json!(7), &json!(2)));
    assert_eq!(patched["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let deleted = world.ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"dryRun": ["All"]}));
    assert_eq!((deleted.0, &deleted.1["status"]), (200, &json!("Success")));
    assert_eq!(world.get(&format!("{DEPLOYMENTS}/web")).1, made);
    // What the cluster's own controllers do afterwards is meant.
    world.ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": "Foreground"}));
    world.ask(Method::POST, &format!("{DEPLOYMENTS}?dryRun=All"), &deployment("other"));
    world.step_controllers();
    assert_eq!(world.get(&format!("{DEPLOYMENTS}/web")).0, 404);
    let (code, refused) = world.ask(Method::POST, &format!("{DEPLOYMENTS}?dryRun=Some"), &deployment("x"));
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("dryRun")));
}

#[test]
fn a_body_in_yaml_is_read_and_one_in_cbor_refused() {
    let mut world = world();
    let body = "metadata:\n  name: a\ndata:\n  x: \"1\"\n";
    let post = |world: &mut World, form: &str, body: &str| match world.raw(
        Method::POST,
        "/api/v1/namespaces/default/configmaps",
        form,
        body,
    ) {
        Answer::Whole { code, body, .. } => (code.as_u16(), serde_json::from_slice::<Value>(&body).unwrap()),
        Answer::Watch(_) => panic!("a watch"),
    };
    let (code, made) = post(&mut world, "application/yaml", body);
    assert_eq!((code, &made["data"]), (201, &json!({"x": "1"})));
    let (code, status) = post(&mut world, "application/yaml", "hello");
    let message = status["message"].as_str().unwrap();
    assert!(code == 400 && message.ends_with("(68656c6c6f)"), "{message}");
    assert_eq!(post(&mut world, "application/cbor", "").0, 415);
    assert_eq!(world.server.unsupported.len(), 0, "the real server refuses these too");
    let version = world.server.store.version();
    assert_eq!(post(&mut world, "application/yaml", "metadata: {name: yes}").0, 501);
    assert_eq!((world.server.unsupported.len(), world.server.store.version()), (1, version), "it wrote nothing");
}

#[test]
fn what_is_created_after_a_time_was_announced_carries_at_least_that_time() {
    let mut world = world();
    let later = Timestamp::from_second(world.now.as_second() + 1).unwrap();
    world.server.not_before.insert("default".to_owned(), later);
    let created = |world: &mut World| {
        let (_, made) =
            world.ask(Method::POST, PODS, &json!({"metadata": {"generateName": "p-"}, "spec": pod("p")["spec"]}));
        made["metadata"]["creationTimestamp"].as_str().unwrap().parse::<Timestamp>().unwrap()
    };
    assert_eq!(created(&mut world), later);
    world.now = Timestamp::from_second(later.as_second() + 5).unwrap();
    assert_eq!(created(&mut world), world.now, "the server's own clock is ahead again");
}
