//! No key is lost, in virtual time: what failed too often is tried again, and everything is looked
//! at again now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rollout_controller::{Clock, Settings, plan, run_with};

use crate::requests::failure;
use crate::server::Server;
use crate::{deployment, pass, start};

/// Fifteen retries take 164 s, and then upstream has dropped the Deployment: it would have no
/// ReplicaSet until somebody changes it.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_outlasts_the_retries_is_got_over() {
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
async fn everything_is_looked_at_again() {
    let server = Server::default();
    server.put(deployment());
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let settings = Settings { clock, resync_period: Some(Duration::from_secs(3600)), ..Settings::default() };
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    let planner = Arc::new(move |observed: &_, now, settings: &_| {
        counted.fetch_add(1, Ordering::Relaxed);
        plan(observed, now, settings)
    });
    let client = server.client();
    tokio::spawn(async move { run_with(client, settings, planner, std::future::pending()).await.unwrap() });
    pass(Duration::from_secs(3590)).await;
    let before = looks.load(Ordering::Relaxed);
    let writes = server.writes().len();
    pass(Duration::from_secs(20)).await;
    assert_eq!(looks.load(Ordering::Relaxed), before + 1);
    pass(Duration::from_secs(3600)).await;
    assert_eq!(looks.load(Ordering::Relaxed), before + 2);
    assert_eq!(server.writes().len(), writes, "and nothing is written where nothing is to be done");
}
