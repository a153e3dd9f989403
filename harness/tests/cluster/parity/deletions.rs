//! Complete deletions with the cluster's controllers: what watches show of each object until
//! everything is deleted.
//!
//! A Deployment with a ReplicaSet and pods is deleted with each propagation policy, with owners
//! that block and do not, and with a finalizer on one of them or none. Then the trial acts as nodes
//! and users, and finally deletes the namespace. No Deployment or ReplicaSet controller runs. The
//! order between objects is random on the real cluster, so the history of each object is compared
//! by itself. Of the namespace's deletion only each object's last event is compared, as a real
//! cluster deletes the content all at once.
//!
//! A namespace's conditions are left out, as only the real cluster writes them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube_apiserver_sim::ApiServer;
use lockstep_cluster::{self as cluster, ClusterPlan};
use lockstep_support::clock;
use serde_json::{Value, json};

use super::Error;
use super::play::{Server, send_and_collect, without_server_values};
use super::step::Step;

/// How long no event may arrive before a deletion is complete.
const QUIET_PERIOD: Duration = Duration::from_secs(5);
/// The timeout of a namespace's deletion. Upstream retries after half of the pods' grace period.
const DELETION_TIMEOUT: u32 = 120;
const KEEP: &str = "example.com/keep";
const WATCHED: [(&str, &str); 5] = [
    ("Deployment", "/apis/apps/v1/deployments"),
    ("ReplicaSet", "/apis/apps/v1/replicasets"),
    ("Pod", "/api/v1/pods"),
    ("ConfigMap", "/api/v1/configmaps"),
    ("Namespace", "/api/v1/namespaces"),
];

/// One way to delete, in its own namespace.
#[derive(Debug, Clone, Copy)]
struct DeletionCase {
    policy: Option<&'static str>,
    /// The object with a finalizer.
    blocked_object: Option<&'static str>,
    /// Whether dependents block their owner's deletion.
    blocks: bool,
}

fn deletion_cases() -> Vec<DeletionCase> {
    let mut deletion_cases = Vec::new();
    for policy in [None, Some("Background"), Some("Foreground"), Some("Orphan")] {
        for blocked_object in [None, Some("web"), Some("web-1"), Some("bound")] {
            deletion_cases.extend([true, false].map(|blocks| DeletionCase { policy, blocked_object, blocks }));
        }
    }
    deletion_cases
}

/// The events of each object, by number of the deletion case, kind and name, and whether each came
/// before the namespace's deletion.
type History = BTreeMap<(usize, String, String), Vec<(bool, Value)>>;
type Events = Arc<Mutex<Vec<Value>>>;

