//! Restart windows: restarts that are pending while the window is closed.

use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::{Value, json};

use crate::Profile;
use crate::tests::fixture::{C, Fixture, WEB};

/// The clock starts on Monday, 2026-01-05, at 00:00 UTC, which is 01:00 in Berlin.
const LATER: &str = "Mon 01:30-02:00 Europe/Berlin";
/// When that window opens and closes, in milliseconds.
const OPENS: u64 = 30 * 60_000;
const CLOSES: u64 = 60 * 60_000;

/// A workload that has had this schedule for a while.
fn with(schedule: &str) -> Fixture {
    settle(Fixture::new(Profile::Safe), schedule)
}

fn settle(mut fixture: Fixture, schedule: &str) -> Fixture {
    fixture.config(0, "c", json!({"k": "1"}));
    fixture.deployment(1000, "web", &["c"]);
    fixture.change(1000, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = schedule.into());
    fixture.advance_to(60_000);
    fixture.writes.clear();
    fixture.reports.clear();
    fixture
}

fn pending(fixture: &Fixture) -> Value {
    fixture.get(WEB)["metadata"]["annotations"][names::PENDING]
        .as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn set(fixture: &mut Fixture, at: u64, data: &str) {
    fixture.config(at, "c", json!({"k": data}));
}

#[test]
fn change_within_a_window_restarts_at_once() {
    let mut fixture = with("Mon 00:00-24:00 UTC");
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB), fixture.records(WEB).len(), pending(&fixture)), (vec![65_000], 0, Value::Null));
}

#[test]
fn change_outside_of_a_window_is_pending_until_it_opens() {
    let mut fixture = with(LATER);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(65_000);
    let annotation = json!({
        "configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z", "until": "2026-01-05T00:30:00Z",
    });
    assert_eq!((pending(&fixture), fixture.reports.as_slice()), (annotation.clone(), ["pending"].as_slice()));
    assert_eq!((fixture.reconciler.gauges().pending, fixture.records(WEB).len()), (1, 1));
    // Further changes are not reported.
    set(&mut fixture, 600_000, "3");
    fixture.advance_to(610_000);
    assert_eq!((pending(&fixture), fixture.reconciler.gauges().pending), (annotation, 1));
    fixture.advance_to(CLOSES);
    assert_eq!((fixture.restarts(WEB), pending(&fixture)), (vec![OPENS], Value::Null));
    assert_eq!(
        (fixture.reconciler.gauges().pending, fixture.reports.len(), fixture.reconciler.next_due()),
        (0, 1, None)
    );
}

/// The state follows from the objects, and is not reported again.
#[rstest]
#[case::before_it_opens(OPENS - 60_000, OPENS)]
#[case::while_it_is_open(OPENS + 60_000, OPENS + 65_000)]
fn restarted_controller_keeps_the_pending_restart(#[case] at: u64, #[case] restarts: u64) {
    let mut fixture = with(LATER);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(70_000);
    fixture.replace_controller();
    fixture.advance_to(at);
    fixture.restart_controller();
    fixture.advance_to(at + 10_000);
    if at < OPENS {
        assert_eq!(pending(&fixture)["since"], "2026-01-05T00:01:00Z");
        assert_eq!(fixture.reconciler.gauges().pending, 1);
    }
    fixture.advance_to(CLOSES);
    assert_eq!((fixture.restarts(WEB), pending(&fixture), fixture.reports.len()), (vec![restarts], Value::Null, 1));
}

#[test]
fn data_changed_back_before_the_window_opens_restarts_nothing() {
    let mut fixture = with(LATER);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(120_000);
    assert_ne!(pending(&fixture), Value::Null);
    set(&mut fixture, 120_000, "1");
    assert_eq!((pending(&fixture), fixture.reconciler.gauges().pending), (Value::Null, 0));
    fixture.advance_to(CLOSES);
    assert_eq!(fixture.restarts(WEB), [0; 0]);
}

