//! Restart windows: what is pending while they are closed, and what becomes of it.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::Profile;
use super::world::{C, WEB, World};
use crate::model::names::restart as names;

/// The world begins on Monday, 2026-01-05, at 00:00 UTC, which is 01:00 in Berlin.
const LATER: &str = "Mon 01:30-02:00 Europe/Berlin";
/// When that opens and closes, in milliseconds.
const OPENS: u64 = 30 * 60_000;
const CLOSES: u64 = 60 * 60_000;

/// With a workload that has this schedule, long ago.
fn with(schedule: &str) -> World {
    settle(World::new(Profile::Safe), schedule)
}

fn settle(mut world: World, schedule: &str) -> World {
    world.config(0, "c", json!({"k": "1"}));
    world.deployment(1000, "web", &["c"]);
    world.change(1000, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = schedule.into());
    world.pass(60_000);
    world.writes.clear();
    world.told.clear();
    world
}

fn pending(world: &World) -> Value {
    world.get(WEB)["metadata"]["annotations"][names::PENDING]
        .as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn set(world: &mut World, at: u64, data: &str) {
    world.config(at, "c", json!({"k": data}));
}

#[test]
fn what_changes_in_a_window_restarts_at_once() {
    let mut world = with("Mon 00:00-24:00 UTC");
    set(&mut world, 60_000, "2");
    world.pass(120_000);
    assert_eq!((world.restarts(WEB), world.records(WEB).len(), pending(&world)), (vec![65_000], 0, Value::Null));
}

#[test]
fn what_changes_outside_is_pending_until_it_opens() {
    let mut world = with(LATER);
    set(&mut world, 60_000, "2");
    world.pass(65_000);
    let shown = json!({
        "configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z", "until": "2026-01-05T00:30:00Z",
    });
    assert_eq!((pending(&world), world.told.as_slice()), (shown.clone(), ["pending"].as_slice()));
    assert_eq!((world.agent.numbers().pending, world.records(WEB).len()), (1, 1));
    // More changes, and nothing more to say.
    set(&mut world, 600_000, "3");
    world.pass(610_000);
    assert_eq!((pending(&world), world.agent.numbers().pending), (shown, 1));
    world.pass(CLOSES);
    assert_eq!((world.restarts(WEB), pending(&world)), (vec![OPENS], Value::Null));
    assert_eq!((world.agent.numbers().pending, world.told.len(), world.agent.next()), (0, 1, None));
}

/// All that is known follows from the objects, and is not said again.
#[rstest]
#[case::before_it_opens(OPENS - 60_000, OPENS)]
#[case::while_it_is_open(OPENS + 60_000, OPENS + 65_000)]
fn a_controller_that_begins_anew(#[case] at: u64, #[case] restarts: u64) {
    let mut world = with(LATER);
    set(&mut world, 60_000, "2");
    world.pass(70_000);
    world.forget();
    world.pass(at);
    world.restart_controller();
    world.pass(at + 10_000);
    if at < OPENS {
        assert_eq!(pending(&world)["since"], "2026-01-05T00:01:00Z");
        assert_eq!(world.agent.numbers().pending, 1);
    }
    world.pass(CLOSES);
    assert_eq!((world.restarts(WEB), pending(&world), world.told.len()), (vec![restarts], Value::Null, 1));
}

#[test]
fn what_goes_back_before_it_opens_restarts_nothing() {
    let mut world = with(LATER);
    set(&mut world, 60_000, "2");
    world.pass(120_000);
    assert_ne!(pending(&world), Value::Null);
    set(&mut world, 120_000, "1");
    assert_eq!((pending(&world), world.agent.numbers().pending), (Value::Null, 0));
    world.pass(CLOSES);
    assert_eq!(world.restarts(WEB), [0; 0]);
}

/// Somebody else has replaced the pods.
#[test]
fn a_rollout_before_it_opens() {
    let mut world = with(LATER);
    set(&mut world, 60_000, "2");
    world.pass(120_000);
    world.change(120_000, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    assert_eq!(pending(&world), Value::Null);
    world.pass(CLOSES);
    assert_eq!(world.restarts(WEB), [0; 0]);
}

/// What pods had is not known, and it is not found out later by the time of a write alone.
#[test]
fn an_unknown_difference_outlives_the_controller() {
    let mut world = World::new(Profile::Safe);
    world.config(0, "c", json!({"k": "1"}));
    let mut web = super::world::deployment("web", super::world::env_from(&["c"], false));
    web["metadata"]["annotations"][names::WINDOW] = LATER.into();
    (web["metadata"]["resourceVersion"], web["metadata"]["uid"]) = ("1".into(), "web".into());
    // The config is written again before the workload is seen.
    world.config(100, "c", json!({"k": "2"}));
    world.object_as_it_was(200, WEB, web);
    world.pass(60_000);
    assert_eq!((world.applied(WEB).as_str(), world.restarts(WEB).len()), (r#"{"configmap/ns/c":""}"#, 0));
    world.restart_controller();
    world.pass(CLOSES);
    assert_eq!(world.restarts(WEB), [OPENS]);
}

#[test]
fn the_schedule_changes_while_something_is_pending() {
    let mut world = with(LATER);
    set(&mut world, 60_000, "2");
    world.pass(120_000);
    world.change(120_000, WEB, |web| {
        web["metadata"]["annotations"][names::WINDOW] = "Mon 00:45-01:00 UTC".into();
    });
    assert_eq!(
        (&pending(&world)["since"], &pending(&world)["until"]),
        (&json!("2026-01-05T00:01:00Z"), &json!("2026-01-05T00:45:00Z"),)
    );
    world.change(180_000, WEB, |web| {
        web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::WINDOW);
    });
    assert_eq!((world.restarts(WEB), pending(&world)), (vec![180_000], Value::Null));
}

/// A change of the annotation alone is none of the data.
#[test]
fn a_schedule_that_changes_restarts_nothing() {
    let mut world = with(LATER);
    world.change(60_000, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = "Mon 00:00-24:00 UTC".into());
    world.pass(CLOSES);
    assert_eq!((world.restarts(WEB).len(), world.records(WEB).len()), (0, 0));
}

#[test]
fn a_schedule_that_cannot_be_read_never_opens() {
    let mut world = with("Mon-Fri at night");
    set(&mut world, 60_000, "2");
    world.pass(CLOSES);
    let shown = json!({"configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z"});
    assert_eq!((world.restarts(WEB).len(), pending(&world), world.agent.next()), (0, shown, None));
    assert_eq!(world.told, ["pending"]);
    world.change(CLOSES, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = "nor so".into());
    assert_eq!(world.told, ["pending", "bad annotation"]);
    world.change(CLOSES, WEB, |web| web["metadata"]["annotations"][names::WINDOW] = "Mon 00:00-24:00 UTC".into());
    assert_eq!((world.restarts(WEB).len(), pending(&world)), (1, Value::Null));
}

#[test]
fn a_namespace_has_one_for_workloads_without() {
    let namespace = |schedule: Value| json!({"metadata": {"name": "ns", "annotations": {names::WINDOW: schedule}}});
    let mut world = World::new(Profile::Safe).settled();
    world.deployment(60_000, "own", &["c"]);
    world.change(60_000, "deployment/own", |own| {
        own["metadata"]["annotations"][names::WINDOW] = "Mon 00:00-24:00 UTC".into();
    });
    world.object(60_000, "namespace/ns", namespace(LATER.into()));
    world.object(60_000, "namespace/other", json!({"metadata": {"name": "other"}}));
    set(&mut world, 120_000, "2");
    world.pass(180_000);
    assert_eq!((world.restarts("deployment/own"), world.restarts(WEB)), (vec![125_000], vec![]));
    assert_eq!(pending(&world)["until"], "2026-01-05T00:30:00Z");
    world.object(180_000, "namespace/ns", namespace("Mon 00:20-00:30 UTC".into()));
    assert_eq!(pending(&world)["until"], "2026-01-05T00:20:00Z");
    world.delete(240_000, "namespace/ns");
    assert_eq!((world.restarts(WEB), pending(&world)), (vec![240_000], Value::Null));
}

#[test]
fn what_is_gathered_when_it_closes_waits_for_the_next() {
    let mut world = with("Mon 00:00-00:02 UTC; Mon 00:30-00:31 UTC");
    set(&mut world, 118_000, "2");
    world.pass(CLOSES);
    assert_eq!(world.restarts(WEB), [OPENS]);
}

/// One restart for all, and the budget counts when it opens.
#[test]
fn the_budget_counts_when_it_opens() {
    let mut world = settle(World::budget(1, 3600), "Mon 00:00-00:02 UTC; Mon 00:30-24:00 UTC");
    set(&mut world, 60_000, "2");
    world.pass(65_000);
    set(&mut world, 180_000, "3");
    world.pass(2 * CLOSES);
    assert_eq!(
        (world.restarts(WEB), world.told.as_slice()),
        (vec![65_000, 3_665_000], ["pending", "throttled"].as_slice())
    );
    assert_eq!(pending(&world), Value::Null);
}

#[test]
fn a_dry_run_says_so_once_and_goes_on() {
    let mut world = settle(World::dry(), LATER);
    set(&mut world, 60_000, "2");
    world.pass(OPENS - 1);
    assert_eq!((world.told.as_slice(), world.agent.numbers().pending), (["pending"].as_slice(), 1));
    world.change(OPENS - 1, C, |config| config["metadata"]["labels"] = json!({"a": "b"}));
    world.pass(CLOSES);
    assert_eq!(world.told, ["pending", "would restart"]);
}

#[test]
fn profile_xing_does_not_know_it() {
    let mut world = settle(World::new(Profile::Xing), LATER);
    set(&mut world, 60_000, "2");
    world.pass(120_000);
    assert_eq!((world.restarts(WEB).len(), pending(&world)), (1, Value::Null));
}
