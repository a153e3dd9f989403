//! Tests of the controllers against a simulated API server in this process, in virtual time.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod connect;
mod deploy;
mod election;
mod informers;
mod objects;
mod process;
mod program;
mod reloader;
mod replica_sets;
mod requests;
mod restart_program;
mod restarts;
mod resync;
mod rights;
mod secure_metrics;
mod server;
mod silent_connections;
mod webhook;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use objects::{deployment, orphan, template};
use requests::failure;
use rollout_controller::{Clock, KubernetesMinor, Metrics, ProcessOptions, Settings, pod_template_hash, run, serve};
use serde_json::{Value, json};
use server::Server;
use tokio::task::JoinHandle;

/// Starts the controller and waits until it is idle.
async fn start(server: &Server) -> JoinHandle<()> {
    let client = server.client();
    let task = tokio::spawn(async move { run(client, settings(), std::future::pending()).await.unwrap() });
    pass(Duration::from_millis(100)).await;
    task
}

fn settings() -> Settings {
    Settings { clock: Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap()), ..Settings::default() }
}

/// Starts the controller as a process does; returns its metrics.
fn start_with_metrics(server: &Server) -> Metrics {
    let metrics = Metrics::default();
    let process = ProcessOptions { metrics: metrics.clone(), ..ProcessOptions::default() };
    tokio::spawn(serve(server.client(), settings(), process, std::future::pending()));
    metrics
}

#[expect(clippy::disallowed_methods, reason = "this is virtual time")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Ends the watches of a Deployment controller.
fn end_watches(server: &Server) {
    for resource in ["deployments", "replicasets", "pods"] {
        server.api.watches(resource).unwrap().end();
    }
}

fn events(server: &Server) -> Vec<String> {
    let text = |event: &Value| format!("{} {}", event["reason"].as_str().unwrap(), event["message"].as_str().unwrap());
    server.all("events").iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn creates_a_replica_set_and_records_an_event() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let rs = server.all("replicasets").remove(0);
    let name = rs["metadata"]["name"].as_str().unwrap();
    // The number of further writes depends on which watch is faster: a status computed from an
    // older Deployment is rejected.
    assert_eq!(server.verbs()[..2], ["POST replicasets", "PUT deployments/web/status"]);
    assert!(server.verbs()[2..].iter().all(|verb| verb == "PUT deployments/web/status"));
    let web = server.get("deployments/web");
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    assert_eq!(web["status"]["unavailableReplicas"], 3);
    assert_eq!(events(&server), [format!("ScalingReplicaSet Scaled up replica set {name} from 0 to 3")]);
    let event = server.all("events").remove(0);
    let suffix = event["metadata"]["name"].as_str().unwrap().strip_prefix("web.").unwrap();
    assert!(suffix.len() == 16 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit()), "{suffix}");
    assert_eq!(event["source"]["component"], "deployment-controller");
    assert_eq!(event["involvedObject"]["uid"], "d");
    assert_eq!((&event["count"], &event["type"]), (&json!(1), &json!("Normal")));
}

#[tokio::test(start_paused = true)]
async fn conflict_is_retried_without_an_event() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let refused = Arc::new(Mutex::new(3));
    server.interfere(move |verb, _| {
        let mut left = refused.lock().unwrap();
        let hit = verb.starts_with("PUT replicasets/") && *left > 0;
        *left -= i32::from(hit);
        hit.then(|| failure(409, "Conflict", "the object has been modified"))
    });
    let before = server.verbs().len();
    let mut web = server.get("deployments/web");
    web["spec"]["replicas"] = 5.into();
    server.put(web);
    pass(Duration::from_secs(1)).await;
    let tries = server.verbs()[before..].iter().filter(|verb| verb.starts_with("PUT replicasets/")).count();
    assert_eq!(tries, 4);
    assert_eq!(server.all("replicasets")[0]["spec"]["replicas"], 5);
    assert_eq!(events(&server).len(), 2, "one for making, one for the size that was taken");
}

