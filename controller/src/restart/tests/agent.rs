//! What the agent keeps besides the rules: when to look at what, whom to tell of what, and the
//! numbers for the metrics.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;

use super::super::Profile;
use super::super::numbers::Numbers;
use super::super::work::{Action, Outcome};
use super::world::{C, WEB, World, deployment, env_from};
use crate::model::names::restart as names;

use Profile::{Safe, Xing};

/// One that uses two configs, of which it has one in a version since replaced.
fn changed(world: World) -> World {
    let mut world = world.settled();
    world.writes.clear();
    world.config(60_000, "c", json!({"k": "2"}));
    world
}

/// Scenarios 68 and 69.
#[rstest]
fn all_numbers(#[values(Xing, Safe)] profile: Profile) {
    let mut world = changed(World::new(profile));
    world.object(60_000, "deployment/other", deployment("other", json!({"containers": []})));
    world.change(60_000, "deployment/other", |other| other["metadata"]["annotations"] = json!({}));
    world.deployment(60_000, "third", &["c3"]);
    let numbers = world.agent.numbers();
    // A workload that is new waits, too, in xing's; and its own record was a version.
    let waiting = if profile == Xing { 2 } else { 1 };
    let known = Numbers { versions: 8, configs: 3, workloads: 2, waiting, ..Numbers::default() };
    assert_eq!(Numbers { processed: 0, ..numbers }, known);
    let before = numbers.processed;
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
    let after = world.agent.numbers();
    assert_eq!((after.processed, after.waiting, after.versions), (before + waiting as u64, 0, known.versions + 1));
}

/// Scenario 54: of what still waits at the end only what was seen twice is processed.
#[rstest]
#[case::once(&[], &[], 0)]
#[case::twice(&["c"], &[61_000], 1)]
#[case::two_of_them_once(&["c2"], &[], 0)]
#[case::one_twice_and_one_once(&["c", "c2"], &[61_000], 1)]
fn what_is_flushed_counts_as_processed(#[case] again: &[&str], #[case] restarts: &[u64], #[case] processed: u64) {
    let mut world = changed(World::new(Xing));
    let before = world.agent.numbers().processed;
    for name in again {
        world.config(61_000, name, json!({"k": "3"}));
    }
    world.pass(61_000);
    world.flush();
    assert_eq!((world.restarts(WEB).as_slice(), world.agent.numbers().processed), (restarts, before + processed));
}

#[test]
fn what_is_wrong_with_an_annotation_is_told_once() {
    let mut world = changed(World::new(Safe));
    let mut bad = |text: &str| {
        world.only_seen(60_000, WEB, |web| web["metadata"]["annotations"][names::CHECKSUMS] = text.into());
        world.told.len()
    };
    assert_eq!([bad("null"), bad("null"), bad("[]"), bad("[]"), bad("{}"), bad("[]")], [1, 1, 2, 2, 2, 3]);
}

/// A kind that is listed later than the workload: what is not in the list is missing, and only then
/// that is written down.
#[test]
fn a_list_that_comes_late_says_what_is_missing() {
    let mut world = World::new(Safe);
    world.forget();
    world.object(0, WEB, deployment("web", env_from(&["c"], true)));
    world.pass(60_000);
    assert_eq!(world.writes, []);
    world.restart_controller();
    world.pass(120_000);
    assert_eq!((world.records(WEB), world.applied(WEB).as_str()), (vec![65_000], r#"{"configmap/ns/c":"absent"}"#));
}

/// One at a time: a workload whose write is under way is left alone, whatever happens meanwhile.
#[test]
fn a_write_under_way_is_waited_for() {
    let mut world = changed(World::new(Safe));
    let at = Duration::from_secs(65);
    let works = world.agent.take(at, world.now());
    let [work] = works.as_slice() else { panic!("{works:?}") };
    assert!(matches!(work.action, Action::Write(_)));
    world.only_seen(65_100, WEB, |web| web["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(world.writes, []);
    assert_eq!(world.agent.next(), None);
    world.agent.finished(&work.observed, Outcome::Failed(None), Duration::from_millis(65_300));
    assert_eq!(world.agent.next(), Some(Duration::from_millis(65_500)));
}

/// X6: 200 ms, and twice as long each time; no change in between makes it sooner.
#[test]
fn after_a_failure_nothing_is_tried_before_its_time() {
    let mut world = changed(World::new(Safe));
    world.refuses = true;
    world.pass(65_000);
    let next = |world: &World| world.agent.next().map(|next| next.as_millis());
    assert_eq!(next(&world), Some(65_200));
    world.change(65_100, WEB, |web| web["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(next(&world), Some(65_200));
    world.pass(65_200);
    assert_eq!(next(&world), Some(65_600));
}

/// Waiting for the budget is no reason not to look: what waited is no longer due.
#[test]
fn what_waits_for_its_budget_is_looked_at_again() {
    let mut world = changed(World::budget(1, 3600));
    world.pass(70_000);
    world.config(70_000, "c", json!({"k": "3"}));
    world.pass(80_000);
    assert_eq!((world.restarts(WEB).len(), world.agent.numbers().throttled), (1, 1));
    world.change(90_000, C, |config| config["data"] = json!({"k": "2"}));
    assert_eq!((world.agent.numbers().throttled, world.agent.next()), (0, None));
}
