//! Profile `reloader` against a server in this process: requests that timelines do not show, and
//! migration reports.

use std::time::Duration;

use rollout_controller::restart::MigrationSource;
use rollout_controller::{
    ChecksumKeys, Clock, ControllerName, Profile, ReloaderSettings, RestartSettings, SecretChecksums, Settings,
    migrate, run,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::objects::{object, pod_spec};
use crate::requests::failure;
use crate::restarts::{config, mounts, secret, workload};
use crate::rights::Rights;
use crate::server::Server;
use crate::{events, pass};

const AUTO: &str = "reloader.stakater.com/auto";

fn settings(profile: Profile, flags: &[&str]) -> Settings {
    let keys = ChecksumKeys::new(b"the key of these tests, long enough", None).unwrap();
    let secrets = match profile {
        Profile::Safe => SecretChecksums::Keyed(keys),
        Profile::Xing | Profile::Reloader => SecretChecksums::Unkeyed,
    };
    let reloader = ReloaderSettings::from_flags(flags.iter().copied()).unwrap();
    let restart = RestartSettings { profile, secrets, reloader, ..RestartSettings::default() };
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    Settings { clock, controllers: [ControllerName::ConfigRestart].into(), restart, ..Settings::default() }
}

async fn start(server: &Server, flags: &[&str]) -> JoinHandle<()> {
    let (client, settings) = (server.client(), settings(Profile::Reloader, flags));
    let task = tokio::spawn(async move { run(client, settings, std::future::pending()).await.unwrap() });
    pass(Duration::from_millis(100)).await;
    task
}

fn pods() -> Value {
    let mut spec = pod_spec(&json!({"envFrom": [{"configMapRef": {"name": "c"}}]}));
    spec["restartPolicy"] = "Never".into();
    spec
}

fn job() -> Value {
    let mut job = object("batch/v1", "Job", "load");
    job["metadata"]["annotations"] = json!({AUTO: "true"});
    let labels = json!({"controller-uid": "load", "batch.kubernetes.io/controller-uid": "load", "job-name": "load"});
    job["spec"] = json!({
        "parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "load"}},
        "template": {"metadata": {"labels": labels}, "spec": pods()},
    });
    job
}

fn cron_job() -> Value {
    let mut cron_job = object("batch/v1", "CronJob", "backup");
    cron_job["metadata"]["annotations"] = json!({AUTO: "true"});
    cron_job["spec"] = json!({
        "schedule": "0 4 * * *", "concurrencyPolicy": "Allow", "suspend": false,
        "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
        "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"metadata": {}, "spec": pods()}}},
    });
    cron_job
}

fn variable(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]["containers"][0]["env"]
}

#[tokio::test(start_paused = true)]
async fn change_creates_a_job_from_a_cron_job_and_recreates_a_job() {
    let server = Server::granting(Rights::of_reloader());
    server.put(config("c", "red"));
    server.put(job());
    server.put(cron_job());
    let _task = start(&server, &[]).await;
    assert_eq!(server.verbs(), [""; 0], "existing configs do not count as changes");
    server.put(config("c", "blue"));
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.verbs(), ["POST jobs", "DELETE jobs/load", "POST jobs"]);
    let jobs = server.all("jobs");
    assert_eq!(jobs.len(), 2);
    for job in &jobs {
        assert_eq!(variable(job)[0]["name"], "STAKATER_C_CONFIGMAP", "{job}");
        assert_eq!(variable(job)[0]["value"].as_str().unwrap().len(), 40);
    }
    let made = jobs.iter().find(|job| job["metadata"]["name"] != "load").unwrap();
    assert_eq!(made["metadata"]["ownerReferences"][0]["name"], "backup");
    assert_ne!(server.get("jobs/load")["metadata"]["uid"], "load");
    assert_eq!(events(&server).len(), 2, "{:?}", events(&server));
}

#[tokio::test(start_paused = true)]
async fn ignored_workload_types_are_neither_watched_nor_restarted() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "red"));
    server.put(job());
    let _task = start(&server, &["--ignored-workload-types=jobs,cronjobs"]).await;
    server.put(config("c", "blue"));
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.verbs(), [""; 0]);
    assert!(!server.reads().iter().any(|read| read.contains("jobs")), "{:?}", server.reads());
}