/// The status update after a ReplicaSet creation meets a conflict. It is repeated on the latest
/// Deployment, or this rollout's deadline would never start.
#[tokio::test(start_paused = true)]
async fn new_replica_set_is_reported_despite_a_conflict() {
    let server = Server::default();
    let mut before = deployment();
    let complete = json!({"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"});
    before["status"] = json!({"conditions": [complete]});
    server.put(before);
    let refused = Arc::new(Mutex::new(false));
    server.interfere(move |verb, _| {
        let mut refused = refused.lock().unwrap();
        let hit = verb == "PUT deployments/web/status" && !*refused;
        *refused |= hit;
        hit.then(|| failure(409, "Conflict", "the object has been modified"))
    });
    start(&server).await;
    let web = server.get("deployments/web");
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let conditions = web["status"]["conditions"].as_array().unwrap();
    let progressing: Vec<_> = conditions.iter().filter(|condition| condition["type"] == "Progressing").collect();
    assert_eq!(progressing[0]["reason"], "NewReplicaSetCreated");
}

/// The same conflict, caused by a user's change. The controller then acts on the new spec: a
/// scale-up for the old spec would be one too many (case `during/scaled-after-creation`), and so
/// would a revision for the old template (case `during/retemplated-after-creation`).
#[tokio::test(start_paused = true)]
async fn change_during_the_status_conflict_takes_effect_at_once() {
    for image in ["app:2", "app:3"] {
        let server = Server::default();
        server.put(deployment());
        start(&server).await;
        let mut rs = server.all("replicasets").remove(0);
        rs["status"] = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 1});
        server.put(rs.clone());
        pass(Duration::from_secs(1)).await;

        let mut web = server.get("deployments/web");
        web["spec"]["template"] = template("app:2");
        web["metadata"]["generation"] = 2.into();
        server.put(web.clone());
        server.api.watches("deployments").unwrap().pause();
        web["spec"]["template"] = template(image);
        web["spec"]["replicas"] = 6.into();
        web["metadata"]["generation"] = 3.into();
        server.put(web);
        pass(Duration::from_secs(1)).await;
        server.api.watches("deployments").unwrap().resume();
        pass(Duration::from_secs(1)).await;

        let writes = server.writes();
        let old = format!("PUT replicasets/{}", rs["metadata"]["name"].as_str().unwrap());
        let sizes: Vec<_> = writes.iter().filter(|(verb, _)| *verb == old).collect();
        assert!(sizes.iter().all(|(_, body)| body["spec"]["replicas"] != 2), "{image}: {sizes:?}");
        let revision = |body: &Value| body["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone();
        let third = |body: &Value| body["spec"]["template"] == template("app:3");
        assert!(!writes.iter().any(|(_, body)| third(body) && revision(body) == "2"), "{writes:?}");
        let last = if image == "app:2" { "2" } else { "3" };
        assert_eq!(revision(&server.get("deployments/web")), last);
    }
}

/// The controller waits until its caches show its own writes. A decision on stale sizes would be
/// made twice (cases `during/retemplated-after-creation`, `during/new-replicaset-deleted`).
#[tokio::test(start_paused = true)]
async fn waits_a_limited_time_for_its_own_writes() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let mut rs = server.all("replicasets").remove(0);
    rs["status"] = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 1});
    server.put(rs);
    pass(Duration::from_secs(1)).await;

    server.api.watches("replicasets").unwrap().pause();
    let mut web = server.get("deployments/web");
    web["spec"]["template"] = template("app:2");
    web["metadata"]["generation"] = 2.into();
    server.put(web);
    pass(Duration::from_millis(100)).await;
    let creations = || server.verbs().iter().filter(|verb| *verb == "POST replicasets").count();
    assert_eq!(creations(), 2);
    let before = server.verbs().len();
    // A sync starts, and the cache still has one ReplicaSet only.
    let mut web = server.get("deployments/web");
    web["metadata"]["labels"] = json!({"touched": "yes"});
    server.put(web);
    pass(Duration::from_millis(100)).await;
    assert_eq!(server.verbs()[before..], [] as [&str; 0]);
    // Upstream would have continued by now: it tries to create the ReplicaSet again, and finds it.
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.verbs().get(before).map(String::as_str), Some("POST replicasets"));
    assert_eq!(server.all("replicasets").len(), 2);

    server.api.watches("replicasets").unwrap().resume();
    pass(Duration::from_secs(1)).await;
    let sizes: Vec<_> = server.all("replicasets").iter().map(|rs| rs["spec"]["replicas"].clone()).collect();
    assert!(sizes.contains(&json!(2)), "{sizes:?}");
    assert_eq!(server.all("replicasets").len(), 2);
    assert_eq!(server.get("deployments/web")["status"]["observedGeneration"], json!(2));
}

