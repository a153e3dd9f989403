//! What the reconciler does besides the rules: scheduling, reports, and the values of the metrics.

use std::sync::Arc;
use std::time::Duration;

use Profile::{Safe, Xing};
use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::json;

use crate::engines::engine::RestartGauges;
use crate::engines::work::{WorkAction, WriteOutcome};
use crate::model::plan::ObservedWorkload;
use crate::model::workload::WorkloadFacts;
use crate::tests::fixture::{C, Fixture, WEB, deployment, env_from};
use crate::{Profile, WorkloadKind};

/// A workload that uses two configs, one of which has just changed.
fn changed(fixture: Fixture) -> Fixture {
    let mut fixture = fixture.settled();
    fixture.writes.clear();
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture
}

/// Scenarios 68 and 69.
#[rstest]
fn gauges_count_versions_configs_workloads_and_changes(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = changed(Fixture::new(profile));
    fixture.object(60_000, "deployment/other", deployment("other", json!({"containers": []})));
    fixture.change(60_000, "deployment/other", |other| other["metadata"]["annotations"] = json!({}));
    fixture.deployment(60_000, "third", &["c3"]);
    let gauges = fixture.reconciler.gauges();
    // In profile `xing` a new workload also waits, and its own record counts as a version.
    let waiting = if profile == Xing { 2 } else { 1 };
    let known = RestartGauges { versions: 8, configs: 3, workloads: 2, waiting, ..RestartGauges::default() };
    assert_eq!(RestartGauges { processed: 0, ..gauges }, known);
    let before = gauges.processed;
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
    let after = fixture.reconciler.gauges();
    assert_eq!((after.processed, after.waiting, after.versions), (before + waiting as u64, 0, known.versions + 1));
}

/// Scenario 54: before shutdown, only changes that were seen twice are processed.
#[rstest]
#[case::once(&[], &[], 0)]
#[case::twice(&["c"], &[61_000], 1)]
#[case::two_of_them_once(&["c2"], &[], 0)]
#[case::one_twice_and_one_once(&["c", "c2"], &[61_000], 1)]
fn flushed_changes_count_as_processed(
    #[case] changed_again: &[&str],
    #[case] restarts: &[u64],
    #[case] processed: u64,
) {
    let mut fixture = changed(Fixture::new(Xing));
    let before = fixture.reconciler.gauges().processed;
    for name in changed_again {
        fixture.config(61_000, name, json!({"k": "3"}));
    }
    fixture.advance_to(61_000);
    fixture.flush();
    assert_eq!(
        (fixture.restarts(WEB).as_slice(), fixture.reconciler.gauges().processed),
        (restarts, before + processed)
    );
}

#[test]
fn unreadable_annotation_is_reported_once() {
    let mut fixture = changed(Fixture::new(Safe));
    let mut bad = |text: &str| {
        fixture
            .change_without_running(60_000, WEB, |web| web["metadata"]["annotations"][names::CHECKSUMS] = text.into());
        fixture.reports.len()
    };
    assert_eq!([bad("null"), bad("null"), bad("[]"), bad("[]"), bad("{}"), bad("[]")], [1, 1, 2, 2, 2, 3]);
}

/// A kind is listed after the workload was seen: a config that is not in the list is missing, and
/// is recorded as such only then.
#[test]
fn late_list_shows_which_configs_are_missing() {
    let mut fixture = Fixture::new(Safe);
    fixture.replace_controller();
    fixture.object(0, WEB, deployment("web", env_from(&["c"], true)));
    fixture.advance_to(60_000);
    assert_eq!(fixture.writes, []);
    fixture.restart_controller();
    fixture.advance_to(120_000);
    assert_eq!(
        (fixture.records(WEB), fixture.checksums(WEB).as_str()),
        (vec![65_000], r#"{"configmap/ns/c":"absent"}"#)
    );
}

/// A workload with a write in flight is not planned, whatever happens in the meantime.
#[test]
fn workload_with_a_write_in_flight_is_not_planned() {
    let mut fixture = changed(Fixture::new(Safe));
    let at = Duration::from_secs(65);
    let work_items = fixture.reconciler.take_due(at, fixture.now());
    let [work] = work_items.as_slice() else { panic!("{work_items:?}") };
    assert!(matches!(work.action, WorkAction::Write(_)));
    fixture.change_without_running(65_100, WEB, |web| web["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(fixture.writes, []);
    assert_eq!(fixture.reconciler.next_due(), None);
    fixture.reconciler.on_write_finished(&work.observed, WriteOutcome::Failed(None), Duration::from_millis(65_300));
    assert_eq!(fixture.reconciler.next_due(), Some(Duration::from_millis(65_500)));
}

/// The answer to a patch arrives after the watch has shown that the workload was deleted, or
/// created again under another UID.
#[rstest]
fn late_answer_does_not_replace_what_the_watch_has_shown(
    #[values(Xing, Safe)] profile: Profile,
    #[values(false, true)] is_created_again: bool,
) {
    let mut fixture = changed(Fixture::new(profile));
    let answer = WorkloadFacts::read(WorkloadKind::Deployment, fixture.get(WEB)).unwrap();
    let observed = ObservedWorkload::of(Arc::new(answer.clone()), Duration::from_secs(60));
    fixture.delete(64_000, WEB);
    if is_created_again {
        fixture.deployment(64_000, "web", &["c3"]);
    }
    let before = fixture.reconciler.gauges();
    fixture.reconciler.on_write_finished(&observed, WriteOutcome::Updated(Box::new(answer)), Duration::from_secs(65));
    assert_eq!(before.workloads, usize::from(is_created_again));
    let after = fixture.reconciler.gauges();
    assert_eq!((after.workloads, after.configs, after.versions), (before.workloads, before.configs, before.versions));
}

/// X6: the backoff starts at 200 ms and doubles each time; no event shortens it.
#[test]
fn failed_write_is_retried_after_its_backoff() {
    let mut fixture = changed(Fixture::new(Safe));
    fixture.refuses = true;
    fixture.advance_to(65_000);
    let next = |fixture: &Fixture| fixture.reconciler.next_due().map(|next| next.as_millis());
    assert_eq!(next(&fixture), Some(65_200));
    fixture.change(65_100, WEB, |web| web["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(next(&fixture), Some(65_200));
    fixture.advance_to(65_200);
    assert_eq!(next(&fixture), Some(65_600));
}

/// A workload that waits for its budget is still planned after an event: here it is not due any
/// more.
#[test]
fn throttled_workload_is_planned_after_an_event() {
    let mut fixture = changed(Fixture::budget(1, 3600));
    fixture.advance_to(70_000);
    fixture.config(70_000, "c", json!({"k": "3"}));
    fixture.advance_to(80_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.reconciler.gauges().throttled), (1, 1));
    fixture.change(90_000, C, |config| config["data"] = json!({"k": "2"}));
    assert_eq!((fixture.reconciler.gauges().throttled, fixture.reconciler.next_due()), (0, None));
}
