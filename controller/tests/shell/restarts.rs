//! The config-restart controller against a server in this process, in virtual time: requests,
//! events, metrics, refusals.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rollout_controller::{
    ChecksumKeys, Clock, ControllerName, Metrics, ProcessOptions, Profile, RateLimit, RestartSettings, RunError,
    SecretChecksums, Settings, run, serve,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::objects::{deployment_of, object, pod_spec};
use crate::requests::failure;
use crate::rights::Rights;
use crate::server::Server;
use crate::{events, pass};

const ENABLED: &str = "com.xing.deployment-restart";
const CHECKSUMS: &str = "com.xing.deployment-restart.applied-config-checksums";
const WINDOW: &str = "com.xing.deployment-restart.window";

pub(crate) fn config(name: &str, value: &str) -> Value {
    let mut config = object("v1", "ConfigMap", name);
    config["data"] = json!({"colour": value});
    config
}

/// A Secret `s` with this value.
pub(crate) fn secret(pin: &str) -> Value {
    let mut secret = object("v1", "Secret", "s");
    secret["type"] = "Opaque".into();
    secret["data"] = json!({"pin": pin});
    secret
}

/// A workload that uses a ConfigMap.
pub(crate) fn workload(name: &str, config: &str) -> Value {
    let spec = pod_spec(&json!({"envFrom": [{"configMapRef": {"name": config}}]}));
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": spec});
    let mut workload = deployment_of(name, 1, &template);
    workload["metadata"]["annotations"] = json!({ENABLED: "enabled"});
    workload
}

/// The same workload, which also mounts the Secret `s`.
pub(crate) fn mounts(name: &str) -> Value {
    let mut workload = workload(name, "c");
    workload["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "v", "secret": {"secretName": "s", "defaultMode": 0o644}}]);
    workload
}

fn settings(restart: RestartSettings) -> Settings {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    Settings { clock, controllers: [ControllerName::ConfigRestart].into(), restart, ..Settings::default() }
}

fn profile(profile: Profile) -> RestartSettings {
    let keys = ChecksumKeys::new(b"the key of these tests, long enough", None).unwrap();
    let secrets = match profile {
        Profile::Safe => SecretChecksums::Keyed(keys),
        Profile::Xing | Profile::Reloader => SecretChecksums::Unkeyed,
    };
    RestartSettings { profile, secrets, ..RestartSettings::default() }
}

/// Starts it and waits until it is idle.
async fn start(server: &Server, restart: RestartSettings) -> (JoinHandle<Result<(), RunError>>, Metrics) {
    let (client, settings, metrics) = (server.client(), settings(restart), Metrics::new("server"));
    let process = ProcessOptions { metrics: metrics.clone(), ..ProcessOptions::default() };
    let task = tokio::spawn(async move {
        serve(client, settings, process, std::future::pending()).await.map_err(|error| match error {
            rollout_controller::ProcessError::Run(error) => error,
            other => panic!("{other}"),
        })
    });
    pass(Duration::from_millis(600)).await;
    (task, metrics)
}

/// The values of xing's metrics in the order of their table, and of the stuck gauge.
fn numbers(metrics: &Metrics) -> Vec<f64> {
    let text = metrics.text();
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
    };
    let prefix = "deployment_restart_controller";
    let names = [
        "configs_total",
        "deployments_total",
        "deployment_annotation_updates_total",
        "deployment_restarts_total",
        "changes_processed_total",
        "changes_waiting_total",
    ];
    assert!(value(&format!("{prefix}_resource_versions_total")) > 0.0);
    let mut values: Vec<f64> = names.iter().map(|name| value(&format!("{prefix}_{name}"))).collect();
    values.push(value("rollout_controller_config_restart_stuck"));
    values
}