/// Another client has replaced the pods.
#[test]
fn rollout_before_the_window_opens_replaces_the_restart() {
    let mut fixture = with(LATER);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(120_000);
    fixture.change(120_000, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    assert_eq!(pending(&fixture), Value::Null);
    fixture.advance_to(CLOSES);
    assert_eq!(fixture.restarts(WEB), [0; 0]);
}

/// The data that the pods had is unknown, and the times of writes alone cannot reveal it later.
#[test]
fn unknown_difference_survives_a_restart_of_the_controller() {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.config(0, "c", json!({"k": "1"}));
    let mut web = crate::tests::fixture::deployment("web", crate::tests::fixture::env_from(&["c"], false));
    web["metadata"]["annotations"][names::WINDOW] = LATER.into();
    (web["metadata"]["resourceVersion"], web["metadata"]["uid"]) = ("1".into(), "web".into());
    // The config is written again before the workload is seen.
    fixture.config(100, "c", json!({"k": "2"}));
    fixture.put_old_object(200, WEB, web);
    fixture.advance_to(60_000);
    assert_eq!((fixture.checksums(WEB).as_str(), fixture.restarts(WEB).len()), (r#"{"configmap/ns/c":""}"#, 0));
    fixture.restart_controller();
    fixture.advance_to(CLOSES);
    assert_eq!(fixture.restarts(WEB), [OPENS]);
}

#[test]
fn changed_schedule_applies_to_a_pending_restart() {
    let mut fixture = with(LATER);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(120_000);
    fixture.change(120_000, WEB, |web| {
        web["metadata"]["annotations"][names::WINDOW] = "Mon 00:45-01:00 UTC".into();
    });
    assert_eq!(
        (&pending(&fixture)["since"], &pending(&fixture)["until"]),
        (&json!("2026-01-05T00:01:00Z"), &json!("2026-01-05T00:45:00Z"),)
    );
    fixture.change(180_000, WEB, |web| {
        web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::WINDOW);
    });
    assert_eq!((fixture.restarts(WEB), pending(&fixture)), (vec![180_000], Value::Null));
}

/// A change of the annotation is not a change of data.
#[test]
fn changed_schedule_restarts_nothing() {
    let mut fixture = with(LATER);
    fixture.change(60_000, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = "Mon 00:00-24:00 UTC".into());
    fixture.advance_to(CLOSES);
    assert_eq!((fixture.restarts(WEB).len(), fixture.records(WEB).len()), (0, 0));
}

#[test]
fn unreadable_schedule_never_opens() {
    let mut fixture = with("Mon-Fri at night");
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(CLOSES);
    let annotation = json!({"configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z"});
    assert_eq!((fixture.restarts(WEB).len(), pending(&fixture), fixture.reconciler.next_due()), (0, annotation, None));
    assert_eq!(fixture.reports, ["pending"]);
    fixture.change(CLOSES, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = "nor so".into());
    assert_eq!(fixture.reports, ["pending", "bad annotation"]);
    fixture.change(CLOSES, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = "Mon 00:00-24:00 UTC".into());
    assert_eq!((fixture.restarts(WEB).len(), pending(&fixture)), (1, Value::Null));
}

#[test]
fn schedule_of_the_namespace_applies_to_workloads_without_one() {
    let namespace = |schedule: Value| json!({"metadata": {"name": "ns", "annotations": {names::WINDOW: schedule}}});
    let mut fixture = Fixture::new(Profile::Safe).settled();
    fixture.deployment(60_000, "own", &["c"]);
    fixture.change(60_000, "deployment/own", |own| {
        own["metadata"]["annotations"][names::WINDOW] = "Mon 00:00-24:00 UTC".into();
    });
    fixture.object(60_000, "namespace/ns", namespace(LATER.into()));
    fixture.object(60_000, "namespace/other", json!({"metadata": {"name": "other"}}));
    set(&mut fixture, 120_000, "2");
    fixture.advance_to(180_000);
    assert_eq!((fixture.restarts("deployment/own"), fixture.restarts(WEB)), (vec![125_000], vec![]));
    assert_eq!(pending(&fixture)["until"], "2026-01-05T00:30:00Z");
    fixture.object(180_000, "namespace/ns", namespace("Mon 00:20-00:30 UTC".into()));
    assert_eq!(pending(&fixture)["until"], "2026-01-05T00:20:00Z");
    fixture.delete(240_000, "namespace/ns");
    assert_eq!((fixture.restarts(WEB), pending(&fixture)), (vec![240_000], Value::Null));
}

#[test]
fn changes_collected_when_a_window_closes_wait_for_the_next() {
    let mut fixture = with("Mon 00:00-00:02 UTC; Mon 00:30-00:31 UTC");
    set(&mut fixture, 118_000, "2");
    fixture.advance_to(CLOSES);
    assert_eq!(fixture.restarts(WEB), [OPENS]);
}

/// All changes cause one restart, and the budget is checked when the window opens.
#[test]
fn budget_is_checked_when_the_window_opens() {
    let mut fixture = settle(Fixture::budget(1, 3600), "Mon 00:00-00:02 UTC; Mon 00:30-24:00 UTC");
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(65_000);
    set(&mut fixture, 180_000, "3");
    fixture.advance_to(2 * CLOSES);
    assert_eq!(
        (fixture.restarts(WEB), fixture.reports.as_slice()),
        (vec![65_000, 3_665_000], ["pending", "throttled"].as_slice())
    );
    assert_eq!(pending(&fixture), Value::Null);
}

#[test]
fn dry_run_reports_a_pending_restart_once() {
    let mut fixture = settle(Fixture::dry(), LATER);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(OPENS - 1);
    assert_eq!((fixture.reports.as_slice(), fixture.reconciler.gauges().pending), (["pending"].as_slice(), 1));
    fixture.change(OPENS - 1, C, |config| config["metadata"]["labels"] = json!({"a": "b"}));
    fixture.advance_to(CLOSES);
    assert_eq!(fixture.reports, ["pending", "would restart"]);
}

#[test]
fn profile_xing_ignores_the_schedule() {
    let mut fixture = settle(Fixture::new(Profile::Xing), LATER);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB).len(), pending(&fixture)), (1, Value::Null));
}
