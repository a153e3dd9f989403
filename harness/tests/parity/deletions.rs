//! Whole deletions, with the cluster's own controllers at work: what watches show of each object
//! until all is over.
//!
//! A Deployment with a ReplicaSet and pods is deleted in each way that there is, with owners that
//! are waited for and that are not, and with a finalizer on one of them or on none; then what nodes
//! and users have to do is done, and last the namespace goes. No Deployment or ReplicaSet
//! controller runs. Which object goes first is up to chance on the real cluster: so what is
//! compared is what happened to each object, step by step, and of the namespace's own end only how
//! it ended for each, as its content goes all at once there.
//!
//! Of a namespace itself its conditions are left out, which only the real cluster writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube_apiserver_sim::ApiServer;
use lockstep::clock;
use lockstep::cluster::{self, Plan};
use serde_json::{Value, json};

use super::Error;
use super::play::{Server, settled, whole};
use super::step::Step;

/// How long nothing must come for all to be done.
const QUIET: Duration = Duration::from_secs(5);
/// How long a namespace may take to go: upstream looks again after half of what its pods are given.
const LONGEST: u32 = 120;
const KEEP: &str = "example.com/keep";
const WATCHED: [(&str, &str); 5] = [
    ("Deployment", "/apis/apps/v1/deployments"),
    ("ReplicaSet", "/apis/apps/v1/replicasets"),
    ("Pod", "/api/v1/pods"),
    ("ConfigMap", "/api/v1/configmaps"),
    ("Namespace", "/api/v1/namespaces"),
];

/// One way to delete, in a namespace of its own.
#[derive(Debug, Clone, Copy)]
struct Way {
    policy: Option<&'static str>,
    /// Whose deletion a finalizer holds up.
    kept: Option<&'static str>,
    /// Whether dependents block their owner's deletion.
    blocks: bool,
}

fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for policy in [None, Some("Background"), Some("Foreground"), Some("Orphan")] {
        for kept in [None, Some("web"), Some("web-1"), Some("bound")] {
            ways.extend([true, false].map(|blocks| Way { policy, kept, blocks }));
        }
    }
    ways
}

/// What happened to one object: the way's number, kind and name; each event, and whether it came
/// before the namespace's end.
type Story = BTreeMap<(usize, String, String), Vec<(bool, Value)>>;
type Events = Arc<Mutex<Vec<Value>>>;

