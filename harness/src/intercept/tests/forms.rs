//! What a client is shown does not depend on the form in which it reads. A client lists and watches
//! as client-go's reflector does, once in JSON and once in protobuf, beside a writer that does the
//! same things at the same times; under each watch command both must be shown the same objects and
//! the same errors, in the same order and at the same times.

use std::sync::{Mutex, PoisonError};

use kube_apiserver_sim::ApiServer;

use super::*;
use crate::intercept::{WatchAct, WatchCommand};

const SETS: &str = "/apis/apps/v1/replicasets";
/// What client-go's typed clients accept of everything.
const TYPED: &str = "application/vnd.kubernetes.protobuf,application/json";

const LAG: Duration = Duration::from_millis(1500);
/// When the first object is created, in milliseconds.
const FIRST: u64 = 150;

/// What a client is shown: when, whether by a list or as which event, and the list or the object.
type Shown = Vec<(u64, String, Value)>;

#[rstest]
#[case::nothing(None, &["LIST", "ADDED a", "ADDED b", "ADDED x", "MODIFIED a", "DELETED b", "ADDED c"])]
#[case::hold(Some((1, WatchAct::Hold)), &["LIST", "ADDED x", "ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "ADDED c"])]
#[case::lag(Some((1, WatchAct::Lag(LAG))), &["LIST", "ADDED x", "ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "ADDED c"])]
#[case::repeat(
    Some((2, WatchAct::Repeat)),
    &["LIST", "ADDED a", "ADDED b", "ADDED b", "ADDED x", "MODIFIED a", "DELETED b", "ADDED c"]
)]
#[case::expire(
    Some((2, WatchAct::Expire)),
    &["LIST", "ADDED a", "ADDED b", "ERROR 410", "LIST a b", "ADDED x", "MODIFIED a", "DELETED b", "ADDED c"]
)]
#[case::old(
    Some((3, WatchAct::Old(2))),
    &["LIST", "ADDED a", "ADDED b", "ADDED x", "MODIFIED a", "ERROR 410", "LIST a", "ADDED b", "ADDED x", "MODIFIED a",
        "DELETED b", "ADDED c"]
)]
#[case::overtaken(
    Some((1, WatchAct::Overtaken(1))),
    &["LIST", "ADDED x", "ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "ADDED c"]
)]
#[tokio::test(start_paused = true)]
async fn both_forms_show_the_same(#[case] command: Option<(u32, WatchAct)>, #[case] expected: &[&str]) {
    let in_json = shown(command, "application/json").await;
    let told: Vec<String> = in_json.iter().map(|(_, what, object)| tell(what, object)).collect();
    assert_eq!(told, expected);
    for accept in [TYPED, protobuf::WATCH_MEDIA_TYPE] {
        assert_eq!(shown(command, accept).await, in_json, "{accept}");
    }
    if command.is_some_and(|(_, act)| act == WatchAct::Lag(LAG)) {
        let late =
            in_json.iter().filter(|(_, what, object)| what == "ADDED" && object["metadata"]["namespace"] == "ns");
        assert!(late.map(|(at, ..)| *at).next() >= Some(FIRST + 1500), "{in_json:?}");
    }
}

/// What a client is shown that accepts this.
async fn shown(command: Option<(u32, WatchAct)>, accept: &'static str) -> Shown {
    let _simulated = clock::simulate("2026-11-21T10:00:00Z".parse().unwrap());
    let server = ApiServer::builder().seed(1).clock(clock::now).build();
    let interceptor = Interceptor::inside(server.clone());
    for namespace in ["ns", "other"] {
        write(&server, "POST", "/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).await;
    }
    let shown = Arc::new(Mutex::new(Shown::new()));
    let reading = tokio::spawn(reflect(interceptor.client().unwrap(), accept, Arc::clone(&shown)));
    pause(50).await;
    let command = command.map(|(nth, act)| {
        let resource = "replicasets".to_owned();
        let command = WatchCommand { namespace: "ns".to_owned(), resource, nth, act };
        interceptor.control().arm_watch(command).expect("the watch can be read")
    });
    for step in 1..=5 {
        pause(100).await;
        match step {
            1 => write(&server, "POST", &sets("ns"), &set("a")).await,
            2 => write(&server, "POST", &sets("ns"), &set("b")).await,
            3 => write(&server, "POST", &sets("other"), &set("x")).await,
            4 => write(&server, "PATCH", &format!("{}/a", sets("ns")), &json!({"spec": {"replicas": 7}})).await,
            _ => write(&server, "DELETE", &format!("{}/b", sets("ns")), &Value::Null).await,
        }
    }
    pause(5000).await;
    drop(command);
    pause(1000).await;
    write(&server, "POST", &sets("ns"), &set("c")).await;
    pause(1000).await;
    reading.abort();
    let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
    shown.clone()
}

/// Lists, and watches from there on; anew where its place is forgotten.
async fn reflect(client: kube::Client, accept: &'static str, shown: Arc<Mutex<Shown>>) {
    let since = clock::instant();
    let note = |what: &str, object: &Value| {
        // As a typed client holds it, for which an empty field and none are the same.
        let object = protobuf::decode(&protobuf::encode(object).unwrap()).unwrap();
        let entry = (clock::millis_since(since), what.to_owned(), object);
        shown.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    };
    let get = async |path: String, accept: &str| {
        let request = Request::get(path).header("accept", accept).body(kube::client::Body::empty()).unwrap();
        client.send(request).await.unwrap()
    };
    // A media type of a watch is none of a list.
    let of_lists = accept.split(";stream").next().unwrap();
    loop {
        let bytes = get(SETS.to_owned(), of_lists).await.into_body().collect().await.unwrap().to_bytes();
        let list = protobuf::decode(&bytes).or_else(|_| serde_json::from_slice(&bytes)).unwrap();
        note("LIST", &list);
        let from = list["metadata"]["resourceVersion"].as_str().unwrap();
        let answer = get(format!("{SETS}?watch=true&resourceVersion={from}"), accept).await;
        let is_protobuf = answer.headers()["content-type"] == protobuf::WATCH_MEDIA_TYPE;
        assert_eq!(is_protobuf, accept.contains("protobuf"));
        let form = if is_protobuf { Form::Protobuf } else { Form::Json };
        let (mut body, mut rest) = (answer.into_body(), Vec::new());
        while let Some(frame) = body.frame().await {
            rest.extend_from_slice(&frame.unwrap().into_data().unwrap());
            while let Some((kind, object)) = form.take(&mut rest) {
                note(&kind, &object);
            }
        }
        assert!(rest.is_empty(), "half an event at the end");
    }
}

async fn write(server: &ApiServer, method: &str, path: &str, body: &Value) {
    let form = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", form);
    let answer = server.handle(request.body(Full::new(Bytes::from(text))).unwrap()).await;
    assert!(answer.status().is_success(), "{method} {path}: {}", answer.status());
}

fn sets(namespace: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/replicasets")
}

fn set(name: &str) -> Value {
    let (labels, containers) = (json!({"app": name}), json!([{"name": "app", "image": "app:1"}]));
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    json!({"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}})
}

async fn pause(milliseconds: u64) {
    clock::pause(Duration::from_millis(milliseconds)).await;
}

/// `ADDED a`, `ERROR 410`, `LIST a b`.
fn tell(what: &str, object: &Value) -> String {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let about = match (what, object["items"].as_array()) {
        ("ERROR", _) => vec![object["code"].to_string()],
        (_, Some(items)) => items.iter().map(name).collect(),
        _ => vec![name(object)],
    };
    [vec![what.to_owned()], about].concat().join(" ")
}
