//! Delays, and groups that restart in an order and a few workloads at a time.

use std::time::Duration;

use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::{Value, json};

use crate::tests::fixture::{Fixture, deployment, env_from};
use crate::{GroupSettings, Limit, Profile, RestartSettings};

const A: &str = "deployment/a";
const B: &str = "deployment/b";
const C: &str = "deployment/c";

/// Creates these Deployments with these annotations; they use one config and are available.
fn settle(mut fixture: Fixture, all: &[(&str, &[(&str, &str)])]) -> Fixture {
    fixture.config(0, "c", json!({"k": "1"}));
    for (name, annotations) in all {
        let mut object = deployment(name, env_from(&["c"], false));
        for (annotation, value) in *annotations {
            object["metadata"]["annotations"][annotation] = (*value).into();
        }
        let path = format!("deployment/{name}");
        fixture.object(1000, &path, object);
        fixture.complete(1000, &path);
    }
    fixture.advance_to(60_000);
    assert!(fixture.writes.iter().all(|(_, _, restart)| restart.is_none()));
    fixture.writes.clear();
    fixture.reports.clear();
    fixture
}

/// Three workloads of which one may be unavailable.
fn three() -> Fixture {
    settle(Fixture::new(Profile::Safe), &[("a", &[]), ("b", &[(names::MAX_UNAVAILABLE, "1")]), ("c", &[])])
}

fn set(fixture: &mut Fixture, at: u64, data: &str) {
    fixture.config(at, "c", json!({"k": data}));
}

fn pending(fixture: &Fixture, path: &str) -> Value {
    fixture.get(path)["metadata"]["annotations"][names::PENDING]
        .as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn restarts(fixture: &Fixture) -> [Vec<u64>; 3] {
    [A, B, C].map(|path| fixture.restarts(path))
}

#[test]
fn group_with_limit_one_restarts_one_at_a_time() {
    let mut fixture = three();
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(90_000);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![], vec![]]);
    let annotation = json!({"configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z", "waitsFor": "turn"});
    assert_eq!([A, B, C].map(|path| pending(&fixture, path)), [Value::Null, annotation.clone(), annotation]);
    assert_eq!((fixture.reports.as_slice(), fixture.reconciler.gauges().pending), (["pending"; 2].as_slice(), 2));
    // Nothing is written while it waits.
    assert_eq!(fixture.writes.len(), 3);
    fixture.complete(100_000, A);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![100_000], vec![]]);
    fixture.complete(110_000, B);
    fixture.complete(120_000, C);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![100_000], vec![110_000]]);
    assert_eq!((fixture.writes.len(), fixture.reports.len(), fixture.reconciler.gauges().pending), (5, 2, 0));
    assert_eq!([A, B, C].map(|path| pending(&fixture, path)), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(fixture.reconciler.next_due(), None);
}

/// On a real server the generation of a Deployment also increases with its annotations, so a
/// Deployment that has just become pending looks as if it were rolling out.
#[test]
fn pending_annotation_does_not_let_a_workload_restart() {
    let mut fixture = three();
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(66_000);
    for path in [B, C] {
        fixture.change(66_000, path, |of| of["metadata"]["generation"] = 2.into());
    }
    fixture.advance_to(70_000);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![], vec![]]);
    fixture.fail(70_000, A);
    fixture.complete(71_000, B);
    fixture.complete(71_000, C);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![], vec![]]);
}

/// Which workloads are unavailable follows from the objects.
#[test]
fn restarted_controller_continues_with_the_group() {
    let mut fixture = three();
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(70_000);
    fixture.restart_controller();
    fixture.advance_to(80_000);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![], vec![]]);
    assert_eq!((fixture.reports.len(), fixture.reconciler.gauges().pending), (2, 2), "it was said before");
    fixture.replace_controller();
    fixture.complete(90_000, A);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![], vec![]]);
    fixture.restart_controller();
    fixture.advance_to(100_000);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![95_000], vec![]]);
}