/// All ways on both, object by object.
pub(crate) fn compare() -> Result<(), Error> {
    let virtual_time = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let simulated = virtual_time.block_on(async {
        let _simulated = clock::simulate("2026-11-21T10:00:00Z".parse().expect("a time"));
        played(&Server::Sim(ApiServer::builder().clock(clock::now).build())).await
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let plan = Plan::new(cluster::DEFAULT_VERSION).without("deployment,replicaset".parse()?);
    let cluster = runtime.block_on(cluster::boot(&plan))?;
    let real = runtime.block_on(async { played(&Server::Real(cluster.client().await?)).await });
    runtime.block_on(cluster.end());
    let real = real?;
    let ways = ways();
    let (mut objects, mut events, mut wrong) = (0, 0, 0);
    let none = Vec::new();
    let keys: std::collections::BTreeSet<_> = real.keys().chain(simulated.keys()).collect();
    for key in keys {
        let (one, other) = (told(real.get(key).unwrap_or(&none)), told(simulated.get(key).unwrap_or(&none)));
        objects += 1;
        events += one.len();
        if one != other {
            wrong += 1;
            println!("{:?}: {} {}\n  real:", ways[key.0], key.1, key.2);
            one.iter().for_each(|line| println!("    {line}"));
            println!("  simulated:");
            other.iter().for_each(|line| println!("    {line}"));
        }
    }
    println!(
        "{} ways to delete, {objects} objects, {events} events; {wrong} objects of which the clusters do not tell the same",
        ways.len()
    );
    if wrong == 0 && events > 0 { Ok(()) } else { Err(format!("{wrong} of {objects} objects").into()) }
}

/// The events as lines; of the namespace's end the last alone.
fn told(story: &[(bool, Value)]) -> Vec<String> {
    let mut lines: Vec<String> =
        story.iter().filter(|(before, _)| *before).map(|(_, event)| event.to_string()).collect();
    lines.dedup();
    lines.extend(story.iter().rfind(|(before, _)| !before).map(|(_, event)| format!("at the end {}", event["type"])));
    lines
}

async fn played(server: &Server) -> Result<Story, Error> {
    let events = Events::default();
    let mut readers = Vec::new();
    for (_, path) in WATCHED {
        readers.push(read(server, path, &events).await?);
    }
    let ways = ways();
    for (number, way) in ways.iter().enumerate() {
        made(server, number, way).await?;
    }
    quiet(&events).await;
    for (number, way) in ways.iter().enumerate() {
        let options = way.policy.map(|policy| json!({"propagationPolicy": policy}));
        ask(server, "DELETE", &deployment(number, "web"), options).await?;
    }
    quiet(&events).await;
    // The node is done with the pod, and whoever held something up lets it go. A collector on a
    // busy machine may come to an owner only after all was quiet, and then to its pod.
    let mut some = true;
    while some {
        some = false;
        for number in 0..ways.len() {
            some |= finished(server, number).await?;
        }
        quiet(&events).await;
    }
    for (number, way) in ways.iter().enumerate() {
        if let Some(kept) = way.kept {
            released(server, number, kept).await?;
        }
    }
    quiet(&events).await;
    let before = locked(&events).len();
    for number in 0..ways.len() {
        ask(server, "DELETE", &format!("/api/v1/namespaces/del-{number}"), None).await?;
    }
    for _ in 0..LONGEST {
        pause(Duration::from_secs(1)).await;
        let mut gone = true;
        for (number, way) in ways.iter().enumerate() {
            finished(server, number).await?;
            if let Some(kept) = way.kept {
                released(server, number, kept).await?;
            }
            gone &= ask(server, "GET", &format!("/api/v1/namespaces/del-{number}"), None).await?.0 == 404;
        }
        if gone {
            break;
        }
    }
    quiet(&events).await;
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(story(&locked(&events), before))
}

fn story(events: &[Value], before: usize) -> Story {
    let mut story = Story::new();
    for (at, event) in events.iter().enumerate() {
        let meta = &event["object"]["metadata"];
        let text = |name: &str| meta[name].as_str().unwrap_or_default().to_owned();
        let kind = event["object"]["kind"].as_str().unwrap_or_default().to_owned();
        let space = if kind == "Namespace" { text("name") } else { text("namespace") };
        let Some(number) = space.strip_prefix("del-").and_then(|number| number.parse().ok()) else { continue };
        // What every namespace is given is of no deletion.
        if text("name") == "kube-root-ca.crt" {
            continue;
        }
        let mut event = settled(&space, event.clone());
        if kind == "Namespace" {
            event["object"]["status"].as_object_mut().and_then(|status| status.remove("conditions"));
        }
        let name = if kind == "Namespace" { String::new() } else { text("name") };
        story.entry((number, kind, name)).or_default().push((at < before, event));
    }
    story
}

fn deployment(number: usize, name: &str) -> String {
    format!("/apis/apps/v1/namespaces/del-{number}/deployments/{name}")
}

fn pods(number: usize) -> String {
    format!("/api/v1/namespaces/del-{number}/pods")
}

async fn made(server: &Server, number: usize, way: &Way) -> Result<(), Error> {
    let space = format!("del-{number}");
    ask(server, "POST", "/api/v1/namespaces", Some(json!({"metadata": {"name": space}}))).await?;
    let account = format!("/api/v1/namespaces/{space}/serviceaccounts/default");
    while ask(server, "GET", &account, None).await?.0 != 200 {
        pause(Duration::from_millis(100)).await;
    }
    let finalizers = |name: &str| if way.kept == Some(name) { json!([KEEP]) } else { json!([]) };
    let meta = |name: &str, owners: Value| json!({"name": name, "labels": {"app": "web"}, "finalizers": finalizers(name), "ownerReferences": owners});
    let owner = |version: &str, kind: &str, name: &str, uid: &str, controls: bool| json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": controls, "blockOwnerDeletion": way.blocks});
    let spec = json!({"containers": [{"name": "app", "image": "app:1"}]});
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": spec});
    let workload = json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    let apps = format!("/apis/apps/v1/namespaces/{space}");
    let body = json!({"metadata": meta("web", json!([])), "spec": workload});
    let web = uid(ask(server, "POST", &format!("{apps}/deployments"), Some(body)).await?)?;
    let owners = json!([owner("apps/v1", "Deployment", "web", &web, true)]);
    let body = json!({"metadata": meta("web-1", owners), "spec": workload});
    let set = uid(ask(server, "POST", &format!("{apps}/replicasets"), Some(body)).await?)?;
    let body = json!({"metadata": meta("other", json!([]))});
    let other = uid(ask(server, "POST", &format!("/api/v1/namespaces/{space}/configmaps"), Some(body)).await?)?;
    let of_set = owner("apps/v1", "ReplicaSet", "web-1", &set, true);
    for (name, node, owners) in [
        ("unbound", None, json!([of_set])),
        ("bound", Some("n1"), json!([of_set])),
        ("shared", None, json!([of_set, owner("v1", "ConfigMap", "other", &other, false)])),
    ] {
        let mut body = json!({"metadata": meta(name, owners), "spec": spec});
        if let Some(node) = node {
            body["spec"]["nodeName"] = node.into();
        }
        uid(ask(server, "POST", &pods(number), Some(body)).await?)?;
    }
    Ok(())
}

/// Pods that were told to go are gone; whether one was still there.
async fn finished(server: &Server, number: usize) -> Result<bool, Error> {
    let (_, pod) = ask(server, "GET", &format!("{}/bound", pods(number)), None).await?;
    let going = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0;
    if going {
        ask(server, "DELETE", &format!("{}/bound", pods(number)), Some(json!({"gracePeriodSeconds": 0}))).await?;
    }
    Ok(going)
}

/// Nobody holds up what goes.
async fn released(server: &Server, number: usize, kept: &str) -> Result<(), Error> {
    let path = match kept {
        "web" => deployment(number, kept),
        "web-1" => format!("/apis/apps/v1/namespaces/del-{number}/replicasets/{kept}"),
        _ => format!("{}/{kept}", pods(number)),
    };
    let (code, object) = ask(server, "GET", &path, None).await?;
    let names = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let rest: Vec<&Value> = names.iter().filter(|name| **name != KEEP).collect();
    if code == 200 && rest.len() < names.len() && !object["metadata"]["deletionTimestamp"].is_null() {
        let version = &object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"finalizers": rest, "resourceVersion": version}});
        // Where something else came first it is tried again.
        ask(server, "PATCH", &path, Some(patch)).await?;
    }
    Ok(())
}

