//! Delays, and restarts of a group in an order and a few at a time.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use super::super::{GroupSettings, Limit, Profile, RestartSettings};
use super::world::{World, deployment, env_from};
use crate::model::names::restart as names;

const A: &str = "deployment/a";
const B: &str = "deployment/b";
const C: &str = "deployment/c";

/// With these Deployments, which use one config and are available, and these annotations.
fn settle(mut world: World, all: &[(&str, &[(&str, &str)])]) -> World {
    world.config(0, "c", json!({"k": "1"}));
    for (name, annotations) in all {
        let mut object = deployment(name, env_from(&["c"], false));
        for (annotation, value) in *annotations {
            object["metadata"]["annotations"][annotation] = (*value).into();
        }
        let path = format!("deployment/{name}");
        world.object(1000, &path, object);
        world.complete(1000, &path);
    }
    world.pass(60_000);
    assert!(world.writes.iter().all(|(_, _, restart)| restart.is_none()));
    world.writes.clear();
    world.told.clear();
    world
}

/// Three of which one may be unavailable.
fn three() -> World {
    settle(World::new(Profile::Safe), &[("a", &[]), ("b", &[(names::MAX_UNAVAILABLE, "1")]), ("c", &[])])
}

fn set(world: &mut World, at: u64, data: &str) {
    world.config(at, "c", json!({"k": data}));
}