#[rstest]
#[case::number("2", 2)]
#[case::percentage("50%", 2)]
#[case::rounded_down("49%", 1)]
#[case::one_at_least("1%", 1)]
#[case::more_than_there_are("9", 4)]
fn limit_allows_as_many_restarts_at_a_time(#[case] limit: &str, #[case] expected: usize) {
    let limited: &[(&str, &str)] = &[(names::MAX_UNAVAILABLE, limit)];
    let mut fixture = settle(Fixture::new(Profile::Safe), &[("a", &[]), ("b", limited), ("c", &[]), ("d", &[])]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(90_000);
    assert_eq!(fixture.writes.iter().filter(|(_, _, restart)| restart.is_some()).count(), expected);
}

/// The smallest limit of the group's workloads, else the namespace's, else the flag's.
#[test]
fn smallest_limit_of_the_group_precedes_namespace_and_flag() {
    let turns = GroupSettings { limit: Some(Limit::Workloads(3)), ..GroupSettings::default() };
    let flag = || RestartSettings { turns, ..RestartSettings::default() };
    let namespace = |limit: &str| json!({"metadata": {"name": "ns", "annotations": {names::MAX_UNAVAILABLE: limit}}});
    let started = |mut fixture: Fixture| {
        set(&mut fixture, 60_000, "2");
        fixture.advance_to(90_000);
        fixture.writes.iter().filter(|(_, _, restart)| restart.is_some()).count()
    };
    let four: [(&str, &[(&str, &str)]); 4] = [("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])];
    assert_eq!(started(settle(Fixture::with(flag()), &four)), 3);
    let mut fixture = settle(Fixture::with(flag()), &four);
    fixture.object(60_000, "namespace/ns", namespace("2"));
    assert_eq!(started(fixture), 2);
    let mut fixture = settle(Fixture::with(flag()), &[&four[..3], &[("d", &[(names::MAX_UNAVAILABLE, "1")])]].concat());
    fixture.object(60_000, "namespace/ns", namespace("2"));
    assert_eq!(started(fixture), 1);
    let group: &[(&str, &str)] = &[(names::GROUP, "other"), (names::MAX_UNAVAILABLE, "1")];
    assert_eq!(started(settle(Fixture::with(flag()), &[("a", group), ("b", group), ("c", &[]), ("d", &[])])), 3);
}

/// The limit is removed, or a workload leaves the group.
#[rstest]
#[case::limit_removed(&|fixture: &mut Fixture| fixture.change(70_000, B, |b| {
    b["metadata"]["annotations"].as_object_mut().unwrap().remove(names::MAX_UNAVAILABLE);
}), [1, 1, 1])]
#[case::limit_raised(&|fixture: &mut Fixture| fixture.change(70_000, B, |b| {
    b["metadata"]["annotations"][names::MAX_UNAVAILABLE] = "2".into();
}), [1, 1, 0])]
#[case::deleted(&|fixture: &mut Fixture| fixture.delete(70_000, A), [1, 1, 0])]
#[case::opted_out(&|fixture: &mut Fixture| fixture.change(70_000, A, |a| {
    a["metadata"]["annotations"].as_object_mut().unwrap().remove(names::ENABLED);
}), [1, 1, 0])]
#[case::in_another_group(&|fixture: &mut Fixture| fixture.change(70_000, A, |a| {
    a["metadata"]["annotations"][names::GROUP] = "other".into();
}), [1, 1, 0])]
fn next_workload_restarts_when_limit_or_group_changes(
    #[case] change: &dyn Fn(&mut Fixture),
    #[case] expected: [usize; 3],
) {
    let mut fixture = three();
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(70_000);
    change(&mut fixture);
    assert_eq!(restarts(&fixture).map(|restarts| restarts.len()), expected);
}

