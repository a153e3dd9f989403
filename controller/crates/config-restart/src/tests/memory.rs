//! How the safe profile decides about each config, alone and over time.

use std::time::Duration;

use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::{Value, json};

use crate::engines::safe::rules::{ConfigDecision, decide_config};
use crate::model::annotation_codec::ABSENT;
use crate::model::plan::{Baseline, ConfigRef, ConfigState};
use crate::model::references::ConfigUsage;
use crate::tests::fixture::{C, Fixture, WEB, deployment, env_from};
use crate::{ConfigKind, Profile};

fn present() -> ConfigState {
    let equivalent = vec!["rotated".to_owned()];
    ConfigState::Present { usage_checksum: "new".to_owned(), data_checksum: "whole".to_owned(), equivalent }
}

fn record(checksum: &str) -> ConfigDecision {
    ConfigDecision::Record(checksum.to_owned())
}

fn changed(before: &str) -> ConfigDecision {
    ConfigDecision::Changed(Some(before.to_owned()), "new".to_owned())
}

fn baseline_with(checksum: &str) -> Option<Baseline> {
    Some(Baseline::Checksum(checksum.to_owned()))
}

const REQUIRED: bool = true;
const OPTIONAL: bool = false;

/// By the recorded checksum, the current state, and the state when config and workload were first
/// seen together.
#[rstest]
#[case::the_same(Some("new"), present(), None, REQUIRED, ConfigDecision::Unchanged)]
#[case::another(Some("old"), present(), None, REQUIRED, changed("old"))]
#[case::another_optional(Some("old"), present(), None, OPTIONAL, changed("old"))]
#[case::written_by_xings(Some("whole"), present(), None, REQUIRED, record("new"))]
#[case::by_the_key_before(Some("rotated"), present(), None, REQUIRED, record("new"))]
#[case::waited_for(Some(ABSENT), present(), None, REQUIRED, record("new"))]
#[case::run_without(Some(ABSENT), present(), None, OPTIONAL, changed(ABSENT))]
#[case::new_as_it_was(None, present(), baseline_with("new"), REQUIRED, record("new"))]
#[case::new_and_changed(None, present(), baseline_with("old"), REQUIRED, changed("old"))]
#[case::new_and_changed_unseen(None, present(), Some(Baseline::Outdated), REQUIRED, ConfigDecision::Changed(None, "new".to_owned()))]
#[case::new_and_run_without(None, present(), Some(Baseline::Absent), OPTIONAL, changed(ABSENT))]
#[case::new_and_unknown(None, present(), None, OPTIONAL, record("new"))]
#[case::missing_and_required(None, ConfigState::Missing, None, REQUIRED, ConfigDecision::Unchanged)]
#[case::missing_and_optional(None, ConfigState::Missing, None, OPTIONAL, record(ABSENT))]
#[case::gone(Some("old"), ConfigState::Missing, None, REQUIRED, ConfigDecision::Unchanged)]
#[case::gone_and_optional(Some("old"), ConfigState::Missing, None, OPTIONAL, ConfigDecision::Unchanged)]
#[case::not_listed(Some("old"), ConfigState::Unknown, None, OPTIONAL, ConfigDecision::Unchanged)]
#[case::not_listed_and_new(None, ConfigState::Unknown, None, OPTIONAL, ConfigDecision::Unchanged)]
fn decides_about_one_config(
    #[case] checksums: Option<&str>,
    #[case] state: ConfigState,
    #[case] baseline: Option<Baseline>,
    #[case] required: bool,
    #[case] decision: ConfigDecision,
) {
    let usage = ConfigUsage { all_keys: true, required, ..ConfigUsage::default() };
    let config_ref =
        ConfigRef { usage, state, baseline, changes: 0, change_span: None, keys: [].into(), is_rolled_out: false };
    let checksums = checksums.map(str::to_owned);
    assert_eq!(decide_config(checksums.as_ref(), &config_ref), decision);
    // Pods that were created since then have the current data, whatever was recorded before.
    let since = decide_config(checksums.as_ref(), &ConfigRef { is_rolled_out: true, ..config_ref.clone() });
    let expected = match config_ref.state {
        ConfigState::Present { .. } if decision != ConfigDecision::Unchanged => record("new"),
        _ => decision,
    };
    assert_eq!(since, expected);
}

fn settled() -> Fixture {
    let mut fixture = Fixture::new(Profile::Safe).settled();
    fixture.writes.clear();
    fixture
}

