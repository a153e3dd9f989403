//! Tests of the ReplicaSet controller against a simulated API server in this process, in virtual
//! time.

use std::sync::Mutex;
use std::time::Duration;

use rollout_controller::{Clock, ControllerName, Metrics, ProcessOptions, Settings, run, serve};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::objects::{self, pod};
use crate::requests::failure;
use crate::rights::Rights;
use crate::server::Server;
use crate::{deployment, events, pass, template};

/// A ReplicaSet `web` with this many replicas.
fn replica_set(replicas: i32) -> Value {
    objects::replica_set("web", "rs", replicas, "app:1")
}

fn settings(controllers: &[ControllerName]) -> Settings {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    Settings { clock, controllers: controllers.iter().copied().collect(), ..Settings::default() }
}

/// Starts the ReplicaSet controller alone and waits until it is idle.
async fn start(server: &Server) -> JoinHandle<()> {
    let (client, settings) = (server.client(), settings(&[ControllerName::ReplicaSet]));
    let task = tokio::spawn(async move { run(client, settings, std::future::pending()).await.unwrap() });
    pass(Duration::from_millis(100)).await;
    task
}

/// Changes the number of replicas, as a user would.
fn scale(server: &Server, replicas: i32) {
    let mut rs = server.get("replicasets/web");
    rs["spec"]["replicas"] = replicas.into();
    rs["metadata"]["generation"] = (rs["metadata"]["generation"].as_i64().unwrap() + 1).into();
    server.put(rs);
}

fn names(server: &Server) -> Vec<String> {
    server.all("pods").iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn count(server: &Server, verb: &str) -> usize {
    server.verbs().iter().filter(|other| other.starts_with(verb)).count()
}

fn status(server: &Server) -> Value {
    server.get("replicasets/web")["status"].clone()
}

#[tokio::test(start_paused = true)]
async fn creates_pods_and_records_events() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(3));
    start(&server).await;
    assert_eq!(names(&server).len(), 3);
    let (verb, made) = server.writes().remove(0);
    assert_eq!(verb, "POST pods");
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": true, "blockOwnerDeletion": true,
    });
    let metadata = json!({"generateName": "web-", "labels": {"app": "web"}, "ownerReferences": [owner]});
    let spec = template("app:1")["spec"].clone();
    assert_eq!(made, json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}));
    let expected = json!({"replicas": 3, "fullyLabeledReplicas": 3, "terminatingReplicas": 0, "observedGeneration": 1});
    assert_eq!(status(&server), expected);
    let mut recorded = events(&server);
    recorded.sort();
    let mut expected: Vec<_> =
        names(&server).iter().map(|name| format!("SuccessfulCreate Created pod: {name}")).collect();
    expected.sort();
    assert_eq!(recorded, expected);
    let event = server.all("events").remove(0);
    assert_eq!(event["source"]["component"], "replicaset-controller");
    assert_eq!(
        (&event["involvedObject"]["kind"], &event["involvedObject"]["uid"]),
        (&json!("ReplicaSet"), &json!("rs"))
    );
    assert!(server.reads().iter().all(|read| !read.contains("deployments")), "no controller reads Deployments");
}

#[tokio::test(start_paused = true)]
async fn deletes_pods_and_records_events() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(2));
    for name in ["a", "b", "c"] {
        let mut pod = pod(name, true);
        pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] =
            json!(if name == "b" { "-1" } else { "007" });
        server.put(pod);
    }
    start(&server).await;
    assert_eq!(names(&server), ["a", "c"]);
    assert_eq!(events(&server), ["SuccessfulDelete Deleted pod: b"]);
    scale(&server, 0);
    pass(Duration::from_secs(1)).await;
    assert!(names(&server).is_empty());
    assert_eq!(status(&server), json!({"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 2}));
}

/// A terminating pod does not count: its replacement is created at once, and an event is recorded.
#[tokio::test(start_paused = true)]
async fn replaces_a_terminating_pod_at_once() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1));
    server.put(pod("a", true));
    start(&server).await;
    let mut going = server.get("pods/a");
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:01:00Z".into();
    going["metadata"]["deletionGracePeriodSeconds"] = 60.into();
    server.put(going);
    pass(Duration::from_secs(1)).await;
    assert_eq!((names(&server).len(), count(&server, "POST pods")), (2, 1));
    assert_eq!((&status(&server)["replicas"], &status(&server)["terminatingReplicas"]), (&json!(1), &json!(1)));
}