/// The kind of Argo Rollouts.
fn rollouts() -> Value {
    let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "rollouts.argoproj.io");
    definition["metadata"].as_object_mut().unwrap().remove("namespace");
    definition["spec"] = json!({
        "group": "argoproj.io",
        "scope": "Namespaced",
        "names": {"kind": "Rollout", "listKind": "RolloutList", "plural": "rollouts", "singular": "rollout"},
        "versions": [{
            "name": "v1alpha1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        }],
    });
    definition
}

fn rollout(name: &str, annotations: Value) -> Value {
    let mut rollout = object("argoproj.io/v1alpha1", "Rollout", name);
    rollout["metadata"]["annotations"] = annotations;
    let side = json!({"name": "side", "image": "side:1", "env": [{"name": "A", "value": "b"}]});
    let app = json!({"name": "app", "image": "app:1", "envFrom": [{"configMapRef": {"name": "c"}}]});
    rollout["spec"] = json!({"replicas": 1, "template": {"metadata": {}, "spec": {"containers": [side, app]}}});
    rollout
}

const ROLLOUTS: &str = "--is-Argo-Rollouts=true";

/// A patch replaces the whole list of containers, so after another client's write the controller
/// must read the Rollout again.
#[tokio::test(start_paused = true)]
async fn restarted_rollout_keeps_its_containers() {
    let server = Server::granting(Rights::of_reloader_with_rollouts());
    server.put(rollouts());
    server.put(config("c", "red"));
    server.put(rollout("web", json!({AUTO: "true"})));
    server.put(rollout("api", json!({AUTO: "true", "reloader.stakater.com/rollout-strategy": "restart"})));
    let _task = start(&server, &[ROLLOUTS]).await;
    let mut conflicts = 2;
    server.interfere(move |operation, _| {
        let is_first = operation == "PATCH rollouts/web" && conflicts > 0;
        conflicts -= i32::from(is_first);
        is_first.then(|| failure(409, "Conflict", "it has been modified"))
    });
    server.put(config("c", "blue"));
    pass(Duration::from_secs(1)).await;
    let patches = ["PATCH rollouts/api", "PATCH rollouts/web", "PATCH rollouts/web", "PATCH rollouts/web"];
    assert_eq!(server.verbs(), patches);
    let containers = server.get("rollouts/web")["spec"]["template"]["spec"]["containers"].clone();
    assert_eq!(containers[0], json!({"name": "side", "image": "side:1", "env": [{"name": "A", "value": "b"}]}));
    assert_eq!(containers[1]["env"][0]["name"], "STAKATER_C_CONFIGMAP");
    assert_eq!(containers[1]["envFrom"][0]["configMapRef"]["name"], "c");
    let api = server.get("rollouts/api");
    assert_eq!(api["spec"]["restartAt"], "2026-01-01T00:00:00Z");
    assert_eq!(api["spec"]["template"]["spec"]["containers"][1]["env"], Value::Null);
    let versions: Vec<_> =
        server.all("events").iter().map(|event| event["involvedObject"]["apiVersion"].clone()).collect();
    assert_eq!(versions, ["argoproj.io/v1alpha1", "argoproj.io/v1alpha1"]);
}

/// Other workloads are restarted at once, and Rollouts as soon as the cluster serves the kind.
#[tokio::test(start_paused = true)]
async fn rollouts_restart_once_the_cluster_serves_them() {
    let server = Server::granting(Rights::of_reloader_with_rollouts());
    server.put(config("c", "red"));
    let mut web = workload("web", "c");
    web["metadata"]["annotations"] = json!({AUTO: "true"});
    server.put(web);
    let _task = start(&server, &[ROLLOUTS]).await;
    server.put(config("c", "blue"));
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.verbs(), ["PATCH deployments/web"]);
    server.put(rollouts());
    server.put(rollout("late", json!({AUTO: "true"})));
    pass(Duration::from_secs(60)).await;
    server.put(config("c", "green"));
    pass(Duration::from_secs(1)).await;
    assert_eq!(server.verbs(), ["PATCH deployments/web", "PATCH deployments/web", "PATCH rollouts/late"]);
}

/// Reloader handles Rollouts only with its flag, and so does this controller.
#[tokio::test(start_paused = true)]
async fn migration_report_covers_rollouts() {
    let server = cluster();
    server.requests().rights = Rights::of_reloader_with_rollouts();
    let text = report(&server, settings(Profile::Safe, &[ROLLOUTS]), MigrationSource::Reloader).await;
    assert!(text.contains("Not read: rollouts, which the cluster does not have"), "{text}");
    server.put(rollouts());
    server.put(rollout("late", json!({AUTO: "true"})));
    let text = report(&server, settings(Profile::Reloader, &[ROLLOUTS]), MigrationSource::Reloader).await;
    assert!(text.starts_with("From Reloader to profile reloader: 5 workloads."), "{text}");
    assert!(text.contains("rollout/default/late\n  restarted for   configmap/c\n\n"), "{text}");
    let text = report(&server, settings(Profile::Safe, &[ROLLOUTS]), MigrationSource::Reloader).await;
    let lacks = "rollout/default/late\n  restarted for   nothing\n  no equivalent   a Rollout is not restarted\n";
    assert!(text.contains(lacks), "{text}");
    let text = report(&server, settings(Profile::Reloader, &[]), MigrationSource::Reloader).await;
    assert!(!text.contains("rollout/"), "{text}");
}

