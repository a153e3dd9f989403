//! Tests of profile `reloader`: which container and which annotations, and what happens when a
//! change fails.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a reference before each")]

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use crate::engines::reloader::matching::ConfigChange;
use crate::engines::reloader::pause::PauseAction;
use crate::engines::reloader::plan;
use crate::engines::reloader::plan::{ObservedChange, PlannedReload, ReloadDecision};
use crate::engines::reloader::queue::ReloadAction;
use crate::engines::reloader::strategy::TemplateChange;
use crate::engines::work::{WorkAction, WriteOutcome};
use crate::model::config::ConfigObject;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName, WorkloadKind};
use crate::settings::ReloaderSettings;
use crate::{Profile, RestartReconciler, RestartSettings, SecretChecksums};

const CHECKSUM: &str = "e5eb05bb23136deb5962f9004ae449e74f7e0547";

fn change(config: &str, marks: &[&str]) -> ConfigChange {
    let (kind, name) = config.split_once('/').unwrap();
    let kind = if kind == "secret" { ConfigKind::Secret } else { ConfigKind::ConfigMap };
    let config = ConfigName { kind, namespace: "ns".to_owned(), name: name.to_owned() };
    let marks = marks.iter().map(|mark| format!("reloader.stakater.com/{mark}")).collect();
    ConfigChange { config, checksum: CHECKSUM.to_owned(), marks, is_deleted: false }
}

fn workload(annotations: Value, spec: Value) -> WorkloadFacts {
    let object = json!({
        "metadata": {"name": "web", "namespace": "ns", "uid": "u", "resourceVersion": "1", "annotations": annotations},
        "spec": {"template": {"spec": spec}},
    });
    WorkloadFacts::read(WorkloadKind::Deployment, &object).unwrap()
}

fn now() -> Timestamp {
    "2026-01-01T00:01:00Z".parse().unwrap()
}

fn planned(mut workload: WorkloadFacts, change: ConfigChange, flags: &[&str]) -> ReloadDecision {
    let settings = ReloaderSettings::from_flags(flags.iter().copied()).unwrap();
    workload.reloader.compile(&settings.annotations, None);
    plan(&ObservedChange { workload: Arc::new(workload), change, is_end_known: false }, now(), &settings)
}

/// The container that gets the trigger, or `-`.
fn container(plan: &ReloadDecision) -> &str {
    match plan {
        ReloadDecision::Restart(PlannedReload { write: TemplateChange::SetVariable { container, .. }, .. }) => {
            container
        }
        _ => "-",
    }
}

fn pod_using_c() -> Value {
    json!({"containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "c"}}]}]})
}

#[rstest]
#[case::silent(json!({}), &[], &[], "-")]
#[case::auto(json!({"reloader.stakater.com/auto": "true"}), &[], &[], "app")]
#[case::as_go_reads_a_truth(json!({"reloader.stakater.com/auto": "T"}), &[], &[], "app")]
#[case::no_truth(json!({"reloader.stakater.com/auto": "yes"}), &[], &[], "-")]
#[case::typed(json!({"configmap.reloader.stakater.com/auto": "true"}), &[], &[], "app")]
#[case::of_the_other_kind(json!({"secret.reloader.stakater.com/auto": "true"}), &[], &[], "-")]
#[case::ignored(json!({"reloader.stakater.com/auto": "true"}), &["ignore"], &[], "-")]
#[case::found(json!({"reloader.stakater.com/search": "true"}), &["match"], &[], "app")]
#[case::not_marked(json!({"reloader.stakater.com/search": "true"}), &[], &[], "-")]
#[case::all(json!({}), &[], &["--auto-reload-all"], "app")]
#[case::all_but_this(json!({"reloader.stakater.com/auto": "false"}), &[], &["--auto-reload-all"], "-")]
#[case::excluded(
    json!({"reloader.stakater.com/auto": "true", "configmaps.exclude.reloader.stakater.com/reload": "b, c"}), &[], &[], "-")]
#[case::named(json!({"configmap.reloader.stakater.com/reload": "b,c"}), &[], &[], "app")]
#[case::not_named(json!({"configmap.reloader.stakater.com/reload": "b,cc"}), &[], &[], "-")]
#[case::of_one_end_only(json!({"configmap.reloader.stakater.com/reload": "c2|c"}), &[], &[], "app")]
#[case::no_expression(json!({"configmap.reloader.stakater.com/reload": "(,c"}), &[], &[], "app")]
#[case::other_name(json!({"mine": "true"}), &[], &["--auto-annotation=mine"], "app")]
fn annotations_decide_whether_a_workload_restarts(
    #[case] annotations: Value,
    #[case] marks: &[&str],
    #[case] flags: &[&str],
    #[case] expected: &str,
) {
    let plan = planned(workload(annotations, pod_using_c()), change("configmap/c", marks), flags);
    assert_eq!(container(&plan), expected);
}