fn pending(world: &World, path: &str) -> Value {
    world.get(path)["metadata"]["annotations"][names::PENDING]
        .as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn restarts(world: &World) -> [Vec<u64>; 3] {
    [A, B, C].map(|path| world.restarts(path))
}

#[test]
fn one_at_a_time() {
    let mut world = three();
    set(&mut world, 60_000, "2");
    world.pass(90_000);
    assert_eq!(restarts(&world), [vec![65_000], vec![], vec![]]);
    let shown = json!({"configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z", "waitsFor": "turn"});
    assert_eq!([A, B, C].map(|path| pending(&world, path)), [Value::Null, shown.clone(), shown]);
    assert_eq!((world.told.as_slice(), world.agent.numbers().pending), (["pending"; 2].as_slice(), 2));
    // Nothing is written while it waits.
    assert_eq!(world.writes.len(), 3);
    world.complete(100_000, A);
    assert_eq!(restarts(&world), [vec![65_000], vec![100_000], vec![]]);
    world.complete(110_000, B);
    world.complete(120_000, C);
    assert_eq!(restarts(&world), [vec![65_000], vec![100_000], vec![110_000]]);
    assert_eq!((world.writes.len(), world.told.len(), world.agent.numbers().pending), (5, 2, 0));
    assert_eq!([A, B, C].map(|path| pending(&world, path)), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(world.agent.next(), None);
}

/// On a real server the generation of a Deployment grows with its annotations, too, so one that has
/// just been marked as pending looks as if it were rolled out.
#[test]
fn what_is_marked_as_pending_has_not_its_turn_for_that() {
    let mut world = three();
    set(&mut world, 60_000, "2");
    world.pass(66_000);
    for path in [B, C] {
        world.change(66_000, path, |of| of["metadata"]["generation"] = 2.into());
    }
    world.pass(70_000);
    assert_eq!(restarts(&world), [vec![65_000], vec![], vec![]]);
    world.fail(70_000, A);
    world.complete(71_000, B);
    world.complete(71_000, C);
    assert_eq!(restarts(&world), [vec![65_000], vec![], vec![]]);
}

/// Who is unavailable follows from the objects.
#[test]
fn a_controller_that_begins_anew_goes_on_where_it_was() {
    let mut world = three();
    set(&mut world, 60_000, "2");
    world.pass(70_000);
    world.restart_controller();
    world.pass(80_000);
    assert_eq!(restarts(&world), [vec![65_000], vec![], vec![]]);
    assert_eq!((world.told.len(), world.agent.numbers().pending), (2, 2), "it was said before");
    world.forget();
    world.complete(90_000, A);
    assert_eq!(restarts(&world), [vec![65_000], vec![], vec![]]);
    world.restart_controller();
    world.pass(100_000);
    assert_eq!(restarts(&world), [vec![65_000], vec![95_000], vec![]]);
}

#[rstest]
#[case::number("2", 2)]
#[case::percentage("50%", 2)]
#[case::rounded_down("49%", 1)]
#[case::one_at_least("1%", 1)]
#[case::more_than_there_are("9", 4)]
fn so_many_at_a_time(#[case] limit: &str, #[case] expected: usize) {
    let limited: &[(&str, &str)] = &[(names::MAX_UNAVAILABLE, limit)];
    let mut world = settle(World::new(Profile::Safe), &[("a", &[]), ("b", limited), ("c", &[]), ("d", &[])]);
    set(&mut world, 60_000, "2");
    world.pass(90_000);
    assert_eq!(world.writes.iter().filter(|(_, _, restart)| restart.is_some()).count(), expected);
}

/// The smallest limit of the group's workloads, else the namespace's, else the flag's.
#[test]
fn where_a_limit_comes_from() {
    let turns = GroupSettings { limit: Some(Limit::Workloads(3)), ..GroupSettings::default() };
    let flag = || RestartSettings { turns, ..RestartSettings::default() };
    let namespace = |limit: &str| json!({"metadata": {"name": "ns", "annotations": {names::MAX_UNAVAILABLE: limit}}});
    let started = |mut world: World| {
        set(&mut world, 60_000, "2");
        world.pass(90_000);
        world.writes.iter().filter(|(_, _, restart)| restart.is_some()).count()
    };
    let four: [(&str, &[(&str, &str)]); 4] = [("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])];
    assert_eq!(started(settle(World::with(flag()), &four)), 3);
    let mut world = settle(World::with(flag()), &four);
    world.object(60_000, "namespace/ns", namespace("2"));
    assert_eq!(started(world), 2);
    let mut world = settle(World::with(flag()), &[&four[..3], &[("d", &[(names::MAX_UNAVAILABLE, "1")])]].concat());
    world.object(60_000, "namespace/ns", namespace("2"));
    assert_eq!(started(world), 1);
    let group: &[(&str, &str)] = &[(names::GROUP, "other"), (names::MAX_UNAVAILABLE, "1")];
    assert_eq!(started(settle(World::with(flag()), &[("a", group), ("b", group), ("c", &[]), ("d", &[])])), 3);
}

/// The limit is taken away, or a workload leaves.
#[rstest]
#[case::limit_removed(&|world: &mut World| world.change(70_000, B, |b| {
    b["metadata"]["annotations"].as_object_mut().unwrap().remove(names::MAX_UNAVAILABLE);
}), [1, 1, 1])]
#[case::limit_raised(&|world: &mut World| world.change(70_000, B, |b| {
    b["metadata"]["annotations"][names::MAX_UNAVAILABLE] = "2".into();
}), [1, 1, 0])]
#[case::deleted(&|world: &mut World| world.delete(70_000, A), [1, 1, 0])]
#[case::opted_out(&|world: &mut World| world.change(70_000, A, |a| {
    a["metadata"]["annotations"].as_object_mut().unwrap().remove(names::ENABLED);
}), [1, 1, 0])]
#[case::in_another_group(&|world: &mut World| world.change(70_000, A, |a| {
    a["metadata"]["annotations"][names::GROUP] = "other".into();
}), [1, 1, 0])]
fn what_lets_the_next_go(#[case] change: &dyn Fn(&mut World), #[case] expected: [usize; 3]) {
    let mut world = three();
    set(&mut world, 60_000, "2");
    world.pass(70_000);
    change(&mut world);
    assert_eq!(restarts(&world).map(|restarts| restarts.len()), expected);
}

#[test]
fn in_an_order() {
    let order = |order: &'static str| [(names::ORDER, order)];
    let (first, second, third) = (order("-1"), order("1"), order("2"));
    let mut world = settle(World::new(Profile::Safe), &[("a", &third), ("b", &first), ("c", &second)]);
    set(&mut world, 60_000, "2");
    world.pass(90_000);
    assert_eq!(restarts(&world), [vec![], vec![65_000], vec![]]);
    world.complete(90_000, B);
    world.complete(100_000, C);
    assert_eq!(restarts(&world), [vec![100_000], vec![65_000], vec![90_000]]);
}