fn uid((code, body): (u16, Value)) -> Result<String, Error> {
    let uid = body["metadata"]["uid"].as_str().filter(|_| code < 300);
    uid.map(str::to_owned).ok_or_else(|| format!("{code}: {body}").into())
}

async fn ask(server: &Server, method: &str, path: &str, body: Option<Value>) -> Result<(u16, Value), Error> {
    let form = match method {
        "PATCH" => "application/merge-patch+json",
        _ if body.is_some() => "application/json",
        _ => "",
    };
    let text = str::to_owned;
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let step = Step {
        verb: String::new(),
        kind: String::new(),
        method: text(method),
        path: text(path),
        form: text(form),
        accept: String::new(),
        body,
    };
    let (code, _, body) = whole(server, &step).await?;
    Ok((code, body))
}

/// Keep what a watch shows from now on.
async fn read(server: &Server, path: &str, events: &Events) -> Result<tokio::task::JoinHandle<()>, Error> {
    let (_, list) = ask(server, "GET", path, None).await?;
    let from = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let path = format!("{path}?watch=true&resourceVersion={from}");
    let text = String::new;
    let step =
        Step { verb: text(), kind: text(), method: "GET".to_owned(), path, form: text(), accept: text(), body: text() };
    let (_, _, mut frames) = server.send(&step).await?;
    let events = Arc::clone(events);
    Ok(tokio::spawn(async move {
        let mut rest = Vec::new();
        while let Some(Ok(frame)) = frames.next().await {
            rest.extend_from_slice(&frame);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                if let Ok(event) = serde_json::from_slice::<Value>(&line) {
                    locked(&events).push(event);
                }
            }
        }
    }))
}

/// Wait until nothing comes any more.
async fn quiet(events: &Events) {
    let mut known = usize::MAX;
    loop {
        let now = locked(events).len();
        if now == known {
            return;
        }
        known = now;
        pause(QUIET).await;
    }
}

async fn pause(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

fn locked(events: &Events) -> std::sync::MutexGuard<'_, Vec<Value>> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}