/// X5: the event may only be late, so a config counts as missing only after its window, and each
/// config has its own.
#[test]
fn s32_missing_config_is_recorded_after_its_window() {
    let uses = |names: &[&str]| deployment("web", env_from(names, true));
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.object(1000, WEB, uses(&["c"]));
    assert_eq!(fixture.reconciler.gauges().waiting, 0, "that is no change");
    fixture.change(4000, WEB, |web| web["spec"] = uses(&["c", "d"])["spec"].clone());
    fixture.advance_to(60_000);
    assert_eq!((fixture.records(WEB), fixture.restarts(WEB)), (vec![6000, 9000], vec![]));
    assert_eq!(fixture.checksums(WEB), r#"{"configmap/ns/c":"absent","configmap/ns/d":"absent"}"#);
}

#[test]
fn s31_removed_reference_is_purged_without_a_restart() {
    let mut fixture = settled();
    fixture.change(60_000, WEB, |web| {
        web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": "c"}}]);
    });
    fixture.advance_to(120_000);
    assert_eq!((fixture.records(WEB), fixture.restarts(WEB)), (vec![60_000], vec![]));
    assert!(!fixture.checksums(WEB).contains("c2"));
}

/// Scenarios 10 and 22: only changes of data restart the window.
#[test]
fn s10_changed_labels_do_not_delay_a_restart() {
    let mut fixture = settled();
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.change(64_000, C, |config| config["metadata"]["labels"] = json!({"a": "b"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [65_000]);
}

/// Scenario 34: a late list of a kind affects what is missing of that kind, and nothing of the
/// other one.
#[test]
fn s34_late_list_does_not_affect_the_other_kind() {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.replace_controller();
    fixture.refuses = true;
    fixture.config(0, "c", json!({"k": "1"}));
    fixture.deployment(0, "web", &["c"]);
    fixture.reconciler.on_listed(ConfigKind::ConfigMap, Duration::ZERO);
    fixture.config(1000, "c", json!({"k": "2"}));
    fixture.reconciler.on_listed(ConfigKind::Secret, Duration::from_secs(1));
    fixture.refuses = false;
    fixture.advance_to(60_000);
    let restart = fixture.writes.last().unwrap().2.as_ref().unwrap();
    assert!(restart.causes[0].before.is_some(), "{restart:?}");
}

/// Scenario 33: the workload is seen at version 8 and its template was written in second 3. The
/// event of a config with a version between the two comes last. Pods waited for the config or
/// started without it.
#[rstest]
#[case::waited_for(REQUIRED, 0)]
#[case::run_without(OPTIONAL, 1)]
fn s33_late_event_of_a_config_restarts_only_pods_that_ran_without_it(#[case] required: bool, #[case] restarts: usize) {
    let of = |mut object: Value, version: u64, second: u8, fields: Value| {
        let time = format!("2026-01-01T00:00:0{second}Z");
        let more = json!({"metadata": {"uid": "u", "resourceVersion": version.to_string(), "creationTimestamp": time,
            "managedFields": [{"time": time, "fieldsV1": fields}]}});
        json_patch::merge(&mut object, &more);
        object
    };
    let mut fixture = Fixture::dry();
    fixture.deliver_stale(0, WEB, of(uses(required), 8, 3, json!({"f:spec": {"f:template": {}}})));
    fixture.deliver_stale(1000, C, of(config("1"), 6, 6, json!({"f:data": {}})));
    fixture.advance_to(60_000);
    assert_eq!(fixture.reports.len(), restarts);
}

/// Scenario 73: a dry run remembers its record instead of writing it, until another client writes
/// one.
#[test]
fn s73_dry_run_notices_a_checksum_written_by_others() {
    let mut fixture = Fixture::dry();
    fixture.config(0, "c", json!({"k": "1"}));
    fixture.deployment(0, "web", &["c"]);
    fixture.advance_to(60_000);
    assert_eq!(fixture.reports, [""; 0]);
    let edited = r#"{"configmap/ns/c":"edited"}"#;
    fixture.change(60_000, WEB, |web| web["metadata"]["annotations"][names::CHECKSUMS] = edited.into());
    fixture.advance_to(120_000);
    assert_eq!(fixture.reports, ["would restart"]);
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

/// X2, X3 and X5: versions of the config, with their data. The workload has version 5 and is seen
/// last.
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
fn workload_seen_late_restarts_for_changes_since_its_version(
    #[case] versions: &[(u64, &str)],
    #[case] required: bool,
    #[case] restarts: usize,
) {
    let mut fixture = Fixture::dry();
    for (version, data) in versions {
        fixture.deliver_stale(0, C, at_version(config(data), *version));
    }
    fixture.deliver_stale(1000, WEB, at_version(uses(required), 5));
    fixture.advance_to(60_000);
    assert_eq!(fixture.reports.len(), restarts);
}

/// Scenario 52: configs of the first list do not count as created, whichever object comes first,
/// and adopting a workload never rolls it out.
#[rstest]
fn s52_first_lists_in_any_order_restart_nothing(
    #[values(true, false)] workload_first: bool,
    #[values(3, 7)] version: u64,
) {
    let mut fixture = Fixture::dry();
    fixture.replace_controller();
    let (web, config) = (at_version(uses(OPTIONAL), 5), at_version(config("1"), version));
    let order = [(WEB, web), (C, config)];
    let turn = usize::from(!workload_first);
    for (path, object) in order.iter().cycle().skip(turn).take(2) {
        fixture.deliver_stale(0, path, object.clone());
    }
    fixture.mark_listed();
    fixture.advance_to(60_000);
    assert_eq!(fixture.reports, [""; 0]);
}

/// The controller was not running, and `managedFields` has a resolution of one second. The workload
/// was written in second 5.
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
fn managed_fields_reveal_changes_while_the_controller_was_down(
    #[case] created_second: u8,
    #[case] written_second: u8,
    #[case] required: bool,
    #[case] restarts: usize,
) {
    let second = |second: u8| format!("2026-01-01T00:00:0{second}Z");
    let managed = |at: u8, fields: Value| json!([{"time": second(at), "fieldsV1": fields}]);
    let mut web = uses(required);
    web["metadata"]["managedFields"] = managed(5, json!({"f:spec": {"f:template": {}}}));
    let mut config = config("1");
    config["metadata"]["creationTimestamp"] = second(created_second).into();
    config["metadata"]["managedFields"] = managed(written_second, json!({"f:data": {}}));
    let mut away = Fixture::dry();
    away.object(0, C, config);
    away.object(0, WEB, web);
    away.restart_controller();
    away.reports.clear();
    away.advance_to(60_000);
    assert_eq!(away.reports.len(), restarts);
}
