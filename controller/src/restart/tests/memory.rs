//! What the safe profile makes of each config, on its own and as time passes.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use super::super::plan::{Baseline, Linked, Present};
use super::super::references::Use;
use super::super::safe::{Verdict, judge};
use super::super::state::ABSENT;
use super::super::{ConfigKind, Profile};
use super::world::{C, WEB, World, deployment, env_from};
use crate::model::names::restart as names;

fn there() -> Present {
    let equivalent = vec!["rotated".to_owned()];
    Present::There { used: "new".to_owned(), whole: "whole".to_owned(), equivalent }
}

fn record(checksum: &str) -> Verdict {
    Verdict::Record(checksum.to_owned())
}

fn changed(before: &str) -> Verdict {
    Verdict::Changed(Some(before.to_owned()), "new".to_owned())
}

fn had(checksum: &str) -> Option<Baseline> {
    Some(Baseline::Checksum(checksum.to_owned()))
}

const REQUIRED: bool = true;
const OPTIONAL: bool = false;

/// By what is written on the workload, what is there, and what was there when they were first seen
/// together.
#[rstest]
#[case::the_same(Some("new"), there(), None, REQUIRED, Verdict::Fine)]
#[case::another(Some("old"), there(), None, REQUIRED, changed("old"))]
#[case::another_optional(Some("old"), there(), None, OPTIONAL, changed("old"))]
#[case::written_by_xings(Some("whole"), there(), None, REQUIRED, record("new"))]
#[case::by_the_key_before(Some("rotated"), there(), None, REQUIRED, record("new"))]
#[case::waited_for(Some(ABSENT), there(), None, REQUIRED, record("new"))]
#[case::run_without(Some(ABSENT), there(), None, OPTIONAL, changed(ABSENT))]
#[case::new_as_it_was(None, there(), had("new"), REQUIRED, record("new"))]
#[case::new_and_changed(None, there(), had("old"), REQUIRED, changed("old"))]
#[case::new_and_changed_unseen(None, there(), Some(Baseline::Outdated), REQUIRED, Verdict::Changed(None, "new".to_owned()))]
#[case::new_and_run_without(None, there(), Some(Baseline::Absent), OPTIONAL, changed(ABSENT))]
#[case::new_and_nobody_knows(None, there(), None, OPTIONAL, record("new"))]
#[case::missing_and_required(None, Present::Missing, None, REQUIRED, Verdict::Fine)]
#[case::missing_and_optional(None, Present::Missing, None, OPTIONAL, record(ABSENT))]
#[case::gone(Some("old"), Present::Missing, None, REQUIRED, Verdict::Fine)]
#[case::gone_and_optional(Some("old"), Present::Missing, None, OPTIONAL, Verdict::Fine)]
#[case::not_listed(Some("old"), Present::Unknown, None, OPTIONAL, Verdict::Fine)]
#[case::not_listed_and_new(None, Present::Unknown, None, OPTIONAL, Verdict::Fine)]
fn of_one_config(
    #[case] applied: Option<&str>,
    #[case] present: Present,
    #[case] baseline: Option<Baseline>,
    #[case] required: bool,
    #[case] verdict: Verdict,
) {
    let used = Use { whole: true, required, ..Use::default() };
    let linked = Linked { used, present, baseline, changes: 0, seen: None, keys: [].into(), rolled_out: false };
    let applied = applied.map(str::to_owned);
    assert_eq!(judge(applied.as_ref(), &linked), verdict);
    // Pods that were made since have what is there now, whatever was written of the ones before
    // them.
    let since = judge(applied.as_ref(), &Linked { rolled_out: true, ..linked.clone() });
    let expected = match linked.present {
        Present::There { .. } if verdict != Verdict::Fine => record("new"),
        _ => verdict,
    };
    assert_eq!(since, expected);
}

fn settled() -> World {
    let mut world = World::new(Profile::Safe).settled();
    world.writes.clear();
    world
}

