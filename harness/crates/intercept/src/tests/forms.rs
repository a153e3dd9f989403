//! What a client observes does not depend on the encoding. A client lists and watches as
//! client-go's reflector does, once in JSON and once in protobuf, beside a writer that does the
//! same things at the same times; under each watch command both must observe the same objects and
//! errors, in the same order and at the same times.

use std::sync::{Mutex, PoisonError};

use kube_apiserver_sim::ApiServer;

use super::*;
use crate::{WatchAction, WatchCommand};

const SETS: &str = "/apis/apps/v1/replicasets";
/// The Accept header of client-go's typed clients.
const TYPED: &str = "application/vnd.kubernetes.protobuf,application/json";

const LAG: Duration = Duration::from_millis(1500);
/// When the first object is created, in milliseconds.
const FIRST: u64 = 150;

/// What a client observes: when, whether by a list or as which event, and the list or the object.
type Observations = Vec<(u64, String, Value)>;

#[rstest]
#[case::nothing(None, &["LIST", "ADDED a", "ADDED b", "ADDED x", "MODIFIED a", "DELETED b", "ADDED c"])]
#[case::hold(Some((1, WatchAction::Hold)), &["LIST", "ADDED x", "ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "ADDED c"])]
#[case::lag(Some((1, WatchAction::Lag(LAG))), &["LIST", "ADDED x", "ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "ADDED c"])]
#[case::repeat(
    Some((2, WatchAction::Repeat)),
    &["LIST", "ADDED a", "ADDED b", "ADDED b", "ADDED x", "MODIFIED a", "DELETED b", "ADDED c"]
)]
#[case::expire(
    Some((2, WatchAction::Expire)),
    &["LIST", "ADDED a", "ADDED b", "ERROR 410", "LIST a b", "ADDED x", "MODIFIED a", "DELETED b", "ADDED c"]
)]
#[case::old(
    Some((3, WatchAction::Old(2))),
    &["LIST", "ADDED a", "ADDED b", "ADDED x", "MODIFIED a", "ERROR 410", "LIST a", "ADDED b", "ADDED x", "MODIFIED a",
        "DELETED b", "ADDED c"]
)]
#[case::overtaken(
    Some((1, WatchAction::Overtaken(1))),
    &["LIST", "ADDED x", "ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "ADDED c"]
)]
#[tokio::test(start_paused = true)]
async fn both_encodings_show_the_same(#[case] command: Option<(u32, WatchAction)>, #[case] expected: &[&str]) {
    let in_json = observe(command, "application/json").await;
    let labels: Vec<String> = in_json.iter().map(|(_, what, object)| label(what, object)).collect();
    assert_eq!(labels, expected);
    for accept in [TYPED, protobuf::WATCH_MEDIA_TYPE] {
        assert_eq!(observe(command, accept).await, in_json, "{accept}");
    }
    if command.is_some_and(|(_, action)| action == WatchAction::Lag(LAG)) {
        let late =
            in_json.iter().filter(|(_, what, object)| what == "ADDED" && object["metadata"]["namespace"] == "ns");
        assert!(late.map(|(at, ..)| *at).next() >= Some(FIRST + 1500), "{in_json:?}");
    }
}

/// What a client with this Accept header observes.
async fn observe(command: Option<(u32, WatchAction)>, accept: &'static str) -> Observations {
    let _simulated = clock::simulate("2026-11-21T10:00:00Z".parse().unwrap());
    let server = ApiServer::builder().seed(1).clock(clock::now).build();
    let interceptor = Interceptor::in_process(server.clone());
    for namespace in ["ns", "other"] {
        write(&server, "POST", "/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).await;
    }
    let observations = Arc::new(Mutex::new(Observations::new()));
    let reading = tokio::spawn(reflect(interceptor.client().unwrap(), accept, Arc::clone(&observations)));
    pause(50).await;
    let command = command.map(|(nth, action)| {
        let resource = "replicasets".to_owned();
        let command = WatchCommand { namespace: "ns".to_owned(), resource, nth, action };
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
    let observations = observations.lock().unwrap_or_else(PoisonError::into_inner);
    observations.clone()
}

/// Lists, and watches from there on; lists again if its version has expired.
async fn reflect(client: kube::Client, accept: &'static str, observations: Arc<Mutex<Observations>>) {
    let since = clock::instant();
    let note = |what: &str, object: &Value| {
        // As in a typed client, for which an empty and a missing field are the same.
        let object = protobuf::decode(&protobuf::encode(object).unwrap()).unwrap();
        let entry = (clock::millis_since(since), what.to_owned(), object);
        observations.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    };
    let get = async |path: String, accept: &str| {
        let request = Request::get(path).header("accept", accept).body(kube::client::Body::empty()).unwrap();
        client.send(request).await.unwrap()
    };
    // A watch's media type is not valid for a list.
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
fn label(event: &str, object: &Value) -> String {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let about = match (event, object["items"].as_array()) {
        ("ERROR", _) => vec![object["code"].to_string()],
        (_, Some(items)) => items.iter().map(name).collect(),
        _ => vec![name(object)],
    };
    [vec![event.to_owned()], about].concat().join(" ")
}