/// What is before it has nothing to wait for any more.
#[test]
fn data_that_goes_back_lets_the_next_go() {
    let first: &[(&str, &str)] = &[(names::ORDER, "-1"), (names::WINDOW, "Mon 01:00-02:00 UTC")];
    let mut world = settle(World::new(Profile::Safe), &[("a", &[]), ("b", first)]);
    world.config(60_000, "other", json!({"k": "1"}));
    world.change(60_000, A, |a| a["spec"]["template"]["spec"] = env_from(&["c", "other"], false));
    world.complete(60_000, A);
    world.config(70_000, "other", json!({"k": "2"}));
    set(&mut world, 70_000, "2");
    world.pass(80_000);
    assert_eq!((world.restarts(A).len(), pending(&world, A)["waitsFor"].clone()), (0, json!("turn")));
    set(&mut world, 90_000, "1");
    assert_eq!((world.restarts(A), world.restarts(B)), (vec![90_000], vec![]));
}

#[test]
fn a_failed_one_stops_the_others_until_it_is_available() {
    let mut world = three();
    set(&mut world, 60_000, "2");
    world.pass(70_000);
    world.fail(100_000, A);
    assert_eq!(world.told, ["pending", "pending", "stopped", "stopped"]);
    let numbers = world.agent.numbers();
    assert_eq!((numbers.pending, numbers.stopped), (2, 2));
    assert_eq!(pending(&world, B)["stoppedBy"], "deployment/ns/a");
    world.restart_controller();
    world.pass(3_600_000);
    assert_eq!((restarts(&world), world.told.len()), ([vec![65_000], vec![], vec![]], 4), "nothing is said again");
    assert_eq!(world.agent.numbers().stopped, 2);
    world.complete(3_700_000, A);
    assert_eq!(restarts(&world), [vec![65_000], vec![3_700_000], vec![]]);
    assert_eq!((world.agent.numbers().pending, world.agent.numbers().stopped), (1, 0));
}

/// The change may be what repairs it.
#[test]
fn a_failed_one_restarts_when_it_is_due() {
    let mut world = three();
    set(&mut world, 60_000, "2");
    world.fail(100_000, A);
    set(&mut world, 200_000, "3");
    world.pass(300_000);
    assert_eq!(restarts(&world), [vec![65_000, 205_000], vec![], vec![]]);
    world.complete(300_000, A);
    assert_eq!(restarts(&world), [vec![65_000, 205_000], vec![300_000], vec![]]);
}

/// A StatefulSet does not say that its rollout has failed; the controller's own deadline does.
#[test]
fn the_deadline_of_what_has_none() {
    let turns = GroupSettings { limit: Some(Limit::Workloads(2)), deadline: Duration::from_secs(300) };
    let mut world = settle(World::with(RestartSettings { turns, ..RestartSettings::default() }), &[("b", &[])]);
    let mut set_of = deployment("db", env_from(&["c"], false));
    set_of["metadata"]["annotations"][names::ORDER] = "-1".into();
    set_of["status"] = json!({"currentRevision": "1", "updateRevision": "1", "updatedReplicas": 1, "readyReplicas": 1});
    world.object(60_000, "statefulset/db", set_of);
    world.pass(70_000);
    set(&mut world, 100_000, "2");
    world.pass(110_000);
    assert_eq!((world.restarts("statefulset/db"), world.restarts(B).len()), (vec![105_000], 0));
    assert_eq!(world.told, ["pending"]);
    world.pass(404_000);
    assert_eq!(world.told, ["pending"]);
    world.pass(406_000);
    assert_eq!((world.told.as_slice(), world.restarts(B).len()), (["pending", "stopped"].as_slice(), 0));
}

#[test]
fn a_write_that_is_refused_keeps_nobody_from_its_turn() {
    let mut world = three();
    set(&mut world, 60_000, "2");
    world.refuses = true;
    world.pass(66_000);
    world.refuses = false;
    world.pass(90_000);
    assert_eq!(world.writes.iter().filter(|(_, _, restart)| restart.is_some()).count(), 1);
}

#[test]
fn a_limit_that_cannot_be_read_holds_back_the_group() {
    let mut world = settle(World::new(Profile::Safe), &[("a", &[(names::MAX_UNAVAILABLE, "none")]), ("b", &[])]);
    set(&mut world, 60_000, "2");
    world.pass(3_600_000);
    assert_eq!((world.restarts(A).len(), world.restarts(B).len(), world.agent.numbers().pending), (0, 0, 2));
    world.change(3_600_000, A, |a| a["metadata"]["annotations"][names::MAX_UNAVAILABLE] = "2".into());
    assert_eq!((world.restarts(A).len(), world.restarts(B).len()), (1, 1));
}