/// Scenarios 2, 9, 68, 69 and 72.
#[tokio::test(start_paused = true)]
async fn change_leads_to_one_patch_and_one_event() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "very-secret-red"));
    server.put(workload("web", "c"));
    let (_task, metrics) = start(&server, profile(Profile::Safe)).await;
    assert_eq!(server.verbs(), ["PATCH deployments/web"]);
    assert_eq!(numbers(&metrics), [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(events(&server), [""; 0], "nothing is recorded of what is only remembered");

    server.put(config("c", "very-secret-blue"));
    pass(Duration::from_secs(1)).await;
    assert_eq!(numbers(&metrics)[5], 1.0);
    pass(Duration::from_secs(10)).await;
    assert_eq!(server.verbs(), ["PATCH deployments/web"; 2]);
    assert_eq!(numbers(&metrics), [1.0, 1.0, 2.0, 1.0, 2.0, 0.0, 0.0]);
    let (_, patch) = server.writes().into_iter().rfind(|(verb, _)| verb.starts_with("PATCH deployments")).unwrap();
    assert!(patch["metadata"]["annotations"][CHECKSUMS].is_string());
    assert!(patch["spec"]["template"]["metadata"]["annotations"].is_object(), "both in one write");
    let recorded = events(&server);
    assert_eq!(recorded.len(), 1, "{recorded:?}");
    assert!(recorded[0].starts_with("ConfigRestart Restarting: ConfigMap c changed (key colour; "), "{recorded:?}");
    let event = server.all("events").remove(0);
    assert_eq!(event["source"]["component"], "config-restart-controller");
    assert_eq!((&event["involvedObject"]["kind"], &event["type"]), (&json!("Deployment"), &json!("Normal")));
    let bodies: String = server.writes().iter().map(|(_, body)| body.to_string()).collect();
    assert!(!bodies.contains("very-secret") && !metrics.text().contains("very-secret"), "no value leaves");
}

/// Scenario 68 in xing's profile: the same numbers.
#[tokio::test(start_paused = true)]
async fn profile_xing_counts_as_xings_controller_does() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    let (_task, metrics) = start(&server, profile(Profile::Xing)).await;
    assert_eq!(numbers(&metrics), [1.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    pass(Duration::from_secs(10)).await;
    assert_eq!(numbers(&metrics)[..6], [1.0, 1.0, 1.0, 0.0, 2.0, 0.0]);
    server.put(config("c", "2"));
    pass(Duration::from_secs(10)).await;
    assert_eq!(numbers(&metrics)[..6], [1.0, 1.0, 2.0, 1.0, 3.0, 0.0]);
    assert_eq!(events(&server), [""; 0], "it records no event");
}

/// Scenario 59 (X6), and 64.
#[tokio::test(start_paused = true)]
async fn failed_write_ends_profile_xing_but_not_safe() {
    for tested in [Profile::Xing, Profile::Safe] {
        let server = Server::granting(Rights::of_restarts());
        server.put(config("c", "1"));
        server.put(workload("web", "c"));
        let (task, metrics) = start(&server, profile(tested)).await;
        pass(Duration::from_secs(10)).await;
        let left = Arc::new(Mutex::new(2));
        server.interfere(move |verb, _| {
            let mut left = left.lock().unwrap();
            let hit = verb.starts_with("PATCH deployments/") && *left > 0;
            *left -= i32::from(hit);
            hit.then(|| failure(500, "InternalError", "admission says no"))
        });
        server.put(config("c", "2"));
        pass(Duration::from_millis(5600)).await;
        if tested == Profile::Safe {
            pass(Duration::from_secs(5)).await;
            assert_eq!(numbers(&metrics)[3], 1.0);
            let recorded = events(&server);
            assert!(recorded.iter().any(|event| event.starts_with("ConfigRestartFailed")), "{recorded:?}");
        } else {
            pass(Duration::from_secs(1)).await;
            let error = task.await.unwrap().unwrap_err().to_string();
            assert!(error.starts_with("Controller terminated: ConfigAgent encountered a fatal error"), "{error}");
        }
    }
}

/// Scenario 60.
#[tokio::test(start_paused = true)]
async fn ignored_error_does_not_end_profile_xing() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    for name in ["a", "b"] {
        server.put(workload(name, "c"));
    }
    let restart = RestartSettings { ignored_errors: vec!["says no".to_owned()], ..profile(Profile::Xing) };
    let (task, metrics) = start(&server, restart).await;
    pass(Duration::from_secs(10)).await;
    server.interfere(|verb, _| {
        (verb == "PATCH deployments/a").then(|| failure(500, "InternalError", "admission says no"))
    });
    server.put(config("c", "2"));
    pass(Duration::from_secs(10)).await;
    assert!(!task.is_finished());
    assert_eq!(numbers(&metrics)[2..4], [4.0, 1.0], "an attempt counts as an update there, and no restart does");
}

/// Scenarios 54 and 56: pending changes are written at once, and a refusal does not delay the
/// shutdown (X8).
#[tokio::test(start_paused = true)]
async fn shutdown_writes_pending_changes() {
    for refuses in [false, true] {
        let server = Server::granting(Rights::of_restarts());
        server.put(workload("web", "c"));
        let (stop, stopped) = oneshot::channel::<()>();
        let (client, settings) = (server.client(), settings(profile(Profile::Xing)));
        let task = tokio::spawn(run(client, settings, async { stopped.await.unwrap() }));
        pass(Duration::from_secs(1)).await;
        server.put(config("c", "1"));
        pass(Duration::from_secs(1)).await;
        server.put(config("c", "2"));
        pass(Duration::from_millis(100)).await;
        server.interfere(move |_, _| refuses.then(|| failure(500, "InternalError", "no")));
        stop.send(()).unwrap();
        pass(Duration::from_secs(1)).await;
        assert_eq!(task.await.unwrap().is_err(), refuses);
        assert_eq!(server.verbs(), ["PATCH deployments/web"]);
    }
}

/// The trigger values written into a workload's template.
fn triggers(server: &Server, workload: &str) -> Vec<Value> {
    let patch = format!("PATCH {workload}");
    let written = server.writes().into_iter().filter(|(verb, _)| *verb == patch);
    written
        .map(|(_, body)| body["spec"]["template"]["metadata"]["annotations"].clone())
        .filter(Value::is_object)
        .collect()
}

/// The restart window of a namespace, with the installed rights, and without the right to read
/// namespaces. It is Thursday.
#[tokio::test(start_paused = true)]
async fn restart_window_of_a_namespace_defers_the_restart() {
    for may_list in [true, false] {
        let mut rights = Rights::of_restarts();
        rights.0.retain(|(_, resource, ..)| may_list || resource != "namespaces");
        let server = Server::granting(rights);
        let metadata = json!({"name": "default", "uid": "default", "annotations": {WINDOW: "Mon 00:00-00:01 UTC"}});
        server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}));
        server.put(config("c", "1"));
        server.put(workload("web", "c"));
        let (_task, metrics) = start(&server, profile(Profile::Safe)).await;
        server.put(config("c", "2"));
        pass(Duration::from_secs(10)).await;
        assert_eq!(triggers(&server, "deployments/web").len(), usize::from(!may_list));
        let pending = format!("rollout_controller_config_restart_pending {}", usize::from(may_list));
        assert!(metrics.text().contains(&pending), "{}", metrics.text());
        let recorded = events(&server);
        let is_pending = recorded.iter().any(|event| event.starts_with("ConfigRestartPending"));
        assert_eq!(is_pending, may_list, "{recorded:?}");
    }
}

