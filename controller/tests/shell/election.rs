//! Several processes and one lease, in virtual time.

use std::time::Duration;

use rollout_controller::{Clock, Election, Metrics, ProcessError, ProcessOptions, Settings, serve};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::objects::lease;
use crate::requests::failure;
use crate::server::Server;
use crate::{deployment, pass};

const LEASE: &str = "leases/rollout-controller";

/// A process with its own identity.
struct Replica {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ProcessError>>,
    metrics: Metrics,
}

impl Replica {
    fn start(server: &Server, identity: &str) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let metrics = Metrics::default();
        let election = Some(Election::new("default", "rollout-controller", identity));
        let process = ProcessOptions { election, metrics: metrics.clone(), ..ProcessOptions::default() };
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let client = server.client();
        let shutdown = async { stopped.await.unwrap() };
        let task = tokio::spawn(serve(client, Settings { clock, ..Settings::default() }, process, shutdown));
        Self { stop, task, metrics }
    }

    fn leads(&self) -> bool {
        self.metrics.text().contains("leader_election_master_status{name=\"rollout-controller\"} 1\n")
    }
}

async fn seconds(seconds: f64) {
    pass(Duration::from_secs_f64(seconds)).await;
}

fn holder(server: &Server) -> String {
    server.get(LEASE)["spec"]["holderIdentity"].as_str().unwrap().to_owned()
}

/// Starts two processes, of which the first leads.
async fn start_two(server: &Server) -> (Replica, Replica) {
    let first = Replica::start(server, "first");
    seconds(1.0).await;
    let second = Replica::start(server, "second");
    seconds(1.0).await;
    assert!(first.leads() && !second.leads());
    (first, second)
}

/// How many ReplicaSets have been created.
fn creations(server: &Server) -> usize {
    server.verbs().iter().filter(|verb| *verb == "POST replicasets").count()
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_of_two_acts() {
    let server = Server::default();
    server.put(deployment());
    let (first, second) = start_two(&server).await;
    seconds(60.0).await;
    assert!(first.leads() && !second.leads());
    assert_eq!((holder(&server).as_str(), creations(&server)), ("first", 1));
    assert_eq!(server.get(LEASE)["spec"]["leaseTransitions"], 0);
    // After discovery, the lists and a read of the lease: each takes two milliseconds.
    assert_eq!(server.get(LEASE)["spec"]["acquireTime"], "2026-01-01T00:00:00.006000Z");
    let renewals = server.verbs().iter().filter(|verb| verb.starts_with("PUT leases/")).count();
    assert!((29..=31).contains(&renewals), "every two seconds, not {renewals} times");
}

/// A killed leader does not release its lease. The standby waits until the lease has expired, and
/// then acts on the changes in between.
#[tokio::test(start_paused = true)]
async fn standby_takes_over_when_the_lease_expires() {
    let server = Server::default();
    let (first, second) = start_two(&server).await;
    seconds(60.0).await;
    first.task.abort();
    let lists = server.reads().len();
    server.put(deployment());
    seconds(12.9).await;
    assert_eq!(
        (holder(&server).as_str(), creations(&server)),
        ("first", 0),
        "it renewed at most two seconds before its end"
    );
    seconds(6.5).await;
    assert!(second.leads());
    assert_eq!((holder(&server).as_str(), creations(&server)), ("second", 1));
    assert_eq!(server.get(LEASE)["spec"]["leaseTransitions"], 1);
    assert_eq!(server.reads().len(), lists, "its caches were warm");
}

#[tokio::test(start_paused = true)]
async fn stopped_leader_finishes_its_work_and_releases_the_lease() {
    let server = Server::default();
    let (first, second) = start_two(&server).await;
    server.put(deployment());
    seconds(0.01).await;
    first.stop.send(()).unwrap();
    first.task.await.unwrap().unwrap();
    let (verb, lease) = server.writes().pop().unwrap();
    assert_eq!(verb, format!("PUT {LEASE}"), "after all other writes");
    // Two milliseconds after the stop it has read the lease once more.
    let given_back = json!({
        "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0,
        "acquireTime": "2026-01-01T00:00:02.012000Z", "renewTime": "2026-01-01T00:00:02.012000Z",
    });
    assert_eq!(lease["spec"], given_back);
    assert!(!server.all("events").is_empty(), "pending events have been written");
    seconds(4.5).await;
    assert!(second.leads());
    assert_eq!(creations(&server), 1);
}

#[tokio::test(start_paused = true)]
async fn stopped_standby_leaves_the_lease_unchanged() {
    let server = Server::default();
    let (_first, second) = start_two(&server).await;
    seconds(0.5).await;
    let before = server.get(LEASE);
    second.stop.send(()).unwrap();
    second.task.await.unwrap().unwrap();
    assert_eq!(server.get(LEASE), before);
}

/// A process that is stopped while it creates the lease cannot know whether it holds it, because
/// the response never arrived.
#[tokio::test(start_paused = true)]
async fn releases_a_lease_whose_creation_was_not_answered() {
    let server = Server::default();
    server.requests().hangs = Some("POST leases");
    let replica = Replica::start(&server, "me");
    seconds(1.0).await;
    let spec = json!({"holderIdentity": "me", "leaseDurationSeconds": 15});
    server.put(lease(&spec));
    replica.stop.send(()).unwrap();
    replica.task.await.unwrap().unwrap();
    assert_eq!(holder(&server), "");
}

/// It exits before another process could consider the lease expired.
#[tokio::test(start_paused = true)]
async fn leader_that_cannot_renew_exits() {
    let server = Server::default();
    server.put(deployment());
    let (first, second) = start_two(&server).await;
    server.interfere(|verb, _| verb.contains("leases").then(|| failure(500, "InternalError", "no")));
    seconds(9.9).await;
    assert!(!first.task.is_finished());
    seconds(2.2).await;
    let error = first.task.await.unwrap().unwrap_err();
    assert!(matches!(error, ProcessError::Lost { .. }));
    assert!(error.to_string().starts_with("leaderelection lost: lease default/rollout-controller: "), "{error}");
    assert!(!second.leads());
    let before = server.verbs();
    server.put({
        let mut web = server.get("deployments/web");
        web["spec"]["replicas"] = 9.into();
        web
    });
    seconds(1.0).await;
    assert_eq!(server.verbs(), before, "it does nothing more");
}

/// One hanging request does not lose the lease; the next attempt may work.
#[tokio::test(start_paused = true)]
async fn leader_survives_single_failures() {
    let server = Server::default();
    let (first, _second) = start_two(&server).await;
    let mut left = 3;
    server.interfere(move |verb, _| {
        left -= i32::from(verb.contains("leases"));
        (verb.contains("leases") && left >= 0).then(|| failure(500, "InternalError", "no"))
    });
    seconds(60.0).await;
    assert!(first.leads());
}

/// Another process overwrote the lease. A leader that kept trying for ten seconds would act
/// concurrently with the new holder.
#[tokio::test(start_paused = true)]
async fn leader_exits_when_another_takes_its_lease() {
    let server = Server::default();
    let (first, _second) = start_two(&server).await;
    let mut lease = server.get(LEASE);
    lease["spec"]["holderIdentity"] = "usurper".into();
    server.put(lease);
    seconds(2.1).await;
    let error = first.task.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("usurper has taken it"), "{error}");
    assert_eq!(holder(&server), "usurper");
}