/// Runs all deletion cases on both servers and compares them by object.
pub(crate) fn compare() -> Result<(), Error> {
    let virtual_time = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let simulated = virtual_time.block_on(async {
        let _simulated = clock::simulate("2026-11-21T10:00:00Z".parse().expect("a time"));
        play_deletions(&Server::Sim(ApiServer::builder().clock(clock::now).build())).await
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let plan = ClusterPlan::new(cluster::DEFAULT_VERSION).without("deployment,replicaset".parse()?);
    let cluster = runtime.block_on(cluster::boot(&plan))?;
    let real = runtime.block_on(async { play_deletions(&Server::Real(cluster.client().await?)).await });
    runtime.block_on(cluster.end());
    let real = real?;
    let deletion_cases = deletion_cases();
    let (mut objects, mut events, mut wrong) = (0, 0, 0);
    let none = Vec::new();
    let keys: std::collections::BTreeSet<_> = real.keys().chain(simulated.keys()).collect();
    for key in keys {
        let (one, other) =
            (history_lines(real.get(key).unwrap_or(&none)), history_lines(simulated.get(key).unwrap_or(&none)));
        objects += 1;
        events += one.len();
        if one != other {
            wrong += 1;
            println!("{:?}: {} {}\n  real:", deletion_cases[key.0], key.1, key.2);
            one.iter().for_each(|line| println!("    {line}"));
            println!("  simulated:");
            other.iter().for_each(|line| println!("    {line}"));
        }
    }
    println!(
        "{} ways to delete, {objects} objects, {events} events; {wrong} objects of which the clusters do not tell the same",
        deletion_cases.len()
    );
    if wrong == 0 && events > 0 { Ok(()) } else { Err(format!("{wrong} of {objects} objects").into()) }
}

/// The events as lines; of the namespace's deletion only the last.
fn history_lines(history: &[(bool, Value)]) -> Vec<String> {
    let mut lines: Vec<String> =
        history.iter().filter(|(before, _)| *before).map(|(_, event)| event.to_string()).collect();
    lines.dedup();
    lines.extend(history.iter().rfind(|(before, _)| !before).map(|(_, event)| format!("at the end {}", event["type"])));
    lines
}

async fn play_deletions(server: &Server) -> Result<History, Error> {
    let events = Events::default();
    let mut readers = Vec::new();
    for (_, path) in WATCHED {
        readers.push(read(server, path, &events).await?);
    }
    let deletion_cases = deletion_cases();
    for (number, deletion_case) in deletion_cases.iter().enumerate() {
        create_objects(server, number, deletion_case).await?;
    }
    quiet(&events).await;
    for (number, deletion_case) in deletion_cases.iter().enumerate() {
        let options = deletion_case.policy.map(|policy| json!({"propagationPolicy": policy}));
        ask(server, "DELETE", &deployment(number, "web"), options).await?;
    }
    quiet(&events).await;
    // The node has stopped the pod, and finalizers are removed. On a busy machine the garbage
    // collector may process an owner only after the quiet period, and then its pod.
    let mut some = true;
    while some {
        some = false;
        for number in 0..deletion_cases.len() {
            some |= finish_pods(server, number).await?;
        }
        quiet(&events).await;
    }
    for (number, deletion_case) in deletion_cases.iter().enumerate() {
        if let Some(blocked_object) = deletion_case.blocked_object {
            remove_finalizers(server, number, blocked_object).await?;
        }
    }
    quiet(&events).await;
    let before = locked(&events).len();
    for number in 0..deletion_cases.len() {
        ask(server, "DELETE", &format!("/api/v1/namespaces/del-{number}"), None).await?;
    }
    for _ in 0..DELETION_TIMEOUT {
        pause(Duration::from_secs(1)).await;
        let mut gone = true;
        for (number, deletion_case) in deletion_cases.iter().enumerate() {
            finish_pods(server, number).await?;
            if let Some(blocked_object) = deletion_case.blocked_object {
                remove_finalizers(server, number, blocked_object).await?;
            }
            gone &= ask(server, "GET", &format!("/api/v1/namespaces/del-{number}"), None).await?.0 == 404;
        }
        if gone {
            break;
        }
    }
    quiet(&events).await;
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(history(&locked(&events), before))
}

fn history(events: &[Value], before: usize) -> History {
    let mut history = History::new();
    for (at, event) in events.iter().enumerate() {
        let meta = &event["object"]["metadata"];
        let text = |name: &str| meta[name].as_str().unwrap_or_default().to_owned();
        let kind = event["object"]["kind"].as_str().unwrap_or_default().to_owned();
        let space = if kind == "Namespace" { text("name") } else { text("namespace") };
        let Some(number) = space.strip_prefix("del-").and_then(|number| number.parse().ok()) else { continue };
        // Objects that every namespace has are not part of the deletion.
        if text("name") == "kube-root-ca.crt" {
            continue;
        }
        let mut event = without_server_values(&space, event.clone());
        if kind == "Namespace" {
            event["object"]["status"].as_object_mut().and_then(|status| status.remove("conditions"));
        }
        let name = if kind == "Namespace" { String::new() } else { text("name") };
        history.entry((number, kind, name)).or_default().push((at < before, event));
    }
    history
}

fn deployment(number: usize, name: &str) -> String {
    format!("/apis/apps/v1/namespaces/del-{number}/deployments/{name}")
}

fn pods(number: usize) -> String {
    format!("/api/v1/namespaces/del-{number}/pods")
}

async fn create_objects(server: &Server, number: usize, deletion_case: &DeletionCase) -> Result<(), Error> {
    let space = format!("del-{number}");
    ask(server, "POST", "/api/v1/namespaces", Some(json!({"metadata": {"name": space}}))).await?;
    let account = format!("/api/v1/namespaces/{space}/serviceaccounts/default");
    while ask(server, "GET", &account, None).await?.0 != 200 {
        pause(Duration::from_millis(100)).await;
    }
    let finalizers = |name: &str| if deletion_case.blocked_object == Some(name) { json!([KEEP]) } else { json!([]) };
    let meta = |name: &str, owners: Value| json!({"name": name, "labels": {"app": "web"}, "finalizers": finalizers(name), "ownerReferences": owners});
    let owner = |version: &str, kind: &str, name: &str, uid: &str, controls: bool| json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": controls, "blockOwnerDeletion": deletion_case.blocks});
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

/// Removes terminating pods; returns whether there was one.
async fn finish_pods(server: &Server, number: usize) -> Result<bool, Error> {
    let (_, pod) = ask(server, "GET", &format!("{}/bound", pods(number)), None).await?;
    let going = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0;
    if going {
        ask(server, "DELETE", &format!("{}/bound", pods(number)), Some(json!({"gracePeriodSeconds": 0}))).await?;
    }
    Ok(going)
}

/// Removes the finalizers of objects being deleted.
async fn remove_finalizers(server: &Server, number: usize, blocked_object: &str) -> Result<(), Error> {
    let path = match blocked_object {
        "web" => deployment(number, blocked_object),
        "web-1" => format!("/apis/apps/v1/namespaces/del-{number}/replicasets/{blocked_object}"),
        _ => format!("{}/{blocked_object}", pods(number)),
    };
    let (code, object) = ask(server, "GET", &path, None).await?;
    let names = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let rest: Vec<&Value> = names.iter().filter(|name| **name != KEEP).collect();
    if code == 200 && rest.len() < names.len() && !object["metadata"]["deletionTimestamp"].is_null() {
        let version = &object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"finalizers": rest, "resourceVersion": version}});
        // After a conflict it tries again.
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
    let (code, _, body) = send_and_collect(server, &step).await?;
    Ok((code, body))
}

/// Records a watch's events from now on.
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

/// Waits until no more events arrive.
async fn quiet(events: &Events) {
    let mut known = usize::MAX;
    loop {
        let now = locked(events).len();
        if now == known {
            return;
        }
        known = now;
        pause(QUIET_PERIOD).await;
    }
}

async fn pause(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

fn locked(events: &Events) -> std::sync::MutexGuard<'_, Vec<Value>> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}