#[test]
fn group_restarts_in_its_order() {
    let order = |order: &'static str| [(names::ORDER, order)];
    let (first, second, third) = (order("-1"), order("1"), order("2"));
    let mut fixture = settle(Fixture::new(Profile::Safe), &[("a", &third), ("b", &first), ("c", &second)]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(90_000);
    assert_eq!(restarts(&fixture), [vec![], vec![65_000], vec![]]);
    fixture.complete(90_000, B);
    fixture.complete(100_000, C);
    assert_eq!(restarts(&fixture), [vec![100_000], vec![65_000], vec![90_000]]);
}

/// The workload ahead is not due any more.
#[test]
fn data_that_is_changed_back_unblocks_the_next_workload() {
    let first: &[(&str, &str)] = &[(names::ORDER, "-1"), (names::WINDOW, "Mon 01:00-02:00 UTC")];
    let mut fixture = settle(Fixture::new(Profile::Safe), &[("a", &[]), ("b", first)]);
    fixture.config(60_000, "other", json!({"k": "1"}));
    fixture.change(60_000, A, |a| a["spec"]["template"]["spec"] = env_from(&["c", "other"], false));
    fixture.complete(60_000, A);
    fixture.config(70_000, "other", json!({"k": "2"}));
    set(&mut fixture, 70_000, "2");
    fixture.advance_to(80_000);
    assert_eq!((fixture.restarts(A).len(), pending(&fixture, A)["waitsFor"].clone()), (0, json!("turn")));
    set(&mut fixture, 90_000, "1");
    assert_eq!((fixture.restarts(A), fixture.restarts(B)), (vec![90_000], vec![]));
}

#[test]
fn failed_workload_stops_the_others_until_it_is_available() {
    let mut fixture = three();
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(70_000);
    fixture.fail(100_000, A);
    assert_eq!(fixture.reports, ["pending", "pending", "stopped", "stopped"]);
    let gauges = fixture.reconciler.gauges();
    assert_eq!((gauges.pending, gauges.stopped), (2, 2));
    assert_eq!(pending(&fixture, B)["stoppedBy"], "deployment/ns/a");
    fixture.restart_controller();
    fixture.advance_to(3_600_000);
    assert_eq!(
        (restarts(&fixture), fixture.reports.len()),
        ([vec![65_000], vec![], vec![]], 4),
        "nothing is said again"
    );
    assert_eq!(fixture.reconciler.gauges().stopped, 2);
    fixture.complete(3_700_000, A);
    assert_eq!(restarts(&fixture), [vec![65_000], vec![3_700_000], vec![]]);
    assert_eq!((fixture.reconciler.gauges().pending, fixture.reconciler.gauges().stopped), (1, 0));
}

/// The change may be the fix.
#[test]
fn failed_workload_restarts_when_it_is_due() {
    let mut fixture = three();
    set(&mut fixture, 60_000, "2");
    fixture.fail(100_000, A);
    set(&mut fixture, 200_000, "3");
    fixture.advance_to(300_000);
    assert_eq!(restarts(&fixture), [vec![65_000, 205_000], vec![], vec![]]);
    fixture.complete(300_000, A);
    assert_eq!(restarts(&fixture), [vec![65_000, 205_000], vec![300_000], vec![]]);
}

/// A StatefulSet does not report a failed rollout, so the controller's own deadline applies.
#[test]
fn stateful_set_fails_after_the_controllers_own_deadline() {
    let turns = GroupSettings { limit: Some(Limit::Workloads(2)), deadline: Duration::from_secs(300) };
    let mut fixture = settle(Fixture::with(RestartSettings { turns, ..RestartSettings::default() }), &[("b", &[])]);
    let mut set_of = deployment("db", env_from(&["c"], false));
    set_of["metadata"]["annotations"][names::ORDER] = "-1".into();
    set_of["status"] = json!({"currentRevision": "1", "updateRevision": "1", "updatedReplicas": 1, "readyReplicas": 1});
    fixture.object(60_000, "statefulset/db", set_of);
    fixture.advance_to(70_000);
    set(&mut fixture, 100_000, "2");
    fixture.advance_to(110_000);
    assert_eq!((fixture.restarts("statefulset/db"), fixture.restarts(B).len()), (vec![105_000], 0));
    assert_eq!(fixture.reports, ["pending"]);
    fixture.advance_to(404_000);
    assert_eq!(fixture.reports, ["pending"]);
    fixture.advance_to(406_000);
    assert_eq!((fixture.reports.as_slice(), fixture.restarts(B).len()), (["pending", "stopped"].as_slice(), 0));
}

#[test]
fn refused_write_does_not_block_the_group() {
    let mut fixture = three();
    set(&mut fixture, 60_000, "2");
    fixture.refuses = true;
    fixture.advance_to(66_000);
    fixture.refuses = false;
    fixture.advance_to(90_000);
    assert_eq!(fixture.writes.iter().filter(|(_, _, restart)| restart.is_some()).count(), 1);
}

#[test]
fn unreadable_limit_blocks_the_group() {
    let mut fixture = settle(Fixture::new(Profile::Safe), &[("a", &[(names::MAX_UNAVAILABLE, "none")]), ("b", &[])]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(3_600_000);
    assert_eq!((fixture.restarts(A).len(), fixture.restarts(B).len(), fixture.reconciler.gauges().pending), (0, 0, 2));
    fixture.change(3_600_000, A, |a| a["metadata"]["annotations"][names::MAX_UNAVAILABLE] = "2".into());
    assert_eq!((fixture.restarts(A).len(), fixture.restarts(B).len()), (1, 1));
}

#[rstest]
#[case::order(names::ORDER, "first")]
#[case::delay(names::DELAY, "soon")]
fn unreadable_order_or_delay_blocks_only_its_workload(#[case] annotation: &str, #[case] text: &str) {
    let mut fixture = settle(Fixture::new(Profile::Safe), &[("a", &[(annotation, text)]), ("b", &[])]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(3_600_000);
    assert_eq!((fixture.restarts(A).len(), fixture.restarts(B).len()), (0, 1));
    fixture.change(3_600_000, A, |a| drop(a["metadata"]["annotations"].as_object_mut().unwrap().remove(annotation)));
    assert_eq!(fixture.restarts(A).len(), 1);
}

#[test]
fn delay_counts_from_the_first_change() {
    let mut fixture = settle(Fixture::new(Profile::Safe), &[("a", &[(names::DELAY, "10m")])]);
    set(&mut fixture, 60_000, "2");
    set(&mut fixture, 300_000, "3");
    let annotation = json!({
        "configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z", "until": "2026-01-05T00:11:00Z",
    });
    assert_eq!((pending(&fixture, A), fixture.reports.as_slice()), (annotation, ["pending"].as_slice()));
    fixture.restart_controller();
    fixture.advance_to(3_600_000);
    assert_eq!((fixture.restarts(A), pending(&fixture, A)), (vec![660_000], Value::Null));
    // The next delay starts again.
    set(&mut fixture, 3_600_000, "4");
    fixture.advance_to(7_200_000);
    assert_eq!(fixture.restarts(A), [660_000, 4_200_000]);
}

#[test]
fn restart_waits_for_the_delay_and_then_for_the_window() {
    let annotations = [(names::DELAY, "10m"), (names::WINDOW, "Mon 00:00-00:05 UTC; Mon 01:00-02:00 UTC")];
    let mut fixture = settle(Fixture::new(Profile::Safe), &[("a", &annotations)]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(3_000_000);
    assert_eq!(pending(&fixture, A)["until"], "2026-01-05T01:00:00Z");
    fixture.advance_to(7_200_000);
    assert_eq!(fixture.restarts(A), [3_600_000]);
}

/// By its own annotation, or its namespace's, or the flag.
#[test]
fn delay_of_the_workload_precedes_namespace_and_flag() {
    let settings = RestartSettings { delay: Duration::from_secs(100), ..RestartSettings::default() };
    let mut fixture = settle(Fixture::with(settings), &[("a", &[]), ("b", &[(names::DELAY, "0s")])]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(1_000_000);
    assert_eq!((fixture.restarts(A), fixture.restarts(B)), (vec![160_000], vec![65_000]));
    let namespace = json!({"metadata": {"name": "ns", "annotations": {names::DELAY: "5m"}}});
    fixture.object(1_000_000, "namespace/ns", namespace);
    set(&mut fixture, 1_000_000, "3");
    fixture.advance_to(2_000_000);
    assert_eq!((fixture.restarts(A)[1], fixture.restarts(B)[1]), (1_300_000, 1_005_000));
}

/// If the budget is spent when the delay ends, the restart does not wait for another delay.
#[test]
fn spent_budget_does_not_repeat_the_delay() {
    let settings = RestartSettings { delay: Duration::from_secs(100), ..RestartSettings::default() };
    let budget = crate::Budget { restarts: 1, period: Duration::from_secs(600) };
    let mut fixture = settle(Fixture::with(RestartSettings { budget, ..settings }), &[("a", &[])]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(200_000);
    set(&mut fixture, 200_000, "3");
    fixture.advance_to(2_000_000);
    assert_eq!(fixture.restarts(A), [160_000, 760_000]);
}

#[test]
fn dry_run_covers_all_workloads_of_a_group() {
    let mut fixture = settle(Fixture::dry(), &[("a", &[(names::MAX_UNAVAILABLE, "1")]), ("b", &[])]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(120_000);
    assert_eq!(
        (fixture.reports.iter().filter(|report| **report == "would restart").count(), fixture.writes.len()),
        (2, 0)
    );
}

#[rstest]
#[case::xing(Profile::Xing)]
fn other_profiles_ignore_pacing_annotations(#[case] profile: Profile) {
    let annotations = [(names::MAX_UNAVAILABLE, "1"), (names::DELAY, "1h"), (names::ORDER, "1")];
    let mut fixture = settle(Fixture::new(profile), &[("a", &annotations), ("b", &annotations)]);
    set(&mut fixture, 60_000, "2");
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(A).len(), fixture.restarts(B).len()), (1, 1));
}