/// The times in a lease come from another machine's clock, so its age counts from when this process
/// first observed it.
#[tokio::test(start_paused = true)]
async fn lease_age_counts_from_the_first_observation() {
    let server = Server::default();
    let spec =
        json!({"holderIdentity": "gone", "leaseDurationSeconds": 15, "renewTime": "1999-01-01T00:00:00.000000Z"});
    let mut expired = lease(&spec);
    expired["metadata"]["labels"] = json!({"kept": "yes"});
    server.put(expired);
    let replica = Replica::start(&server, "me");
    seconds(14.9).await;
    assert!(!replica.leads());
    seconds(0.2).await;
    assert!(replica.leads());
    assert_eq!(server.get(LEASE)["metadata"]["labels"], json!({"kept": "yes"}));
}

/// A lease without a holder, and one that is deleted while it is held.
#[tokio::test(start_paused = true)]
async fn acquires_an_empty_lease_and_recreates_a_deleted_one() {
    let server = Server::default();
    server.put(lease(&json!({})));
    let replica = Replica::start(&server, "me");
    seconds(0.1).await;
    assert!(replica.leads());
    server.api.storage("leases").unwrap().remove("default", "rollout-controller").unwrap();
    seconds(60.0).await;
    assert!(replica.leads());
    assert_eq!(holder(&server), "me");
    assert_ne!(server.get(LEASE)["spec"]["renewTime"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn replica_without_caches_does_not_acquire_the_lease() {
    let server = Server::default();
    server.requests().refuses_lists = true;
    let replica = Replica::start(&server, "blind");
    seconds(30.0).await;
    assert!(!replica.leads());
    assert_eq!(server.get(LEASE), Value::Null);
    server.requests().refuses_lists = false;
    seconds(31.0).await;
    assert!(replica.leads());
}