#[rstest]
#[case::volumes_first(
    json!({"containers": [{"name": "one", "envFrom": [{"configMapRef": {"name": "c"}}]},
        {"name": "two", "volumeMounts": [{"name": "v"}]}], "volumes": [{"name": "v", "configMap": {"name": "c"}}]}), "two")]
#[case::the_first_volume_only(
    json!({"containers": [{"name": "one", "volumeMounts": [{"name": "w"}]}],
        "volumes": [{"name": "v", "configMap": {"name": "c"}}, {"name": "w", "configMap": {"name": "c"}}]}), "-")]
#[case::projected(
    json!({"containers": [{"name": "one"}, {"name": "two", "volumeMounts": [{"name": "v"}]}],
        "volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}]}}]}), "two")]
#[case::an_init_container(
    json!({"initContainers": [{"name": "init", "volumeMounts": [{"name": "v"}]}], "containers": [{"name": "one"}],
        "volumes": [{"name": "v", "configMap": {"name": "c"}}]}), "one")]
#[case::nothing(json!({"containers": [{"name": "one"}]}), "-")]
fn trigger_goes_into_the_first_container_that_uses_the_config(#[case] spec: Value, #[case] expected: &str) {
    let auto = json!({"reloader.stakater.com/auto": "true"});
    assert_eq!(container(&planned(workload(auto, spec.clone()), change("configmap/c", &[]), &[])), expected);
    let named = json!({"configmap.reloader.stakater.com/reload": "c"});
    let named = planned(workload(named, spec), change("configmap/c", &[]), &[]);
    assert_ne!(container(&named), "-", "what is named goes into the first container at least");
}

#[test]
fn data_that_the_variable_has_already_restarts_nothing() {
    let auto = json!({"reloader.stakater.com/auto": "true"});
    let mut spec = pod_using_c();
    spec["containers"][0]["env"] = json!([{"name": "STAKATER_C_CONFIGMAP", "value": CHECKSUM}]);
    let there = workload(auto.clone(), spec);
    assert_eq!(planned(there.clone(), change("configmap/c", &[]), &[]), ReloadDecision::Skip);
    let gone = ConfigChange { is_deleted: true, ..change("configmap/c", &[]) };
    let ReloadDecision::Restart(restart) = planned(there.clone(), gone.clone(), &[]) else {
        panic!("it has the variable")
    };
    assert!(matches!(restart.write, TemplateChange::RemoveVariable { .. }));
    assert_eq!(planned(workload(auto, pod_using_c()), gone, &[]), ReloadDecision::Skip);
    let flags = ["--reload-strategy=annotations"];
    let ReloadDecision::Restart(restart) = planned(there, change("configmap/c", &[]), &flags) else {
        panic!("each is one")
    };
    let text = format!(
        r#"{{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"{CHECKSUM}","containerRefs":["app"],"observedAt":1767225660}}"#
    );
    assert_eq!(restart.write, TemplateChange::SetAnnotation(text));
}

#[rstest]
#[case::not_yet(false, None, Some(PauseAction::Begin(Duration::from_secs(30))))]
#[case::paused_by_another_client(true, None, None)]
#[case::goes_on(true, Some("2026-01-01T00:00:40Z"), Some(PauseAction::Continue(Duration::from_secs(10))))]
#[case::over(true, Some("2026-01-01T00:00:20Z"), Some(PauseAction::End))]
#[case::unreadable(true, Some("soon"), Some(PauseAction::End))]
fn restart_begins_or_continues_the_pause_of_a_deployment(
    #[case] paused: bool,
    #[case] at: Option<&str>,
    #[case] expected: Option<PauseAction>,
) {
    let mut deployment = workload(json!({"reloader.stakater.com/auto": "true"}), pod_using_c());
    let mut annotate = |name: &str, value: &str| {
        deployment.reloader.annotations.insert(format!("deployment.reloader.stakater.com/{name}"), value.to_owned());
    };
    annotate("pause-period", "30s");
    at.iter().for_each(|at| annotate("paused-at", at));
    deployment.reloader.paused = paused;
    let ReloadDecision::Restart(restart) = planned(deployment.clone(), change("configmap/c", &[]), &[]) else {
        panic!("a restart")
    };
    assert_eq!(restart.pause, expected);
    deployment
        .reloader
        .annotations
        .insert("deployment.reloader.stakater.com/pause-period".to_owned(), "long".to_owned());
    assert!(matches!(planned(deployment, change("configmap/c", &[]), &[]), ReloadDecision::Refuse(_)));
}

/// A reconciler that has seen ConfigMap `c`, Deployment `web` that uses it, and then a change of
/// `c`.
fn changed() -> RestartReconciler {
    changed_with_flags(&[])
}