/// Upstream counts such a wait for ReplicaSets only, so the metric of this name has none here.
#[tokio::test(start_paused = true)]
async fn waits_for_own_writes_are_not_counted_as_those_of_replica_sets() {
    let server = Server::default();
    let metrics = start_with_metrics(&server);
    pass(Duration::from_secs(1)).await;
    server.api.watches("replicasets").unwrap().pause();
    server.put(deployment());
    pass(Duration::from_millis(200)).await;
    let text = metrics.text();
    assert!(text.contains("syncs_total{controller=\"deployment\",result=\"conflict\"}"), "{text}");
    assert!(!text.contains("stale_sync_skips_total{"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn name_in_use_counts_as_a_collision() {
    let server = Server::default();
    server.put(deployment());
    let name = format!("web-{}", pod_template_hash(&template("app:1"), None, KubernetesMinor::default()));
    let mut foreign = objects::replica_set(&name, "foreign", 1, "app:1");
    foreign["metadata"]["labels"] = json!({"app": "foreign"});
    server.put(foreign);
    start(&server).await;
    assert_eq!(server.get("deployments/web")["status"]["collisionCount"], 1);
    let names: Vec<_> = server.all("replicasets").iter().map(|rs| rs["metadata"]["name"].clone()).collect();
    assert_eq!(names.len(), 2);
    let other = format!("web-{}", pod_template_hash(&template("app:1"), Some(1), KubernetesMinor::default()));
    assert!(names.contains(&json!(other)));
    assert!(server.get(&format!("replicasets/{name}"))["metadata"]["ownerReferences"].is_null());
}

#[tokio::test(start_paused = true)]
async fn refused_replica_set_is_reported_and_tried_sixteen_times() {
    let server = Server::default();
    server.put(deployment());
    server.interfere(|verb, _| (verb == "POST replicasets").then(|| failure(403, "Forbidden", "exceeded quota")));
    start(&server).await;
    pass(Duration::from_secs(1000)).await;
    let name = format!("web-{}", pod_template_hash(&template("app:1"), None, KubernetesMinor::default()));
    let message = format!("Failed to create new replica set \"{name}\": exceeded quota");
    let web = server.get("deployments/web");
    let condition = &web["status"]["conditions"][0];
    assert_eq!((&condition["reason"], &condition["message"]), (&json!("ReplicaSetCreateError"), &json!(message)));
    assert_eq!(events(&server), [format!("ReplicaSetCreateError {message}")], "one event, counted up");
    let tries = server.verbs().iter().filter(|verb| *verb == "POST replicasets").count();
    assert_eq!(tries, 16);
    assert_eq!(server.all("events")[0]["count"], tries);
}

/// client-go waits for as long as the server says and sends the request again, so upstream's
/// controller does not know of the refusal.
#[tokio::test(start_paused = true)]
async fn refusal_with_a_time_to_wait_is_not_reported() {
    let server = Server::default();
    server.put(deployment());
    let left = Mutex::new(3);
    server.interfere(move |verb, _| {
        let mut left = left.lock().unwrap();
        let hit = verb == "POST replicasets" && *left > 0;
        *left -= i32::from(hit);
        let (code, mut body) = failure(429, "TooManyRequests", "too many requests");
        body["details"] = json!({"retryAfterSeconds": 1});
        hit.then_some((code, body))
    });
    start(&server).await;
    assert_eq!(server.verbs(), ["POST replicasets"]);
    pass(Duration::from_secs(3)).await;
    assert_eq!(server.verbs()[..4], ["POST replicasets"; 4]);
    assert_eq!(server.all("replicasets").len(), 1);
    let recorded = events(&server);
    assert!(recorded.len() == 1 && recorded[0].starts_with("ScalingReplicaSet "), "{recorded:?}");
    let conditions = server.get("deployments/web")["status"]["conditions"].to_string();
    assert!(!conditions.contains("ReplicaSetCreateError"), "{conditions}");
}

#[tokio::test(start_paused = true)]
async fn terminating_namespace_is_not_retried() {
    let server = Server::default();
    server.put(deployment());
    server.interfere(|verb, _| {
        let (code, mut body) = failure(403, "Forbidden", "because it is being terminated");
        body["details"] = json!({"causes": [{"reason": "NamespaceTerminating"}]});
        (verb == "POST replicasets").then_some((code, body))
    });
    start(&server).await;
    pass(Duration::from_secs(100)).await;
    assert_eq!(server.verbs(), ["POST replicasets"]);
    assert!(events(&server).is_empty());
}

#[tokio::test(start_paused = true)]
async fn adopts_after_reading_the_live_object() {
    let server = Server::default();
    server.put(deployment());
    server.put(orphan());
    start(&server).await;
    let (verb, patch) = server.writes().remove(0);
    assert_eq!(verb, "PATCH replicasets/orphan");
    assert_eq!(
        patch,
        json!({"metadata": {"uid": "o", "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d",
            "controller": true, "blockOwnerDeletion": true,
        }]}})
    );
    assert_eq!(server.all("replicasets").len(), 2);
}

/// TestSyncDeploymentDeletionRace: the live object is being deleted, and the cached one is not.
#[tokio::test(start_paused = true)]
async fn deployment_being_deleted_adopts_nothing() {
    let server = Server::default();
    server.put(deployment());
    server.put(orphan());
    server.interfere(|verb, _| {
        let mut going = deployment();
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        (verb == "GET deployments/web").then_some((200, going))
    });
    start(&server).await;
    assert!(server.writes().is_empty());
}

/// An adoption that fails does not hold back a release.
#[tokio::test(start_paused = true)]
async fn deployment_being_deleted_still_releases() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let mut rs = server.all("replicasets").remove(0);
    let before = server.verbs().len();
    server.interfere(|verb, _| {
        let mut going = deployment();
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        (verb == "GET deployments/web").then_some((200, going))
    });
    server.api.watches("replicasets").unwrap().pause();
    server.put(orphan());
    rs["metadata"]["labels"] = json!({"app": "other"});
    server.put(rs.clone());
    server.api.watches("replicasets").unwrap().resume();
    pass(Duration::from_secs(1)).await;
    let released = format!("PATCH replicasets/{}", rs["metadata"]["name"].as_str().unwrap());
    assert_eq!(server.verbs()[before..], [released]);
}