/// A refused creation leads to one request instead of a hundred. The condition and the event have
/// the server's message, it is retried forever, and success clears it.
#[rstest]
#[case::a_quota(403, "Forbidden", "exceeded quota: q")]
#[case::no_such_pod_may_be(422, "Invalid", "spec.containers: Required value")]
#[case::no_answer_in_time(504, "Timeout", "request did not complete within requested timeout")]
#[tokio::test(start_paused = true)]
async fn refused_pod_is_reported_and_retried(
    #[case] code: u16,
    #[case] reason: &'static str,
    #[case] message: &'static str,
) {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(100));
    server.interfere(move |verb, _| (verb == "POST pods").then(|| failure(code, reason, message)));
    start(&server).await;
    // 5, 10, 20, 40 ms: the fifth try is at 75 ms.
    assert_eq!(count(&server, "POST pods"), 5);
    let condition = &status(&server)["conditions"][0];
    let expected = json!({
        "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    assert_eq!(condition, &expected);
    assert_eq!(events(&server), [format!("FailedCreate Error creating: {message}")], "one event, counted up");
    pass(Duration::from_secs(2000)).await;
    assert!(count(&server, "POST pods") > 17, "it is never given up");
    server.interfere(|_, _| None);
    pass(Duration::from_secs(1001)).await;
    assert_eq!(names(&server).len(), 100);
    assert_eq!(status(&server)["conditions"], Value::Null);
}

/// The first batch succeeds and part of the third fails: the rest is not tried, and the missing
/// pods are created later.
#[tokio::test(start_paused = true)]
async fn failed_creation_ends_the_burst() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(100));
    let mut calls = 0;
    server.interfere(move |verb, _| {
        calls += i32::from(verb == "POST pods");
        (verb == "POST pods" && calls == 5).then(|| failure(500, "InternalError", "no"))
    });
    start(&server).await;
    // Batches of one, two and four; then the status, computed from the pods before them.
    let writes: Vec<_> = server.writes().into_iter().filter(|(verb, _)| !verb.contains("events")).collect();
    assert!(writes[..7].iter().all(|(verb, _)| verb == "POST pods"));
    let (verb, body) = &writes[7];
    assert_eq!((verb.as_str(), &body["status"]["replicas"]), ("PUT replicasets/web/status", &json!(0)));
    assert_eq!(body["status"]["conditions"][0]["message"], "no");
    assert_eq!(
        (count(&server, "POST pods"), names(&server).len()),
        (101, 100),
        "what is missing is made up for, and not a pod more"
    );
    assert_eq!(status(&server)["conditions"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn terminating_namespace_is_not_reported_as_a_failure() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(3));
    server.interfere(|verb, _| {
        let (code, mut body) = failure(403, "Forbidden", "because it is being terminated");
        body["details"] = json!({"causes": [{"reason": "NamespaceTerminating"}]});
        (verb == "POST pods").then_some((code, body))
    });
    start(&server).await;
    pass(Duration::from_secs(100)).await;
    assert_eq!(server.verbs(), ["POST pods", "POST pods", "POST pods", "PUT replicasets/web/status"]);
    assert!(events(&server).is_empty() && status(&server)["conditions"].is_null());
}

