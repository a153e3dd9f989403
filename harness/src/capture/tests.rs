//! Recordings of a server that is served in this process.

use std::time::Duration;

use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube_apiserver_sim::{ApiServer, Controllers};
use serde_json::{Value, json};
use tower::BoxError;

use super::*;
use crate::cluster::TooMuch;
use crate::recording::Entry;

fn api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let group = if kind == "Pod" || kind == "ConfigMap" { "" } else { "apps" };
    let resource = kube::api::ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    Api::namespaced_with(client.clone(), "default", &resource)
}

async fn create(client: &Client, kind: &str, object: Value) -> Value {
    let object = serde_json::from_value(object).unwrap();
    let made = api(client, kind).create(&PostParams::default(), &object).await.unwrap();
    serde_json::to_value(made).unwrap()
}

fn spec(image: &str) -> Value {
    let containers = json!([{"name": "main", "image": image, "env": [{"name": "PASSWORD", "value": "hunter2"}]}]);
    json!({"replicas": 1, "selector": {"matchLabels": {"app": "shop"}},
        "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": containers}}})
}

fn wish(length: u64) -> Wish {
    let (namespace, deployment) = ("default".to_owned(), "shop".to_owned());
    Wish { namespace, deployment, length: Some(Duration::from_secs(length)), cluster: "prod".to_owned() }
}

/// The kinds and names of what was recorded after the beginning.
fn later(recording: &Recording) -> Vec<String> {
    let settled = recording.entries.iter().position(|entry| matches!(entry, Entry::Settled(_))).unwrap();
    let told = recording.entries[settled..].iter().filter_map(|entry| match entry {
        Entry::Object(version) => Some(format!("{} {}", version.kind, version.name)),
        Entry::Trouble(trouble) => Some(trouble.why.split(',').next().unwrap_or_default().to_owned()),
        _ => None,
    });
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn every_version_of_what_belongs_to_the_deployment_is_recorded() {
    let server = ApiServer::builder().controllers(Controllers::Off).build();
    let client = server.client();
    let meta = |name: &str| json!({"name": name, "labels": {"app": "shop"}});
    let shop = create(&client, "Deployment", json!({"metadata": meta("shop"), "spec": spec("app:1")})).await;
    create(&client, "ReplicaSet", json!({"metadata": meta("stranger"), "spec": spec("app:1")})).await;
    let interrupt = Interrupt::of_process();
    let recorded = async {
        let (wish, client) = (wish(10), client.clone());
        capture(&client, &wish, &interrupt).await.unwrap()
    };
    let writes = async {
        clock::pause(Duration::from_secs(2)).await;
        let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "controller": true,
            "uid": shop["metadata"]["uid"]}]);
        let mut own = meta("shop-1");
        own["ownerReferences"] = owner;
        create(&client, "ReplicaSet", json!({"metadata": own, "spec": spec("app:1")})).await;
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}});
        let patch = Patch::Strategic(image);
        api(&client, "Deployment").patch("shop", &PatchParams::default(), &patch).await.unwrap();
    };
    let (recording, ()) = tokio::join!(recorded, writes);
    assert_eq!(later(&recording), ["ReplicaSet shop-1", "Deployment shop"]);
    let mut text = Vec::new();
    anonymous(&recording).write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for secret in ["hunter2", "PASSWORD", "shop", "prod", "main"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains("image:1") && text.contains("image:2"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_is_not_there_is_said() {
    let server = ApiServer::builder().controllers(Controllers::Off).build();
    let error = capture(&server.client(), &wish(1), &Interrupt::of_process()).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no deployment shop in namespace default");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_go_on_is_a_gap_and_then_goes_on() {
    let server = ApiServer::builder().controllers(Controllers::Off).build();
    let client = server.client();
    let meta = json!({"name": "shop", "labels": {"app": "shop"}});
    create(&client, "Deployment", json!({"metadata": meta, "spec": spec("app:1")})).await;
    let interrupt = Interrupt::of_process();
    let recorded = async {
        let (wish, client) = (wish(300), client.clone());
        capture(&client, &wish, &interrupt).await.unwrap()
    };
    let writes = async {
        // The server has ended the watches, and they are not opened again yet.
        clock::pause(Duration::from_millis(240_250)).await;
        create(&client, "ConfigMap", json!({"metadata": {"name": "x"}})).await;
        server.forget(server.resource_version());
        clock::pause(Duration::from_secs(10)).await;
        let more = Patch::Merge(json!({"spec": {"replicas": 2}}));
        api(&client, "Deployment").patch("shop", &PatchParams::default(), &more).await.unwrap();
    };
    let (recording, ()) = tokio::join!(recorded, writes);
    let later = later(&recording);
    assert!(later.iter().any(|one| one == "Deployments were not seen for a time"), "{later:?}");
    assert_eq!(later.last().map(String::as_str), Some("Deployment shop"));
}

/// The first news of a server that answers lists with this token and breaks off each watch for
/// this.
async fn first_news(token: &'static str, why: TooMuch, number: usize) -> Vec<String> {
    let service = tower::service_fn(move |request: hyper::Request<kube::client::Body>| async move {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch"));
        let list = json!({"metadata": {"resourceVersion": "1", "continue": token}, "items": []}).to_string();
        let frame = if is_watch { Err(BoxError::from(why)) } else { Ok(Frame::data(Bytes::from(list))) };
        Ok::<_, BoxError>(hyper::Response::new(StreamBody::new(futures::stream::iter([frame]))))
    });
    let client = Client::new(service, "default");
    let (sender, mut seen) = mpsc::channel(1);
    let _following = tokio::spawn(Stream::everywhere(&client, None, 30, |_, _| {}).remove(0).follow(sender));
    let mut told = Vec::new();
    for _ in 0..number {
        told.push(match seen.recv().await.unwrap() {
            News::Listed { gap, .. } => format!("listed {}", gap.unwrap_or_default()),
            News::Lost { why, .. } => why,
            News::Heard { .. } => "heard".to_owned(),
            News::Seen { .. } => "seen".to_owned(),
        });
    }
    told
}

#[tokio::test(start_paused = true)]
async fn an_endless_list_is_given_up() {
    assert_eq!(first_news("on", TooMuch::Event, 2).await, [TooMuch::Pages.to_string(), TooMuch::Pages.to_string()]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_event_is_a_gap() {
    let gap = format!("listed {}", TooMuch::Event);
    assert_eq!(first_news("", TooMuch::Event, 3).await, ["listed ", "heard", &gap]);
}