/// A cluster with annotations as in Reloader's own manifests.
fn cluster() -> Server {
    let server = Server::granting(Rights::of_reloader());
    server.put(config("c", "red"));
    server.put(config("other", "red"));
    server.put(secret("MQ=="));
    let annotated = |mut workload: Value, annotations: Value| {
        workload["metadata"]["annotations"] = annotations;
        workload
    };
    server.put(annotated(mounts("auto"), json!({AUTO: "true"})));
    server.put(annotated(mounts("named"), json!({"secret.reloader.stakater.com/reload": "s, other"})));
    let list = json!({"configmap.reloader.stakater.com/reload": "other,c", "deployment.reloader.stakater.com/pause-period": "1m"});
    server.put(annotated(workload("list", "c"), list));
    server.put(annotated(workload("silent", "c"), json!({})));
    server.put(cron_job());
    server
}

async fn report(server: &Server, settings: Settings, from: MigrationSource) -> String {
    let migration = migrate(server.client(), settings, from).await.unwrap();
    assert_eq!(server.verbs(), [""; 0], "nothing is written");
    migration.to_string()
}

/// No container mounts the Secret's volume, which Reloader does not count as use.
#[tokio::test(start_paused = true)]
async fn reports_migration_from_reloader_to_profile_safe() {
    let text = report(&cluster(), settings(Profile::Safe, &[]), MigrationSource::Reloader).await;
    let expected = "\
From Reloader to profile safe: 4 workloads.

deployment/default/auto
  restarted for   configmap/c
  annotate        com.xing.deployment-restart=enabled
  annotate        com.xing.deployment-restart.ignore=secret/s

deployment/default/list
  restarted for   configmap/c
  annotate        com.xing.deployment-restart=enabled
  no equivalent   configmap/other is named, and the pods do not use it
  no equivalent   a pause period: changes are gathered before the restart instead, for 5 s

deployment/default/named
  restarted for   secret/s
  annotate        com.xing.deployment-restart=enabled
  annotate        com.xing.deployment-restart.ignore=configmap/c

cronjob/default/backup
  restarted for   nothing
  no equivalent   a CronJob is not restarted

Taking over restarts nothing: with these annotations the controller would change no pod template.
";
    assert_eq!(text, expected);
}

#[tokio::test(start_paused = true)]
async fn reports_migration_from_reloader_to_profile_reloader() {
    let text = report(&cluster(), settings(Profile::Reloader, &[]), MigrationSource::Reloader).await;
    assert!(text.starts_with("From Reloader to profile reloader: 4 workloads."), "{text}");
    assert!(text.contains("cronjob/default/backup\n  restarted for   configmap/c\n"), "{text}");
    assert!(!text.contains("annotate") && text.contains("Taking over restarts nothing"), "{text}");
    let text =
        report(&cluster(), settings(Profile::Reloader, &["--webhook-url=http://x"]), MigrationSource::Reloader).await;
    assert_eq!(text.matches("restarted for   nothing").count(), 4, "changes are reported and restart nothing: {text}");
    let text =
        report(&cluster(), settings(Profile::Safe, &["--webhook-url=http://x"]), MigrationSource::Reloader).await;
    assert_eq!(text.matches("a webhook in place of restarts").count(), 3, "{text}");
    let flags = ["--reload-on-create=true", "--sync-after-restart=true"];
    let text = report(&cluster(), settings(Profile::Reloader, &flags), MigrationSource::Reloader).await;
    assert!(text.contains("Taking over restarts 4 workloads:"), "its start counts as a change of everything: {text}");
}

#[tokio::test(start_paused = true)]
async fn reports_migration_from_xing() {
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "red"));
    server.put(workload("web", "c"));
    let mut missed = workload("missed", "c");
    missed["metadata"]["annotations"]["com.xing.deployment-restart.applied-config-checksums"] =
        r#"{"configmap/default/c":"0000000000000000"}"#.into();
    server.put(missed);
    let text = report(&server, settings(Profile::Safe, &[]), MigrationSource::Xing).await;
    assert!(text.starts_with("From xing's controller to profile safe: 2 workloads."), "{text}");
    assert!(
        text.contains("Taking over restarts 1 workload:\n  deployment/default/missed for configmap/default/c"),
        "{text}"
    );
}

/// The report names the kinds that it lacks the rights to list.
#[tokio::test(start_paused = true)]
async fn migration_report_names_kinds_that_may_not_be_listed() {
    let server = Server::granting(Rights::of_restarts());
    let text = report(&server, settings(Profile::Safe, &[]), MigrationSource::Reloader).await;
    assert!(text.contains("Not read: cronjobs, which may not be listed"), "{text}");
}