/// 404 means that the pod is already deleted, which counts as success. Any other error is recorded
/// and retried.
#[rstest]
#[case::gone_already(404, "NotFound", None)]
#[case::in_the_way_of_another(409, "Conflict", Some("FailedDelete"))]
#[case::not_allowed(403, "Forbidden", Some("FailedDelete"))]
#[tokio::test(start_paused = true)]
async fn refused_deletion_is_reported_and_retried_unless_the_pod_is_gone(
    #[case] code: u16,
    #[case] reason: &'static str,
    #[case] event: Option<&str>,
) {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1));
    server.put(pod("a", true));
    server.put(pod("b", true));
    server.interfere(move |verb, _| verb.starts_with("DELETE pods").then(|| failure(code, reason, "not so")));
    start(&server).await;
    let condition = &status(&server)["conditions"][0];
    match event {
        None => {
            assert!(condition.is_null() && events(&server).is_empty());
            // No expectation is left, so the next sync tries again; but nothing has triggered a
            // sync.
            assert_eq!(count(&server, "DELETE pods"), 2, "the status is news");
        }
        Some(reason) => {
            assert_eq!(condition["reason"], reason);
            assert_eq!(condition["message"], "unable to delete pods: not so");
            assert_eq!(events(&server), [format!("{reason} Error deleting: not so")]);
            assert_eq!(count(&server, "DELETE pods"), 5);
        }
    }
}

/// The server accepts the pods, but no watch ever shows them: for five minutes none is created in
/// their place.
#[tokio::test(start_paused = true)]
async fn expectations_expire_after_five_minutes() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(3));
    server.interfere(|verb, _| (verb == "POST pods").then(|| (201, json!({"metadata": {"name": "lost"}}))));
    start(&server).await;
    assert_eq!(count(&server, "POST pods"), 3);
    let look = async |seconds| {
        pass(Duration::from_secs(seconds)).await;
        server.put(server.get("replicasets/web"));
        pass(Duration::from_millis(10)).await;
        count(&server, "POST pods")
    };
    assert_eq!(look(100).await, 3);
    assert_eq!(look(199).await, 3);
    assert_eq!(look(2).await, 6);
}

/// TestAdoption: it reads the live object first, and only if there is a pod to adopt.
#[tokio::test(start_paused = true)]
async fn adopts_after_reading_the_live_object() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1));
    server.put(pod("orphan", false));
    start(&server).await;
    let (verb, patch) = server.writes().remove(0);
    assert_eq!(verb, "PATCH pods/orphan");
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": true, "blockOwnerDeletion": true,
    });
    assert_eq!(patch, json!({"metadata": {"uid": "orphan", "ownerReferences": [owner]}}));
    assert_eq!((names(&server), count(&server, "POST pods")), (vec!["orphan".to_owned()], 0));
    assert!(server.paths().contains(&"GET /apis/apps/v1/namespaces/default/replicasets/web".to_owned()));
}

/// TestDoNotAdoptOrCreateIfBeingDeletedRace: the live object is being deleted, or is another one,
/// and the cached one is not.
#[rstest]
#[case::going(json!({"metadata": {"uid": "rs", "deletionTimestamp": "2026-01-01T00:00:00Z"}}))]
#[case::recreated(json!({"metadata": {"uid": "another"}}))]
#[tokio::test(start_paused = true)]
async fn replica_set_being_deleted_adopts_nothing(#[case] live: Value) {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1));
    server.put(pod("orphan", false));
    server.interfere(move |verb, _| (verb == "GET replicasets/web").then(|| (200, live.clone())));
    start(&server).await;
    assert!(server.writes().is_empty());
}

/// An orphan that was deleted before its adoption does not count: another pod is created in the
/// same sync.
#[tokio::test(start_paused = true)]
async fn deleted_orphan_is_replaced_in_the_same_sync() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1));
    server.put(pod("orphan", false));
    server.interfere(|verb, _| (verb == "PATCH pods/orphan").then(|| failure(404, "NotFound", "gone")));
    start(&server).await;
    assert_eq!(server.verbs()[..2], ["PATCH pods/orphan", "POST pods"]);
}

