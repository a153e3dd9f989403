//! Scenarios in which the safe profile fixes a defect of xing's controller.

use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::{Value, json};

use crate::tests::fixture::{C, Fixture, WEB, deployment, env_from};
use crate::{Deferral, Profile};

fn settled() -> Fixture {
    settle(Fixture::new(Profile::Safe))
}

fn settle(fixture: Fixture) -> Fixture {
    let mut fixture = fixture.settled();
    fixture.writes.clear();
    fixture
}

fn using(fixture: &mut Fixture, at: u64, pod_spec: Value) {
    fixture.object(at, WEB, deployment("web", pod_spec));
}

/// The references that xing's controller does not find (X1).
#[rstest]
#[case(json!({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]}]}))]
#[case(json!({"volumes": [{"projected": {"sources": [{"configMap": {"name": "c"}}]}}]}))]
#[case(json!({"initContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}))]
#[case(json!({"ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}))]
fn s08_all_references_restart(#[case] spec: Value) {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.config(0, "c", json!({"k": "1"}));
    using(&mut fixture, 0, spec);
    fixture.config(10_000, "c", json!({"k": "2"}));
    fixture.advance_to(60_000);
    assert_eq!(fixture.restarts(WEB), [15_000]);
}

#[test]
fn s17_s18_binary_data_restarts_and_unused_keys_do_not() {
    let mut fixture = Fixture::new(Profile::Safe);
    let config = |k1: &str, k2: &str, binary: &str| json!({"metadata": {"name": "c", "namespace": "ns"}, "data": {"k1": k1, "k2": k2}, "binaryData": {"b": binary}});
    fixture.object(0, C, config("1", "1", "AA=="));
    using(
        &mut fixture,
        0,
        json!({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k1"}}}]}]}),
    );
    fixture.object(0, "deployment/all", deployment("all", json!({"volumes": [{"configMap": {"name": "c"}}]})));
    fixture.object(10_000, C, config("1", "2", "AA=="));
    fixture.advance_to(20_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.restarts("deployment/all").len()), (0, 1));
    fixture.object(20_000, C, config("1", "2", "AQ=="));
    fixture.advance_to(30_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.restarts("deployment/all").len()), (0, 2));
    fixture.object(30_000, C, config("2", "2", "AQ=="));
    fixture.advance_to(60_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.restarts("deployment/all").len()), (1, 3));
}

#[test]
fn s22_the_window_slides_and_ends() {
    let mut fixture = settled();
    for second in 0..120 {
        fixture.config(60_000 + second * 1000, "c", json!({"k": format!("v{second}")}));
    }
    fixture.advance_to(300_000);
    assert_eq!(fixture.restarts(WEB), [120_000, 180_000]);
}

#[test]
fn s24_budget_limits_restarts_and_loses_none() {
    let mut fixture = settle(Fixture::budget(3, 600));
    for second in 0..600 {
        fixture.config(60_000 + second * 1000, "c", json!({"k": format!("v{second}")}));
    }
    assert_eq!(fixture.restarts(WEB).len(), 3);
    assert_eq!((fixture.reports.as_slice(), fixture.reconciler.gauges().throttled), (["throttled"].as_slice(), 1));
    fixture.advance_to(2_000_000);
    let last = fixture.writes.last().unwrap().2.clone().unwrap();
    assert_eq!(fixture.restarts(WEB).len(), 4, "{:?}", fixture.restarts(WEB));
    assert_eq!(last.causes[0].keys, ["k".to_owned()].into());
    assert_eq!(fixture.reconciler.gauges().throttled, 0);
}

/// X11, in the order in which helm applies.
#[test]
fn s25_spec_change_after_a_config_change_needs_no_restart() {
    let mut fixture = settled();
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.change(60_300, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.records(WEB).len()), (0, 1));
    fixture.config(120_000, "c", json!({"k": "3"}));
    fixture.advance_to(180_000);
    assert_eq!(fixture.restarts(WEB), [125_000]);
}