/// X5: it may only be late, so it is missing only when its window has passed, and each has its own.
#[test]
fn s32_what_is_missing_is_written_down_in_time() {
    let uses = |names: &[&str]| deployment("web", env_from(names, true));
    let mut world = World::new(Profile::Safe);
    world.object(1000, WEB, uses(&["c"]));
    assert_eq!(world.agent.numbers().waiting, 0, "that is no change");
    world.change(4000, WEB, |web| web["spec"] = uses(&["c", "d"])["spec"].clone());
    world.pass(60_000);
    assert_eq!((world.records(WEB), world.restarts(WEB)), (vec![6000, 9000], vec![]));
    assert_eq!(world.applied(WEB), r#"{"configmap/ns/c":"absent","configmap/ns/d":"absent"}"#);
}

#[test]
fn s31_a_reference_that_is_gone_is_forgotten_without_a_restart() {
    let mut world = settled();
    world.change(60_000, WEB, |web| {
        web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": "c"}}]);
    });
    world.pass(120_000);
    assert_eq!((world.records(WEB), world.restarts(WEB)), (vec![60_000], vec![]));
    assert!(!world.applied(WEB).contains("c2"));
}

/// Scenarios 10 and 22: only data opens the window anew.
#[test]
fn s10_labels_do_not_put_a_restart_off() {
    let mut world = settled();
    world.config(60_000, "c", json!({"k": "2"}));
    world.change(64_000, C, |config| config["metadata"]["labels"] = json!({"a": "b"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [65_000]);
}

/// Scenario 34: a kind that is listed late says what is missing of it, and nothing of the other.
#[test]
fn s34_a_list_changes_nothing_that_is_known() {
    let mut world = World::new(Profile::Safe);
    world.forget();
    world.refuses = true;
    world.config(0, "c", json!({"k": "1"}));
    world.deployment(0, "web", &["c"]);
    world.agent.listed(ConfigKind::ConfigMap, Duration::ZERO);
    world.config(1000, "c", json!({"k": "2"}));
    world.agent.listed(ConfigKind::Secret, Duration::from_secs(1));
    world.refuses = false;
    world.pass(60_000);
    let restart = world.writes.last().unwrap().2.as_ref().unwrap();
    assert!(restart.causes[0].before.is_some(), "{restart:?}");
}

/// Scenario 33: the workload is seen at version 8, its template was written in second 3, and the
/// event of a config from between the two comes last. Pods waited for it, or began without it.
#[rstest]
#[case::waited_for(REQUIRED, 0)]
#[case::run_without(OPTIONAL, 1)]
fn s33_a_config_that_was_there_and_its_event_is_late(#[case] required: bool, #[case] restarts: usize) {
    let of = |mut object: Value, version: u64, second: u8, fields: Value| {
        let time = format!("2026-01-01T00:00:0{second}Z");
        let more = json!({"metadata": {"uid": "u", "resourceVersion": version.to_string(), "creationTimestamp": time,
            "managedFields": [{"time": time, "fieldsV1": fields}]}});
        json_patch::merge(&mut object, &more);
        object
    };
    let mut world = World::dry();
    world.show_stale(0, WEB, of(uses(required), 8, 3, json!({"f:spec": {"f:template": {}}})));
    world.show_stale(1000, C, of(config("1"), 6, 6, json!({"f:data": {}})));
    world.pass(60_000);
    assert_eq!(world.told.len(), restarts);
}

/// Scenario 73: what a dry run remembers instead of writing it counts until somebody else writes.
#[test]
fn s73_a_dry_run_believes_what_is_written() {
    let mut world = World::dry();
    world.config(0, "c", json!({"k": "1"}));
    world.deployment(0, "web", &["c"]);
    world.pass(60_000);
    assert_eq!(world.told, [""; 0]);
    let edited = r#"{"configmap/ns/c":"edited"}"#;
    world.change(60_000, WEB, |web| web["metadata"]["annotations"][names::CHECKSUMS] = edited.into());
    world.pass(120_000);
    assert_eq!(world.told, ["would restart"]);
}

fn uses(required: bool) -> Value {
    deployment("web", env_from(&["c"], !required))
}

fn at_version(mut object: Value, version: u64) -> Value {
    object["metadata"]["resourceVersion"] = version.to_string().into();
    object["metadata"]["uid"] = "u".into();
    object
}

fn config(data: &str) -> Value {
    json!({"metadata": {"name": "c", "namespace": "ns"}, "data": {"k": data}})
}

/// X2, X3 and X5: the config at versions, with data; the workload is of version 5, and is seen only
/// when all has happened.
#[rstest]
#[case::changed_before(&[(3, "1"), (4, "2")], REQUIRED, 0)]
#[case::changed_since(&[(3, "1"), (7, "2")], REQUIRED, 1)]
#[case::changed_before_optional(&[(3, "1"), (4, "2")], OPTIONAL, 0)]
#[case::changed_since_optional(&[(3, "1"), (7, "2")], OPTIONAL, 1)]
#[case::labelled_since(&[(3, "1"), (7, "1")], REQUIRED, 0)]
#[case::labelled_since_optional(&[(3, "1"), (7, "1")], OPTIONAL, 0)]
#[case::changed_before_and_labelled_since(&[(3, "1"), (4, "2"), (7, "2")], REQUIRED, 0)]
#[case::came_before(&[(3, "1")], REQUIRED, 0)]
#[case::came_since(&[(7, "1")], REQUIRED, 0)]
#[case::came_before_optional(&[(3, "1")], OPTIONAL, 0)]
#[case::came_since_optional(&[(7, "1")], OPTIONAL, 1)]
#[case::came_since_and_labelled(&[(7, "1"), (8, "1")], REQUIRED, 0)]
#[case::came_since_and_labelled_optional(&[(7, "1"), (8, "1")], OPTIONAL, 1)]
fn a_workload_seen_late(#[case] versions: &[(u64, &str)], #[case] required: bool, #[case] restarts: usize) {
    let mut world = World::dry();
    for (version, data) in versions {
        world.show_stale(0, C, at_version(config(data), *version));
    }
    world.show_stale(1000, WEB, at_version(uses(required), 5));
    world.pass(60_000);
    assert_eq!(world.told.len(), restarts);
}

/// Scenario 52: what is in the first list has not appeared, whichever comes first, and adopting a
/// workload never rolls it out.
#[rstest]
fn s52_the_first_look_in_any_order(#[values(true, false)] workload_first: bool, #[values(3, 7)] version: u64) {
    let mut world = World::dry();
    world.forget();
    let (web, config) = (at_version(uses(OPTIONAL), 5), at_version(config("1"), version));
    let order = [(WEB, web), (C, config)];
    let turn = usize::from(!workload_first);
    for (path, object) in order.iter().cycle().skip(turn).take(2) {
        world.show_stale(0, path, object.clone());
    }
    world.list();
    world.pass(60_000);
    assert_eq!(world.told, [""; 0]);
}

/// Nobody watched: what the server remembers is by the second. The workload was written in second
/// 5.
#[rstest]
#[case::made_before(1, 1, REQUIRED, 0)]
#[case::changed_before(1, 4, REQUIRED, 0)]
#[case::changed_in_the_same_second(1, 5, REQUIRED, 0)]
#[case::changed_since(1, 9, REQUIRED, 1)]
#[case::made_since(9, 9, REQUIRED, 0)]
#[case::made_and_changed_since(8, 9, REQUIRED, 1)]
#[case::made_before_optional(1, 1, OPTIONAL, 0)]
#[case::changed_since_optional(1, 9, OPTIONAL, 1)]
#[case::made_since_optional(9, 9, OPTIONAL, 1)]
fn a_config_while_away(#[case] made: u8, #[case] written: u8, #[case] required: bool, #[case] restarts: usize) {
    let second = |second: u8| format!("2026-01-01T00:00:0{second}Z");
    let managed = |at: u8, fields: Value| json!([{"time": second(at), "fieldsV1": fields}]);
    let mut web = uses(required);
    web["metadata"]["managedFields"] = managed(5, json!({"f:spec": {"f:template": {}}}));
    let mut config = config("1");
    config["metadata"]["creationTimestamp"] = second(made).into();
    config["metadata"]["managedFields"] = managed(written, json!({"f:data": {}}));
    let mut away = World::dry();
    away.object(0, C, config);
    away.object(0, WEB, web);
    away.restart_controller();
    away.told.clear();
    away.pass(60_000);
    assert_eq!(away.told.len(), restarts);
}