/// TestPatchPodFails: the sync does nothing else, and is retried.
#[tokio::test(start_paused = true)]
async fn failed_adoption_ends_the_sync() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(2));
    server.put(pod("orphan", false));
    server.interfere(|verb, _| (verb == "PATCH pods/orphan").then(|| failure(500, "InternalError", "no")));
    start(&server).await;
    assert_eq!(server.verbs(), ["PATCH pods/orphan"; 5]);
}

/// The pod is released and replaced in the same sync, even if it was already deleted when it was to
/// be released.
#[rstest]
#[case::there(None)]
#[case::gone(Some(404))]
#[case::not_ours(Some(422))]
#[tokio::test(start_paused = true)]
async fn releases_and_replaces_pod_that_no_longer_matches(#[case] refused: Option<u16>) {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1));
    let mut stray = pod("stray", true);
    stray["metadata"]["labels"] = json!({"app": "other"});
    server.put(stray);
    server.interfere(move |verb, _| {
        let reason = if refused == Some(404) { "NotFound" } else { "Invalid" };
        (verb == "PATCH pods/stray").then(|| refused.map(|code| failure(code, reason, "no"))).flatten()
    });
    start(&server).await;
    let (verb, patch) = server.writes().remove(0);
    assert_eq!(verb, "PATCH pods/stray");
    assert_eq!(patch["metadata"], json!({"uid": "stray", "ownerReferences": [{"$patch": "delete", "uid": "rs"}]}));
    assert_eq!(count(&server, "POST pods"), 1);
}

/// It becomes available at the exact moment, without earlier syncs.
#[tokio::test(start_paused = true)]
async fn pod_becomes_available_exactly_after_min_ready_seconds() {
    let server = Server::granting(Rights::of_replica_sets());
    let mut rs = replica_set(1);
    rs["spec"]["minReadySeconds"] = 10.into();
    server.put(rs);
    let mut ready = pod("a", true);
    ready["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:00:05Z".into();
    server.put(ready);
    start(&server).await;
    assert_eq!(status(&server)["readyReplicas"], 1);
    pass(Duration::from_millis(14_890)).await;
    assert!(status(&server)["availableReplicas"].is_null());
    pass(Duration::from_millis(20)).await;
    assert_eq!(status(&server)["availableReplicas"], 1);
    assert_eq!(count(&server, "PUT"), 2);
}

/// Like TestUpdateStatusWithFailure: after any refusal the status is written once more on the
/// latest ReplicaSet; its observed generation stays the one that was acted upon.
#[rstest]
#[case::once(1, 2)]
#[case::twice(2, 4)]
#[tokio::test(start_paused = true)]
async fn refused_status_is_written_once_more(#[case] refused: i32, #[case] puts: usize) {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(0));
    let left = Mutex::new(refused);
    server.interfere(move |verb, _| {
        let mut left = left.lock().unwrap();
        let hit = verb == "PUT replicasets/web/status" && *left > 0;
        *left -= i32::from(hit);
        hit.then(|| failure(409, "Conflict", "the object has been modified"))
    });
    start(&server).await;
    assert_eq!(status(&server)["observedGeneration"], 1);
    // After two refusals the sync fails, and the next one needs one more request.
    assert_eq!(count(&server, "PUT"), puts.min(3));
    assert!(server.paths().contains(&"GET /apis/apps/v1/namespaces/default/replicasets/web".to_owned()));
}

/// While the cache lacks its own last write, it skips the sync and counts that; then it syncs.
#[tokio::test(start_paused = true)]
async fn skips_syncs_while_caches_are_behind_its_own_writes() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1));
    let (client, settings) = (server.client(), settings(&[ControllerName::ReplicaSet]));
    let metrics = Metrics::default();
    let process = ProcessOptions { metrics: metrics.clone(), ..ProcessOptions::default() };
    tokio::spawn(serve(client, settings, process, std::future::pending()));
    pass(Duration::from_millis(100)).await;
    server.api.watches("replicasets").unwrap().pause();
    let name = names(&server).remove(0);
    let mut ready = server.get(&format!("pods/{name}"));
    ready["status"]["conditions"] = pod(&name, true)["status"]["conditions"].clone();
    server.put(ready.clone());
    pass(Duration::from_millis(100)).await;
    assert_eq!(status(&server)["readyReplicas"], 1, "what it has seen is as new as what it wrote");
    ready["status"]["conditions"][0]["status"] = "False".into();
    server.put(ready);
    pass(Duration::from_secs(10)).await;
    assert_eq!(status(&server)["readyReplicas"], 1, "the status that it wrote has not come back");
    let skips = "replicaset_controller_stale_sync_skips_total{group=\"apps\",resource=\"replicasets\"} ";
    let text = metrics.text();
    let skips: u32 = text.lines().find_map(|line| line.strip_prefix(skips)).unwrap().parse().unwrap();
    assert!(skips > 5, "{skips}");
    server.api.watches("replicasets").unwrap().resume();
    pass(Duration::from_secs(20)).await;
    assert_eq!(status(&server)["readyReplicas"], Value::Null);
    let text = metrics.text();
    assert!(
        text.contains("workqueue_adds_total{name=\"replicaset\"}") && !text.contains("name=\"deployment\""),
        "{text}"
    );
}

