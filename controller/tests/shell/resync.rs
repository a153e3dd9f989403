//! No key is lost, in virtual time: retries continue at the longest interval, and a resync
//! reconciles everything periodically.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rollout_controller::{Clock, Settings, plan, run_with};

use crate::requests::failure;
use crate::server::Server;
use crate::{deployment, pass, start};

/// After fifteen retries in 164 s upstream drops the Deployment, which would have no ReplicaSet
/// until the next change.
#[tokio::test(start_paused = true)]
async fn retries_after_the_longest_wait_when_all_retries_failed() {
    let server = Server::default();
    server.put(deployment());
    server.interfere(|verb, _| (verb == "POST replicasets").then(|| failure(403, "Forbidden", "denied by a webhook")));
    start(&server).await;
    let tries = || server.verbs().iter().filter(|verb| *verb == "POST replicasets").count();
    pass(Duration::from_secs(240)).await;
    assert_eq!(tries(), 16);
    server.interfere(|_, _| None);
    pass(Duration::from_secs(900)).await;
    assert_eq!((tries(), server.all("replicasets").len()), (16, 0));
    pass(Duration::from_secs(100)).await;
    assert_eq!((tries(), server.all("replicasets").len()), (17, 1));
}

#[tokio::test(start_paused = true)]
async fn resync_period_reconciles_everything_again() {
    let server = Server::default();
    server.put(deployment());
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let settings = Settings { clock, resync_period: Some(Duration::from_secs(3600)), ..Settings::default() };
    let reconciles = Arc::new(AtomicUsize::new(0));
    let counted = reconciles.clone();
    let planner = Arc::new(move |observed: &_, now, settings: &_| {
        counted.fetch_add(1, Ordering::Relaxed);
        plan(observed, now, settings)
    });
    let client = server.client();
    tokio::spawn(async move { run_with(client, settings, planner, std::future::pending()).await.unwrap() });
    pass(Duration::from_secs(3590)).await;
    let before = reconciles.load(Ordering::Relaxed);
    let writes = server.writes().len();
    pass(Duration::from_secs(20)).await;
    assert_eq!(reconciles.load(Ordering::Relaxed), before + 1);
    pass(Duration::from_secs(3600)).await;
    assert_eq!(reconciles.load(Ordering::Relaxed), before + 2);
    assert_eq!(server.writes().len(), writes, "and nothing is written where nothing is to be done");
}