/// Scenario 58: a new leader that takes over within the grace period misses no change, and restarts
/// once.
#[tokio::test(start_paused = true)]
async fn new_leader_restarts_once_for_a_change_before_it() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    let (task, _) = start(&server, profile(Profile::Safe)).await;
    server.put(config("c", "2"));
    pass(Duration::from_secs(2)).await;
    assert_eq!(triggers(&server, "deployments/web"), Vec::<Value>::new());
    task.abort();
    let (_next, _) = start(&server, profile(Profile::Safe)).await;
    pass(Duration::from_secs(30)).await;
    assert_eq!(triggers(&server, "deployments/web").len(), 1);
}

/// Scenario 58: two simultaneous leaders write the same trigger, so the workload rolls out once.
#[tokio::test(start_paused = true)]
async fn two_leaders_write_the_same_trigger() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    let (_one, _) = start(&server, profile(Profile::Safe)).await;
    let (_two, _) = start(&server, profile(Profile::Safe)).await;
    server.put(config("c", "2"));
    pass(Duration::from_secs(30)).await;
    let written = triggers(&server, "deployments/web");
    assert!(!written.is_empty() && written.iter().all(|trigger| *trigger == written[0]), "{written:?}");
}

/// Without the right to read Secrets, workloads that use none are still handled.
#[tokio::test(start_paused = true)]
async fn forbidden_secrets_do_not_block_other_workloads() {
    let server = Server::granting(Rights::of_restarts());
    server.requests().rights.0.retain(|(_, of, ..)| of != "secrets");
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    let mut other = mounts("other");
    let remembered = r#""secret/default/s":"hmac-sha256:ec8c24c5:0000000000000000""#;
    other["metadata"]["annotations"][CHECKSUMS] = format!("{{{remembered}}}").into();
    server.put(other);
    let (task, metrics) = start(&server, profile(Profile::Safe)).await;
    server.put(config("c", "2"));
    pass(Duration::from_secs(10)).await;
    assert_eq!(numbers(&metrics)[3], 2.0);
    let applied = server.get("deployments/other")["metadata"]["annotations"][CHECKSUMS].as_str().unwrap().to_owned();
    assert!(applied.contains(remembered), "{applied}");
    assert!(metrics.text().contains("rollout_controller_config_restart_forbidden_kinds 1"));
    assert!(!task.is_finished());
}