/// More than five hundred pods are created in two bursts, the second when the caches show the
/// first.
#[tokio::test(start_paused = true)]
async fn creates_at_most_five_hundred_pods_in_one_burst() {
    let server = Server::granting(Rights::of_replica_sets());
    server.put(replica_set(1200));
    server.api.watches("pods").unwrap().pause();
    start(&server).await;
    pass(Duration::from_secs(10)).await;
    assert_eq!(count(&server, "POST pods"), 500);
    server.api.watches("pods").unwrap().resume();
    pass(Duration::from_secs(60)).await;
    assert_eq!((count(&server, "POST pods"), &status(&server)["replicas"]), (1200, &json!(1200)));
}

/// Both controllers in one process: a Deployment gets pods, rolls out as they become ready, and is
/// deleted.
#[tokio::test(start_paused = true)]
async fn both_controllers_roll_out_a_deployment() {
    let server = Server::granting(Rights::of_both());
    server.put(deployment());
    let (client, settings) = (server.client(), settings(&ControllerName::ALL));
    tokio::spawn(async move { run(client, settings, std::future::pending()).await.unwrap() });
    let ready_all = async || {
        pass(Duration::from_secs(1)).await;
        for mut pod in server.all("pods") {
            pod["spec"]["nodeName"] = "n".into();
            pod["status"]["phase"] = "Running".into();
            pod["status"]["conditions"] =
                json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
            server.put(pod);
        }
        pass(Duration::from_secs(1)).await;
    };
    ready_all().await;
    assert_eq!(server.get("deployments/web")["status"]["availableReplicas"], 3);
    let mut web = server.get("deployments/web");
    web["spec"]["template"] = template("app:2");
    web["metadata"]["generation"] = 2.into();
    server.put(web);
    for _ in 0..4 {
        ready_all().await;
    }
    let web = server.get("deployments/web");
    assert_eq!((&web["status"]["updatedReplicas"], &web["status"]["replicas"]), (&json!(3), &json!(3)));
    let images: Vec<_> = server.all("pods").iter().map(|pod| pod["spec"]["containers"][0]["image"].clone()).collect();
    assert_eq!(images, ["app:2"; 3]);
    assert!(events(&server).iter().any(|event| event.starts_with("SuccessfulDelete ")));
    assert!(events(&server).iter().any(|event| event.starts_with("ScalingReplicaSet ")));
}