fn changed_with_flags(flags: &[&str]) -> RestartReconciler {
    let reloader = ReloaderSettings::from_flags(flags.iter().copied()).unwrap();
    let (profile, secrets) = (Profile::Reloader, SecretChecksums::Unkeyed);
    let settings = RestartSettings { profile, secrets, reloader, ..RestartSettings::default() };
    let mut reconciler = RestartReconciler::new(settings);
    config(&mut reconciler, "1", 0);
    let web = workload(json!({"reloader.stakater.com/auto": "true"}), pod_using_c());
    reconciler.on_workload(&web.name.clone(), Some(web), Duration::ZERO);
    ConfigKind::ALL.into_iter().for_each(|kind| reconciler.on_listed(kind, Duration::ZERO));
    reconciler.activate();
    assert_eq!(reconciler.next_due(), None, "what is there at the start is no change");
    config(&mut reconciler, "2", 1000);
    reconciler
}

fn config(reconciler: &mut RestartReconciler, value: &str, at: u64) {
    let metadata = json!({"name": "c", "namespace": "ns", "resourceVersion": format!("1{value}")});
    let read: ConfigObject = serde_json::from_value(json!({"metadata": metadata, "data": {"k": value}})).unwrap();
    reconciler.on_config(&change("configmap/c", &[]).config, Some(read.config), Duration::from_millis(at));
}

#[rstest]
#[case::as_any_other(WorkloadKind::Rollout, json!({}), &[], false)]
#[case::restarted(WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "restart"}), &[], true)]
#[case::of_either_strategy(
    WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "restart"}), &["--reload-strategy=annotations"], true)]
#[case::is_rolled_out(WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "rollout"}), &[], false)]
#[case::unknown(WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "Restart"}), &[], false)]
#[case::of_another_kind(WorkloadKind::Deployment, json!({"reloader.stakater.com/rollout-strategy": "restart"}), &[], false)]
fn rollout_that_asks_for_it_is_restarted_without_a_template_change(
    #[case] kind: WorkloadKind,
    #[case] mut annotations: Value,
    #[case] flags: &[&str],
    #[case] as_it_is: bool,
) {
    annotations["reloader.stakater.com/auto"] = "true".into();
    let mut workload = workload(annotations, pod_using_c());
    workload.name.kind = kind;
    let ReloadDecision::Restart(PlannedReload { write, .. }) = planned(workload, change("configmap/c", &[]), flags)
    else {
        panic!("it is restarted")
    };
    assert_eq!(write == TemplateChange::SetRestartAt(now()), as_it_is, "{write:?}");
}

#[test]
fn failed_change_is_retried_five_times() {
    let (mut reconciler, mut moments) = (changed(), Vec::new());
    while let Some(at) = reconciler.next_due() {
        moments.push(at.as_millis());
        let work_items = reconciler.take_due(at, now());
        let [work] = &work_items[..] else { panic!("{work_items:?}") };
        assert!(matches!(work.action, WorkAction::Reload(ReloadAction::Restart(_))));
        reconciler.on_write_finished(&work.observed, WriteOutcome::Failed(None), at);
    }
    assert_eq!(moments, [1000, 1005, 1015, 1035, 1075, 1155]);
}

#[test]
fn end_of_a_batch_does_not_end_the_change_that_follows() {
    let mut reconciler = changed();
    config(&mut reconciler, "3", 1000);
    let take = |reconciler: &mut RestartReconciler| {
        let at = reconciler.next_due().unwrap();
        reconciler.take_due(at, now()).remove(0).observed
    };
    let (first, at) = (take(&mut reconciler), Duration::from_secs(2));
    reconciler.on_write_finished(&first, WriteOutcome::Done, at);
    let second = take(&mut reconciler);
    reconciler.finish_namespace(&first.workload.name.namespace);
    reconciler.on_write_finished(&second, WriteOutcome::Failed(None), at);
    assert_eq!(reconciler.next_due(), Some(at + Duration::from_millis(5)), "it is retried");
}

#[test]
fn change_with_a_webhook_is_reported_and_restarts_nothing() {
    let mut reconciler = changed_with_flags(&["--webhook-url=http://x"]);
    config(&mut reconciler, "3", 1000);
    while let Some(at) = reconciler.next_due() {
        assert_eq!(reconciler.take_due(at, now()), []);
    }
    let c = change("configmap/c", &[]).config;
    assert_eq!(
        (reconciler.take_webhook_changes(), reconciler.take_webhook_changes(), reconciler.gauges().processed),
        (vec![c.clone(), c], Vec::new(), 2)
    );
}

#[test]
fn changes_are_not_merged() {
    let mut reconciler = changed();
    config(&mut reconciler, "3", 1000);
    for _ in 0..2 {
        let at = reconciler.next_due().unwrap();
        let work_items = reconciler.take_due(at, now());
        assert_eq!(work_items.len(), 1);
        reconciler.on_write_finished(&work_items[0].observed, WriteOutcome::Done, at);
    }
    assert_eq!((reconciler.next_due(), reconciler.gauges().processed), (None, 2));
}