/// A kind that may be listed later counts as forbidden until then: a config, a workload and the
/// namespaces.
#[tokio::test(start_paused = true)]
async fn forbidden_kinds_end_with_their_first_list() {
    let forbidden = ["configmaps", "statefulsets", "namespaces"];
    let server = Server::granting(Rights::of_restarts());
    server.requests().rights.0.retain(|(_, of, ..)| !forbidden.contains(&of.as_str()));
    let (_task, metrics) = start(&server, profile(Profile::Safe)).await;
    assert!(metrics.text().contains("rollout_controller_config_restart_forbidden_kinds 3"));
    server.requests().rights = Rights::of_restarts();
    pass(Duration::from_secs(30)).await;
    assert!(metrics.text().contains("rollout_controller_config_restart_forbidden_kinds 0"));
}

/// A defect in a write is not hidden: the process ends, and another one takes over.
#[tokio::test(start_paused = true)]
async fn panic_of_a_write_ends_the_controller() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    server.interfere(|verb, _| {
        assert!(!verb.starts_with("PATCH deployments/"), "a defect");
        None
    });
    let (task, _) = start(&server, profile(Profile::Safe)).await;
    pass(Duration::from_secs(10)).await;
    assert!(task.is_finished());
    let error = task.await.unwrap().unwrap_err();
    assert!(matches!(&error, RunError::Task(why) if why.contains("panicked")), "{error}");
}