/// Upstream drops an orphan that was deleted before its adoption, and goes on with the others.
#[tokio::test(start_paused = true)]
async fn orphan_deleted_before_its_adoption_does_not_end_the_sync() {
    let server = Server::default();
    server.put(deployment());
    server.put(orphan());
    server.interfere(|verb, _| {
        (verb == "PATCH replicasets/orphan").then(|| failure(404, "NotFound", "replicasets.apps \"orphan\" not found"))
    });
    start(&server).await;
    assert_eq!(server.verbs()[..2], ["PATCH replicasets/orphan", "POST replicasets"]);
}

#[tokio::test(start_paused = true)]
async fn releases_replica_set_that_no_longer_matches() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let mut rs = server.all("replicasets").remove(0);
    let before = server.writes().len();
    rs["metadata"]["labels"] = json!({"app": "other"});
    server.put(rs.clone());
    pass(Duration::from_secs(1)).await;
    let (verb, patch) = server.writes().remove(before);
    assert_eq!(verb, format!("PATCH replicasets/{}", rs["metadata"]["name"].as_str().unwrap()));
    let expected = json!({"uid": rs["metadata"]["uid"], "ownerReferences": [{"$patch": "delete", "uid": "d"}]});
    assert_eq!(patch["metadata"], expected);
    // The released ReplicaSet keeps the name, so the controller uses another hash.
    assert_eq!(server.get("deployments/web")["status"]["collisionCount"], 1);
    assert_eq!(server.all("replicasets").len(), 2);
}