/// The other order: pods of the rollout may have started before the change.
#[test]
fn s25_config_change_after_a_spec_change_restarts() {
    let mut fixture = settled();
    fixture.change(60_000, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    fixture.config(60_300, "c", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
}

/// X2.
#[test]
fn s28_s29_change_right_after_adoption_restarts() {
    let mut fixture = settled();
    fixture.deployment(60_000, "new", &["c"]);
    fixture.deployment(60_000, "web", &["c", "c3"]);
    fixture.config(62_000, "c", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts("deployment/new"), [67_000]);
}

/// X3.
#[test]
fn s30_pods_that_started_with_the_last_data_do_not_restart() {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.config(0, "c", json!({"k": "1"}));
    fixture.config(1000, "c", json!({"k": "2"}));
    fixture.deployment(2000, "web", &["c"]);
    fixture.advance_to(60_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.records(WEB)), (0, vec![2000]));
}

/// X5.
#[rstest]
#[case::an_hour_later(3_600_000)]
#[case::soon(3000)]
fn s32_created_optional_config_restarts(#[case] at: u64) {
    let mut fixture = Fixture::new(Profile::Safe);
    using(&mut fixture, 0, env_from(&["c"], true));
    fixture.config(at, "c", json!({"k": "1"}));
    fixture.advance_to(at + 60_000);
    assert_eq!(fixture.restarts(WEB), [at + 5000]);
}

/// Scenario 33 with an optional reference: a late event is not a change.
#[test]
fn s33_late_event_of_an_optional_config_restarts_nothing() {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.config(0, "c", json!({"k": "1"}));
    let config = fixture.get(C).clone();
    let mut late = Fixture::new(Profile::Safe);
    let mut web = deployment("web", env_from(&["c"], true));
    web["metadata"]["uid"] = "u".into();
    web["metadata"]["resourceVersion"] = "7".into();
    late.deliver_stale(0, WEB, web.clone());
    late.deliver_stale(3000, C, config);
    assert_eq!(late.restarts(WEB), [0_u64; 0]);
    assert_eq!(late.reconciler.gauges().waiting, 0);
}

/// Scenario 37.
#[test]
fn s37_event_older_than_the_own_write_is_ignored() {
    let mut fixture = settled();
    let before = fixture.get(WEB).clone();
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.advance_to(65_000);
    fixture.deliver_stale(65_100, WEB, before);
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 1);
}

/// X4.
#[test]
fn s39_s41_re_created_config_restarts_for_new_data() {
    let mut fixture = settled();
    fixture.delete(60_000, C);
    fixture.config(62_000, "c2", json!({"k": "2"}));
    fixture.advance_to(70_000);
    assert_eq!(fixture.restarts(WEB), [67_000]);
    assert!(fixture.checksums(WEB).contains("configmap/ns/c\""), "one that is referred to is not purged");
    fixture.config(70_000, "c", json!({"k": "2"}));
    fixture.advance_to(80_000);
    assert_eq!(fixture.restarts(WEB), [67_000, 75_000]);
    fixture.config(80_000, "c", json!({"k": "3"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [67_000, 75_000, 85_000]);
}

/// X13, in either order.
#[rstest]
fn s44b_change_beside_a_removed_annotation_restarts(#[values(true, false)] first: bool) {
    let mut fixture = settled();
    let remove =
        |web: &mut Value| drop(web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::CHECKSUMS));
    if first {
        fixture.change(60_000, WEB, remove);
        fixture.config(60_100, "c", json!({"k": "2"}));
    } else {
        fixture.config(60_000, "c", json!({"k": "2"}));
        fixture.change(60_100, WEB, remove);
    }
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
}

/// `kubectl rollout undo` restores the template and the annotations of the old revision.
#[test]
fn s49_undo_is_recorded_without_a_restart() {
    let mut fixture = settled();
    let before = fixture.get(WEB).clone();
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.advance_to(70_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
    fixture.change(70_000, WEB, |web| {
        web["spec"]["template"] = before["spec"]["template"].clone();
        web["metadata"]["annotations"] = before["metadata"]["annotations"].clone();
    });
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.records(WEB).len()), (1, 1), "its pods have the data of now");
    fixture.config(120_000, "c", json!({"k": "3"}));
    fixture.advance_to(180_000);
    assert_eq!(fixture.restarts(WEB).len(), 2);
}

#[test]
fn s50_removed_trigger_restarts_nothing() {
    let mut fixture = settled();
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.advance_to(70_000);
    fixture.change(70_000, WEB, |web| {
        drop(web["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("annotations"));
    });
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 1);
}

/// Caveat 2 of xing's README, and scenario 57: a crash at any moment.
#[test]
fn s53_s55_crash_at_any_moment_loses_no_restart() {
    for killed in (0..100).map(|n| n * 100) {
        let mut fixture = Fixture::new(Profile::Safe);
        let mut steps: Vec<(u64, &str)> = vec![(0, "web"), (1000, "1"), (3000, "2"), (killed, "kill")];
        steps.sort_by_key(|(at, _)| *at);
        for (at, step) in steps {
            match step {
                "web" => fixture.deployment(at, "web", &["c"]),
                "kill" => {
                    fixture.advance_to(at);
                    fixture.flush();
                    fixture.restart_controller();
                }
                data => fixture.config(at, "c", json!({"k": data})),
            }
        }
        fixture.advance_to(60_000);
        assert_eq!(fixture.restarts(WEB).len(), 1, "killed at {killed}");
    }
}

/// X6, X7: writes are refused for a while.
#[test]
fn s61_s63_s64_refused_write_is_retried() {
    let mut fixture = settled();
    fixture.refuses = true;
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.advance_to(70_000);
    assert_eq!(fixture.reconciler.gauges().stuck, 1);
    fixture.refuses = false;
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.reconciler.gauges().stuck), (1, 0));
}

