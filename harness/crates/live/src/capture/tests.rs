//! Captures from a server in this process.

use std::time::Duration;

use futures::StreamExt;
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube_apiserver_sim::{ApiServer, ControllerMode};
use lockstep_cluster::ResponseTooLarge;
use lockstep_recording::RecordingEntry;
use serde_json::{Value, json};
use tower::BoxError;

use super::*;

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

fn options(length: u64) -> CaptureOptions {
    let (namespace, deployment) = ("default".to_owned(), "shop".to_owned());
    CaptureOptions { namespace, deployment, length: Some(Duration::from_secs(length)), cluster: "prod".to_owned() }
}

/// The kinds and names of the entries after the initial objects.
fn later(recording: &Recording) -> Vec<String> {
    let settled = recording.entries.iter().position(|entry| matches!(entry, RecordingEntry::Settled(_))).unwrap();
    let versions = recording.entries[settled..].iter().filter_map(|entry| match entry {
        RecordingEntry::Object(version) => Some(format!("{} {}", version.kind, version.name)),
        RecordingEntry::Trouble(trouble) => Some(trouble.why.split(',').next().unwrap_or_default().to_owned()),
        _ => None,
    });
    versions.collect()
}

#[tokio::test(start_paused = true)]
async fn records_every_version_of_the_deployments_objects() {
    let server = ApiServer::builder().controllers(ControllerMode::Off).build();
    let client = server.client();
    let meta = |name: &str| json!({"name": name, "labels": {"app": "shop"}});
    let shop = create(&client, "Deployment", json!({"metadata": meta("shop"), "spec": spec("app:1")})).await;
    create(&client, "ReplicaSet", json!({"metadata": meta("stranger"), "spec": spec("app:1")})).await;
    let interrupt = Interrupt::for_process();
    let recorded = async {
        let (options, client) = (options(10), client.clone());
        capture(&client, &options, &interrupt).await.unwrap()
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
async fn reports_a_missing_deployment() {
    let server = ApiServer::builder().controllers(ControllerMode::Off).build();
    let error = capture(&server.client(), &options(1), &Interrupt::for_process()).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no deployment shop in namespace default");
}

#[tokio::test(start_paused = true)]
async fn expired_watch_leaves_a_gap_and_resumes() {
    let server = ApiServer::builder().controllers(ControllerMode::Off).build();
    let client = server.client();
    let meta = json!({"name": "shop", "labels": {"app": "shop"}});
    create(&client, "Deployment", json!({"metadata": meta, "spec": spec("app:1")})).await;
    let interrupt = Interrupt::for_process();
    let recorded = async {
        let (options, client) = (options(300), client.clone());
        capture(&client, &options, &interrupt).await.unwrap()
    };
    let writes = async {
        // The server has ended the watches, and they are not open again yet.
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

type Frames = futures::stream::BoxStream<'static, Result<Frame<Bytes>, BoxError>>;

/// The first updates from a server that answers lists with this token and each watch, which
/// is to end after some seconds, with these frames.
async fn first_updates(token: &'static str, watch: fn(u64) -> Frames, number: usize) -> Vec<String> {
    let service = tower::service_fn(move |request: hyper::Request<kube::client::Body>| async move {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let seconds = query.split('&').find_map(|part| part.strip_prefix("timeoutSeconds="));
        let list = json!({"metadata": {"resourceVersion": "1", "continue": token}, "items": []}).to_string();
        let frames = match seconds {
            Some(seconds) => watch(seconds.parse().unwrap()),
            None => futures::stream::iter([Ok(Frame::data(Bytes::from(list)))]).boxed(),
        };
        Ok::<_, BoxError>(hyper::Response::new(StreamBody::new(frames)))
    });
    let client = Client::new(service, "default");
    let (sender, mut seen) = mpsc::channel(1);
    let _following = tokio::spawn(LiveWatch::everywhere(&client, None, 30, |_, _| {}).remove(0).follow(sender));
    let mut updates = Vec::new();
    for _ in 0..number {
        updates.push(match seen.recv().await.unwrap() {
            WatchUpdate::Listed { gap, .. } => format!("listed {}", gap.unwrap_or_default()),
            WatchUpdate::Lost { why, .. } => why,
            WatchUpdate::Opened { length, .. } => format!("opened for {length} s"),
            WatchUpdate::Alive { .. } => "alive".to_owned(),
            WatchUpdate::Version { .. } => "seen".to_owned(),
        });
    }
    updates
}

/// No event, and the end after this many seconds.
fn ends_after(seconds: u64) -> Frames {
    futures::stream::once(clock::pause(Duration::from_secs(seconds))).flat_map(|()| futures::stream::empty()).boxed()
}

/// One frame, and the end.
fn frame(frame: Result<String, BoxError>) -> Frames {
    futures::stream::iter([frame.map(|text| Frame::data(Bytes::from(text)))]).boxed()
}

/// Its headers show nothing: versions from before may still be on their way.
#[tokio::test(start_paused = true)]
async fn watch_is_alive_when_the_server_ends_it() {
    let updates = first_updates("", ends_after, 5).await;
    assert_eq!(updates, ["listed ", "opened for 30 s", "alive", "opened for 30 s", "alive"]);
}

#[tokio::test(start_paused = true)]
async fn watch_that_is_cut_off_is_opened_for_a_shorter_time() {
    let updates = first_updates("", |seconds| ends_after(seconds.min(10)), 7).await;
    let short = ["opened for 7 s", "alive", "opened for 14 s", "opened for 7 s"];
    assert_eq!(updates, [["listed ", "opened for 30 s", "opened for 15 s"].as_slice(), &short].concat());
}

#[tokio::test(start_paused = true)]
async fn watch_that_reports_an_error_is_not_alive() {
    let watch = |_| {
        let error = json!({"type": "ERROR", "object": {"status": "Failure", "code": 500, "message": "no leader"}});
        frame(Ok(format!("{error}\n")))
    };
    let updates = first_updates("", watch, 5).await;
    assert_eq!(updates, ["listed ", "opened for 30 s", "no leader", "opened for 15 s", "no leader"]);
}

#[tokio::test(start_paused = true)]
async fn gives_up_an_endless_list() {
    assert_eq!(
        first_updates("on", ends_after, 2).await,
        [ResponseTooLarge::Pages.to_string(), ResponseTooLarge::Pages.to_string()]
    );
}

#[tokio::test(start_paused = true)]
async fn an_endless_event_is_a_gap() {
    let gap = format!("listed {}", ResponseTooLarge::Event);
    assert_eq!(
        first_updates("", |_| frame(Err(ResponseTooLarge::Event.into())), 3).await,
        ["listed ", "opened for 30 s", &gap]
    );
}