/// A failed scale-down of an old ReplicaSet is ignored; the status is written all the same.
#[tokio::test(start_paused = true)]
async fn failed_scale_down_does_not_hold_back_the_status() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let mut rs = server.all("replicasets").remove(0);
    rs["status"] = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 1});
    server.put(rs.clone());
    pass(Duration::from_secs(1)).await;
    let old = format!("PUT replicasets/{}", rs["metadata"]["name"].as_str().unwrap());
    server.interfere(move |verb, _| (verb == old).then(|| failure(500, "InternalError", "no")));
    let mut web = server.get("deployments/web");
    web["spec"]["template"] = template("app:2");
    web["metadata"]["generation"] = 2.into();
    server.put(web);
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.get("deployments/web")["status"]["observedGeneration"], 2);
    assert!(!events(&server).iter().any(|event| event.contains("Scaled down")));
}

#[tokio::test(start_paused = true)]
async fn progress_deadline_passes_in_virtual_time() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let progressing = |server: &Server| {
        let conditions = server.get("deployments/web")["status"]["conditions"].clone();
        let found = conditions.as_array().unwrap().iter().find(|condition| condition["type"] == "Progressing").cloned();
        found.unwrap()["reason"].as_str().unwrap().to_owned()
    };
    pass(Duration::from_secs(59)).await;
    assert_eq!(progressing(&server), "NewReplicaSetCreated");
    pass(Duration::from_secs(3)).await;
    assert_eq!(progressing(&server), "ProgressDeadlineExceeded");
}

/// 410 Gone: a new list finds the changes in between.
#[tokio::test(start_paused = true)]
async fn expired_watch_lists_again() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    let name = server.all("replicasets")[0]["metadata"]["name"].as_str().unwrap().to_owned();
    end_watches(&server);
    server.api.storage("replicasets").unwrap().remove("default", &name).unwrap();
    server.api.forget(server.api.resource_version());
    pass(Duration::from_secs(2)).await;
    let lists = server.reads().iter().filter(|read| *read == "LIST replicasets").count();
    assert_eq!(lists, 2);
    assert_eq!(server.all("replicasets").len(), 1, "it was created again");
}

/// A watch that ends normally resumes at its last version.
#[tokio::test(start_paused = true)]
async fn closed_watch_resumes_at_its_version() {
    let server = Server::default();
    server.put(deployment());
    start(&server).await;
    end_watches(&server);
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.reads().iter().filter(|read| read.starts_with("LIST")).count(), 3);
    let mut web = server.get("deployments/web");
    web["spec"]["replicas"] = 4.into();
    server.put(web);
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.all("replicasets")[0]["spec"]["replicas"], 4);
}

/// Once dropped, it makes no more requests, though the server is still there.
#[tokio::test(start_paused = true)]
async fn dropped_run_makes_no_more_requests() {
    let server = Server::default();
    start(&server).await.abort();
    pass(Duration::from_millis(10)).await;
    server.put(deployment());
    pass(Duration::from_secs(400)).await;
    assert!(server.writes().is_empty());
    assert_eq!(server.reads().len(), 6, "three lists, three watches, and then none");
}

/// When stopped, it returns after writing what it had decided.
#[tokio::test(start_paused = true)]
async fn shutdown_writes_what_was_decided() {
    let server = Server::default();
    server.put(deployment());
    let shutdown = pass(Duration::from_millis(50));
    run(server.client(), Settings::default(), shutdown).await.unwrap();
    assert_eq!(events(&server).len(), 1);
}