/// Only one annotation has the checksum, keyed; no other write, event or metric has it.
#[tokio::test(start_paused = true)]
async fn only_the_annotation_contains_a_secrets_checksum() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(secret("NDkzODE3"));
    server.put(mounts("web"));
    let (_task, metrics) = start(&server, profile(Profile::Safe)).await;
    server.put(secret("MDAwMDAx"));
    pass(Duration::from_secs(10)).await;
    assert_eq!(events(&server), ["ConfigRestart Restarting: Secret s changed (key pin)"]);
    let mut written = server.writes();
    let mut checksums = Vec::new();
    for (_, body) in &mut written {
        let Some(annotation) = body.pointer_mut(&format!("/metadata/annotations/{CHECKSUMS}")) else { continue };
        let applied: Value = serde_json::from_str(annotation.take().as_str().unwrap()).unwrap();
        checksums.push(applied["secret/default/s"].as_str().unwrap().to_owned());
    }
    assert_eq!(checksums.len(), 2, "{checksums:?}");
    assert!(checksums.iter().all(|checksum| checksum.starts_with("hmac-sha256:ec8c24c5:")), "{checksums:?}");
    let others: String = written.iter().map(|(_, body)| body.to_string()).chain([metrics.text()]).collect();
    // Unkeyed, as in xing's controller.
    let plain = ["a788ed0012e95e75", "ea91f6819069c70d"];
    let leaks: Vec<_> = [plain[0], plain[1], "hmac-sha256", &checksums[0][21..], &checksums[1][21..]]
        .into_iter()
        .filter(|checksum| others.contains(checksum))
        .collect();
    assert_eq!(leaks, [""; 0]);
    assert!(!plain.iter().any(|plain| server.get("deployments/web").to_string().contains(plain)));
}

/// Without a key the controller does not follow Secrets, and does not read them.
#[tokio::test(start_paused = true)]
async fn reads_no_secret_without_a_key() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(secret("NDkzODE3"));
    server.put(mounts("web"));
    let restart = RestartSettings { secrets: SecretChecksums::None, ..profile(Profile::Safe) };
    let (_task, metrics) = start(&server, restart).await;
    server.put(config("c", "2"));
    pass(Duration::from_secs(10)).await;
    assert_eq!(numbers(&metrics)[..4], [1.0, 1.0, 2.0, 1.0]);
    assert!(!server.paths().iter().any(|path| path.contains("secrets")), "{:?}", server.paths());
    let applied = server.get("deployments/web")["metadata"]["annotations"][CHECKSUMS].to_string();
    assert!(applied.contains("configmap/default/c") && !applied.contains("secret/"), "{applied}");
}

/// Creates 1,000 configs and 200 workloads, of which 50 share the first config.
pub(crate) fn fill(server: &Server, config: fn(&str, &str) -> Value, workload: fn(&str, &str) -> Value) {
    for n in 0..1000 {
        server.put(config(&format!("c{n}"), "1"));
    }
    for n in 0..200 {
        let used = if n < 50 { "c0".to_owned() } else { format!("c{n}") };
        server.put(workload(&format!("w{n}"), &used));
    }
}

/// Scenario 74: 1,000 configs, 200 workloads, one config that 50 of them share.
#[tokio::test(start_paused = true)]
async fn change_of_a_shared_config_patches_its_workloads_only() {
    let server = Server::granting(Rights::of_restarts());
    fill(&server, config, workload);
    let (_task, metrics) = start(&server, profile(Profile::Safe)).await;
    pass(Duration::from_secs(5)).await;
    assert_eq!(server.verbs().len(), 200, "each is remembered once");
    server.put(config("c0", "2"));
    pass(Duration::from_secs(30)).await;
    assert_eq!(server.verbs().len(), 250);
    assert_eq!(numbers(&metrics)[..4], [1000.0, 200.0, 250.0, 50.0]);
    assert_eq!(server.all("events").len(), 50);
}

/// The rate limit delays writes and changes nothing else.
#[tokio::test(start_paused = true)]
async fn rate_limit_only_delays_writes() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    for n in 0..20 {
        server.put(workload(&format!("w{n}"), "c"));
    }
    let limited = Settings { rate_limit: Some(RateLimit { qps: 5.0, burst: 1 }), ..settings(profile(Profile::Safe)) };
    let (client, task) = (server.client(), std::future::pending());
    let task = tokio::spawn(run(client, limited, task));
    pass(Duration::from_secs(10)).await;
    assert_eq!(server.verbs().len(), 20);
    task.abort();
}