/// X14.
#[test]
fn s65_s66_paused_deployment_defers_its_restart() {
    let mut fixture = settled();
    fixture.change(60_000, WEB, |web| web["spec"]["paused"] = true.into());
    fixture.config(61_000, "c", json!({"k": "2"}));
    fixture.advance_to(70_000);
    let restart = fixture.writes[0].2.clone().unwrap();
    assert_eq!(
        (fixture.writes.len(), restart.deferral, fixture.reconciler.gauges().deferred),
        (1, Some(Deferral::Paused), 1)
    );
    fixture.change(70_000, WEB, |web| web["spec"]["paused"] = false.into());
    fixture.advance_to(120_000);
    assert_eq!((fixture.writes.len(), fixture.reconciler.gauges().deferred), (1, 0));
}

/// X14: with OnDelete, a pod is replaced only after a user deletes it.
#[rstest]
#[case::stateful_set("statefulset/web", json!({"updateStrategy": {"type": "OnDelete"}}), Some(Deferral::OnDelete))]
#[case::daemon_set("daemonset/web", json!({"updateStrategy": {"type": "OnDelete"}}), Some(Deferral::OnDelete))]
#[case::rolling("statefulset/web", json!({"updateStrategy": {"type": "RollingUpdate"}}), None)]
#[case::by_default("statefulset/web", json!({}), None)]
#[case::paused_is_no_word_for_it("statefulset/web", json!({"paused": true}), None)]
#[case::nor_is_that_one_of_a_deployment("deployment/web", json!({"updateStrategy": {"type": "OnDelete"}}), None)]
fn s66_on_delete_defers_the_restart(#[case] path: &str, #[case] spec: Value, #[case] deferral: Option<Deferral>) {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.config(0, "c", json!({"k": "1"}));
    let mut set = deployment("web", env_from(&["c"], false));
    json_patch::merge(&mut set["spec"], &spec);
    fixture.object(0, path, set);
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.advance_to(120_000);
    let restart = fixture.writes.last().unwrap().2.clone().unwrap();
    assert_eq!((restart.deferral, fixture.reconciler.gauges().deferred), (deferral, usize::from(deferral.is_some())));
}

#[rstest]
#[case::by_the_config(true)]
#[case::by_the_workload(false)]
fn config_that_is_ignored_restarts_nothing(#[case] by_config: bool) {
    let mut fixture = settled();
    if by_config {
        fixture.change(60_000, C, |config| config["metadata"]["annotations"] = json!({names::IGNORE: "true"}));
    } else {
        fixture
            .change(60_000, WEB, |web| web["metadata"]["annotations"][names::IGNORE] = "secret/x, configmap/c".into());
    }
    fixture.change(70_000, C, |config| config["data"]["k"] = "2".into());
    fixture.advance_to(90_000);
    assert_eq!(fixture.restarts(WEB), [0_u64; 0]);
    fixture.config(90_000, "c2", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [95_000]);
}

#[test]
fn s73_dry_run_writes_nothing_and_reports_restarts() {
    let mut fixture = Fixture::dry();
    fixture.config(0, "c", json!({"k": "1"}));
    fixture.deployment(0, "web", &["c"]);
    fixture.config(10_000, "c", json!({"k": "2"}));
    fixture.advance_to(60_000);
    fixture.config(60_000, "c", json!({"k": "3"}));
    fixture.advance_to(120_000);
    assert_eq!((fixture.writes.len(), fixture.reports.as_slice()), (0, ["would restart"; 2].as_slice()));
}

/// Taking over from xing's controller must not cause a wave of restarts.
#[test]
fn take_over_from_xing_restarts_nothing() {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.config(0, "c", json!({"key": "value"}));
    let mut web = deployment(
        "web",
        json!({
            "containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}],
            "volumes": [{"secret": {"secretName": "s"}}],
        }),
    );
    web["metadata"]["annotations"][names::CHECKSUMS] = r#"{"configmap/ns/c":"e43abcf337524483"}"#.into();
    fixture.object(0, "secret/s", json!({"metadata": {"name": "s", "namespace": "ns"}, "data": {"a": "MQ=="}}));
    fixture.object(0, WEB, web);
    fixture.restart_controller();
    fixture.advance_to(60_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.records(WEB).len()), (0, 1), "the Secret is new to it");
    fixture.config(60_000, "c", json!({"key": "other"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
}
