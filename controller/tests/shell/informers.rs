//! Failing watches, in virtual time: changes are still found, and the metrics show the failure.

use std::time::Duration;

use rollout_controller::{Metrics, ProcessOptions, serve};

use crate::server::Server;
use crate::{deployment, end_watches, pass, settings, start_with_metrics};

fn value(metrics: &Metrics, name: &str, labels: &str) -> f64 {
    let (text, name) = (metrics.text(), format!("rollout_controller_informer_{name}{{cache=\"rollout\",{labels}}} "));
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
}

/// Without the right to watch, lists continue twice a minute and no more often, and find new
/// Deployments.
#[tokio::test(start_paused = true)]
async fn lists_go_on_without_the_right_to_watch() {
    let server = Server::default();
    let metrics = start_with_metrics(&server);
    pass(Duration::from_secs(1)).await;
    server.requests().rights.0.retain(|(_, of, verb, _)| of != "deployments" || verb != "watch");
    end_watches(&server);
    pass(Duration::from_secs(120)).await;
    assert_eq!(value(&metrics, "failures_total", "resource=\"replicasets\",verb=\"watch\""), 0.0);
    let failures = value(&metrics, "failures_total", "resource=\"deployments\",verb=\"watch\"");
    assert!((8.0..=20.0).contains(&failures), "{failures} failures in two minutes");

    server.put(deployment());
    let lists = |server: &Server| server.reads().iter().filter(|read| *read == "LIST deployments").count();
    let before = lists(&server);
    pass(Duration::from_secs(35)).await;
    assert_eq!(server.all("replicasets").len(), 1, "found by a list");
    assert!((1..=2).contains(&(lists(&server) - before)), "{before} lists and then {}", lists(&server));
}

/// A server whose lists are older than its watches may begin. The first list follows at once, later
/// ones ever more rarely, and the metrics show why.
#[tokio::test(start_paused = true)]
async fn lists_become_rarer_while_every_watch_has_expired() {
    let server = Server::default();
    let metrics = start_with_metrics(&server);
    pass(Duration::from_secs(10)).await;
    let lists = |server: &Server| server.reads().iter().filter(|read| *read == "LIST deployments").count();
    let failures = || value(&metrics, "failures_total", "resource=\"deployments\",verb=\"watch\"");
    let before = lists(&server);
    server.requests().expires = Some("deployments");
    end_watches(&server);
    pass(Duration::from_millis(50)).await;
    assert_eq!((lists(&server) - before, failures()), (1, 1.0), "one at once, and it has not helped");
    pass(Duration::from_secs(120)).await;
    assert!((8..=20).contains(&(lists(&server) - before)), "{} lists in two minutes", lists(&server) - before);
    assert!((8.0..=20.0).contains(&failures()), "{} failures in two minutes", failures());

    server.requests().expires = None;
    pass(Duration::from_secs(35)).await;
    let (recovered, failed) = (lists(&server), failures());
    server.put(deployment());
    pass(Duration::from_secs(60)).await;
    assert_eq!(server.all("replicasets").len(), 1, "found by a watch");
    assert_eq!((lists(&server), failures()), (recovered, failed));
    end_watches(&server);
    server.put(deployment());
    server.api.forget(server.api.resource_version());
    pass(Duration::from_millis(50)).await;
    assert_eq!((lists(&server), failures()), (recovered + 1, failed), "an ordinary 410 is not a failure");
}

#[tokio::test(start_paused = true)]
async fn metrics_show_the_times_of_the_last_list_and_event() {
    let server = Server::default();
    let metrics = start_with_metrics(&server);
    pass(Duration::from_secs(10)).await;
    let start = 1_767_225_600.0;
    let since = |name: &str| value(&metrics, name, "resource=\"deployments\"") - start;
    assert!((0.0..1.0).contains(&since("last_list_timestamp_seconds")));
    assert_eq!(since("last_event_timestamp_seconds"), -start, "nothing has come yet");
    server.put(deployment());
    pass(Duration::from_secs(10)).await;
    assert!((10.0..12.0).contains(&since("last_event_timestamp_seconds")));
    assert!((0.0..1.0).contains(&since("last_list_timestamp_seconds")));
}

/// A server that sent a bookmark early must send one every 60 s, so 90 s of silence are too long. A
/// server that sends none early gets as long as it may keep a watch open.
#[tokio::test(start_paused = true)]
async fn silent_watch_is_restarted() {
    let server = Server::default();
    tokio::spawn(serve(server.client(), settings(), ProcessOptions::default(), std::future::pending()));
    let watches = |kind: &str| server.reads().iter().filter(|read| **read == format!("WATCH {kind}")).count();
    pass(Duration::from_secs(60)).await;
    server.api.watches("deployments").unwrap().send_bookmarks();
    pass(Duration::from_millis(1)).await;
    // From here on nothing arrives, not even the end of an expired watch.
    for resource in ["deployments", "pods"] {
        server.api.watches(resource).unwrap().pause();
    }
    pass(Duration::from_secs(89)).await;
    assert_eq!((watches("deployments"), watches("pods")), (1, 1));
    pass(Duration::from_secs(2)).await;
    assert_eq!((watches("deployments"), watches("pods")), (2, 1));
    pass(Duration::from_secs(150)).await;
    assert_eq!((watches("deployments"), watches("pods")), (3, 2));
}