#[rstest]
#[case::order(names::ORDER, "first")]
#[case::delay(names::DELAY, "soon")]
fn what_else_cannot_be_read_holds_back_its_workload(#[case] annotation: &str, #[case] text: &str) {
    let mut world = settle(World::new(Profile::Safe), &[("a", &[(annotation, text)]), ("b", &[])]);
    set(&mut world, 60_000, "2");
    world.pass(3_600_000);
    assert_eq!((world.restarts(A).len(), world.restarts(B).len()), (0, 1));
    world.change(3_600_000, A, |a| drop(a["metadata"]["annotations"].as_object_mut().unwrap().remove(annotation)));
    assert_eq!(world.restarts(A).len(), 1);
}

#[test]
fn a_delay_counts_from_the_first_change() {
    let mut world = settle(World::new(Profile::Safe), &[("a", &[(names::DELAY, "10m")])]);
    set(&mut world, 60_000, "2");
    set(&mut world, 300_000, "3");
    let shown = json!({
        "configs": ["configmap/ns/c"], "since": "2026-01-05T00:01:00Z", "until": "2026-01-05T00:11:00Z",
    });
    assert_eq!((pending(&world, A), world.told.as_slice()), (shown, ["pending"].as_slice()));
    world.restart_controller();
    world.pass(3_600_000);
    assert_eq!((world.restarts(A), pending(&world, A)), (vec![660_000], Value::Null));
    // The next one begins anew.
    set(&mut world, 3_600_000, "4");
    world.pass(7_200_000);
    assert_eq!(world.restarts(A), [660_000, 4_200_000]);
}

#[test]
fn a_delay_ends_in_a_window() {
    let annotations = [(names::DELAY, "10m"), (names::WINDOW, "Mon 00:00-00:05 UTC; Mon 01:00-02:00 UTC")];
    let mut world = settle(World::new(Profile::Safe), &[("a", &annotations)]);
    set(&mut world, 60_000, "2");
    world.pass(3_000_000);
    assert_eq!(pending(&world, A)["until"], "2026-01-05T01:00:00Z");
    world.pass(7_200_000);
    assert_eq!(world.restarts(A), [3_600_000]);
}

/// By its own annotation, or its namespace's, or the flag.
#[test]
fn where_a_delay_comes_from() {
    let settings = RestartSettings { delay: Duration::from_secs(100), ..RestartSettings::default() };
    let mut world = settle(World::with(settings), &[("a", &[]), ("b", &[(names::DELAY, "0s")])]);
    set(&mut world, 60_000, "2");
    world.pass(1_000_000);
    assert_eq!((world.restarts(A), world.restarts(B)), (vec![160_000], vec![65_000]));
    let namespace = json!({"metadata": {"name": "ns", "annotations": {names::DELAY: "5m"}}});
    world.object(1_000_000, "namespace/ns", namespace);
    set(&mut world, 1_000_000, "3");
    world.pass(2_000_000);
    assert_eq!((world.restarts(A)[1], world.restarts(B)[1]), (1_300_000, 1_005_000));
}

/// A budget that is spent when the delay has passed does not make it wait for another delay.
#[test]
fn a_delay_and_a_budget() {
    let settings = RestartSettings { delay: Duration::from_secs(100), ..RestartSettings::default() };
    let budget = super::super::Budget { restarts: 1, period: Duration::from_secs(600) };
    let mut world = settle(World::with(RestartSettings { budget, ..settings }), &[("a", &[])]);
    set(&mut world, 60_000, "2");
    world.pass(200_000);
    set(&mut world, 200_000, "3");
    world.pass(2_000_000);
    assert_eq!(world.restarts(A), [160_000, 760_000]);
}

#[test]
fn a_dry_run_goes_through_all_of_a_group() {
    let mut world = settle(World::dry(), &[("a", &[(names::MAX_UNAVAILABLE, "1")]), ("b", &[])]);
    set(&mut world, 60_000, "2");
    world.pass(120_000);
    assert_eq!((world.told.iter().filter(|said| **said == "would restart").count(), world.writes.len()), (2, 0));
}

#[rstest]
#[case::xing(Profile::Xing)]
fn other_profiles_do_not_know_it(#[case] profile: Profile) {
    let annotations = [(names::MAX_UNAVAILABLE, "1"), (names::DELAY, "1h"), (names::ORDER, "1")];
    let mut world = settle(World::new(profile), &[("a", &annotations), ("b", &annotations)]);
    set(&mut world, 60_000, "2");
    world.pass(120_000);
    assert_eq!((world.restarts(A).len(), world.restarts(B).len()), (1, 1));
}
