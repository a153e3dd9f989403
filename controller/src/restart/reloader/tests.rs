//! Reloader's choices against the rules: by which container, by which annotations, and what a
//! change that fails becomes.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a reference before each")]

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::config::Described;
use super::super::references::{ConfigKind, ConfigName};
use super::super::work::{Action, Outcome};
use super::super::workload::{Workload, WorkloadKind};
use super::super::{Agent, Profile, RestartSettings, SecretChecksums};
use super::{Change, Observed, Order, Pause, Plan, Restart, Write, plan};
use crate::settings::ReloaderSettings;

const CHECKSUM: &str = "e5eb05bb23136deb5962f9004ae449e74f7e0547";

fn change(config: &str, marks: &[&str]) -> Change {
    let (kind, name) = config.split_once('/').unwrap();
    let kind = if kind == "secret" { ConfigKind::Secret } else { ConfigKind::ConfigMap };
    let config = ConfigName { kind, namespace: "ns".to_owned(), name: name.to_owned() };
    let marks = marks.iter().map(|mark| format!("reloader.stakater.com/{mark}")).collect();
    Change { config, checksum: CHECKSUM.to_owned(), marks, is_gone: false }
}

fn workload(annotations: Value, spec: Value) -> Workload {
    let object = json!({
        "metadata": {"name": "web", "namespace": "ns", "uid": "u", "resourceVersion": "1", "annotations": annotations},
        "spec": {"template": {"spec": spec}},
    });
    Workload::read(WorkloadKind::Deployment, &object).unwrap()
}

fn now() -> Timestamp {
    "2026-01-01T00:01:00Z".parse().unwrap()
}

fn planned(mut workload: Workload, change: Change, flags: &[&str]) -> Plan {
    let settings = ReloaderSettings::from_flags(flags.iter().copied()).unwrap();
    workload.reloader.compile(&settings.annotations, None);
    plan(&Observed { workload: Arc::new(workload), change, ends: false }, now(), &settings)
}

/// In which container the trigger goes, if anywhere.
fn container(plan: &Plan) -> &str {
    match plan {
        Plan::Restart(Restart { write: Write::Variable { container, .. }, .. }) => container,
        _ => "-",
    }
}

fn uses_c() -> Value {
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
fn by_annotations(#[case] annotations: Value, #[case] marks: &[&str], #[case] flags: &[&str], #[case] expected: &str) {
    let plan = planned(workload(annotations, uses_c()), change("configmap/c", marks), flags);
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
fn into_containers(#[case] spec: Value, #[case] expected: &str) {
    let auto = json!({"reloader.stakater.com/auto": "true"});
    assert_eq!(container(&planned(workload(auto, spec.clone()), change("configmap/c", &[]), &[])), expected);
    let named = json!({"configmap.reloader.stakater.com/reload": "c"});
    let named = planned(workload(named, spec), change("configmap/c", &[]), &[]);
    assert_ne!(container(&named), "-", "what is named goes into the first container at least");
}

#[test]
fn what_is_there_already_is_not_written() {
    let auto = json!({"reloader.stakater.com/auto": "true"});
    let mut spec = uses_c();
    spec["containers"][0]["env"] = json!([{"name": "STAKATER_C_CONFIGMAP", "value": CHECKSUM}]);
    let there = workload(auto.clone(), spec);
    assert_eq!(planned(there.clone(), change("configmap/c", &[]), &[]), Plan::Leave);
    let gone = Change { is_gone: true, ..change("configmap/c", &[]) };
    let Plan::Restart(restart) = planned(there.clone(), gone.clone(), &[]) else { panic!("it has the variable") };
    assert!(matches!(restart.write, Write::NoVariable { .. }));
    assert_eq!(planned(workload(auto, uses_c()), gone, &[]), Plan::Leave);
    let flags = ["--reload-strategy=annotations"];
    let Plan::Restart(restart) = planned(there, change("configmap/c", &[]), &flags) else { panic!("each is one") };
    let text = format!(
        r#"{{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"{CHECKSUM}","containerRefs":["app"],"observedAt":1767225660}}"#
    );
    assert_eq!(restart.write, Write::Annotation(text));
}

#[rstest]
#[case::not_yet(false, None, Some(Pause::Begin(Duration::from_secs(30))))]
#[case::by_somebody_else(true, None, None)]
#[case::goes_on(true, Some("2026-01-01T00:00:40Z"), Some(Pause::GoesOn(Duration::from_secs(10))))]
#[case::over(true, Some("2026-01-01T00:00:20Z"), Some(Pause::Over))]
#[case::unreadable(true, Some("soon"), Some(Pause::Over))]
fn pauses(#[case] paused: bool, #[case] at: Option<&str>, #[case] expected: Option<Pause>) {
    let mut of = workload(json!({"reloader.stakater.com/auto": "true"}), uses_c());
    let mut say = |name: &str, value: &str| {
        of.reloader.annotations.insert(format!("deployment.reloader.stakater.com/{name}"), value.to_owned());
    };
    say("pause-period", "30s");
    at.iter().for_each(|at| say("paused-at", at));
    of.reloader.paused = paused;
    let Plan::Restart(restart) = planned(of.clone(), change("configmap/c", &[]), &[]) else { panic!("a restart") };
    assert_eq!(restart.pause, expected);
    of.reloader.annotations.insert("deployment.reloader.stakater.com/pause-period".to_owned(), "long".to_owned());
    assert!(matches!(planned(of, change("configmap/c", &[]), &[]), Plan::Refuse(_)));
}

/// An agent that has seen ConfigMap `c`, Deployment `web` that uses it, and then a change of `c`.
fn changed() -> Agent {
    changed_with(&[])
}

fn changed_with(flags: &[&str]) -> Agent {
    let reloader = ReloaderSettings::from_flags(flags.iter().copied()).unwrap();
    let (profile, secrets) = (Profile::Reloader, SecretChecksums::Unkeyed);
    let settings = RestartSettings { profile, secrets, reloader, ..RestartSettings::default() };
    let mut agent = Agent::new(settings);
    config(&mut agent, "1", 0);
    let web = workload(json!({"reloader.stakater.com/auto": "true"}), uses_c());
    agent.workload(&web.name.clone(), Some(web), Duration::ZERO);
    ConfigKind::ALL.into_iter().for_each(|kind| agent.listed(kind, Duration::ZERO));
    agent.begin();
    assert_eq!(agent.next(), None, "what is there at the start is no change");
    config(&mut agent, "2", 1000);
    agent
}

fn config(agent: &mut Agent, value: &str, at: u64) {
    let metadata = json!({"name": "c", "namespace": "ns", "resourceVersion": format!("1{value}")});
    let read: Described = serde_json::from_value(json!({"metadata": metadata, "data": {"k": value}})).unwrap();
    agent.config(&change("configmap/c", &[]).config, Some(read.config), Duration::from_millis(at));
}

#[rstest]
#[case::as_any_other(WorkloadKind::Rollout, json!({}), &[], false)]
#[case::restarted(WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "restart"}), &[], true)]
#[case::of_either_strategy(
    WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "restart"}), &["--reload-strategy=annotations"], true)]
#[case::rolled_out(WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "rollout"}), &[], false)]
#[case::unknown(WorkloadKind::Rollout, json!({"reloader.stakater.com/rollout-strategy": "Restart"}), &[], false)]
#[case::of_another_kind(WorkloadKind::Deployment, json!({"reloader.stakater.com/rollout-strategy": "restart"}), &[], false)]
fn a_rollout_may_be_restarted_as_it_is(
    #[case] kind: WorkloadKind,
    #[case] mut annotations: Value,
    #[case] flags: &[&str],
    #[case] as_it_is: bool,
) {
    annotations["reloader.stakater.com/auto"] = "true".into();
    let mut workload = workload(annotations, uses_c());
    workload.name.kind = kind;
    let Plan::Restart(Restart { write, .. }) = planned(workload, change("configmap/c", &[]), flags) else {
        panic!("it is restarted")
    };
    assert_eq!(write == Write::RestartAt(now()), as_it_is, "{write:?}");
}

#[test]
fn a_change_that_fails_is_tried_five_times_again() {
    let (mut agent, mut moments) = (changed(), Vec::new());
    while let Some(at) = agent.next() {
        moments.push(at.as_millis());
        let works = agent.take(at, now());
        let [work] = &works[..] else { panic!("{works:?}") };
        assert!(matches!(work.action, Action::Reload(Order::Restart(_))));
        agent.finished(&work.observed, Outcome::Failed(None), at);
    }
    assert_eq!(moments, [1000, 1005, 1015, 1035, 1075, 1155]);
}

#[test]
fn with_a_webhook_a_change_is_reported_and_restarts_nothing() {
    let mut agent = changed_with(&["--webhook-url=http://x"]);
    config(&mut agent, "3", 1000);
    while let Some(at) = agent.next() {
        assert_eq!(agent.take(at, now()), []);
    }
    let c = change("configmap/c", &[]).config;
    assert_eq!(
        (agent.take_reported(), agent.take_reported(), agent.numbers().processed),
        (vec![c.clone(), c], Vec::new(), 2)
    );
}

#[test]
fn each_change_is_carried_out_by_itself() {
    let mut agent = changed();
    config(&mut agent, "3", 1000);
    for _ in 0..2 {
        let at = agent.next().unwrap();
        let works = agent.take(at, now());
        assert_eq!(works.len(), 1);
        agent.finished(&works[0].observed, Outcome::Made, at);
    }
    assert_eq!((agent.next(), agent.numbers().processed), (None, 2));
}
