//! replica_set_utils_test.go: TestCalculateStatus, TestCalculateStatusConditions.

use rollout_model::{Condition, ReplicaSetStatus};
use rstest::rstest;
use serde_json::{Value, json};

use super::fixtures::{TestPod, ago, make_report, now, observed_replica_set, pod, raw};
use crate::RuleSettings;

/// A pod of the ReplicaSet with two labels in its template; `full` says whether it has both.
fn member(name: &str, full: bool) -> TestPod {
    let member = pod(name).ready(ago(0));
    if full { member.label("type", "production") } else { member }
}

fn template_of_two_labels(replicas: i32) -> Value {
    let mut raw = raw(replicas);
    raw["spec"]["template"]["metadata"]["labels"]["type"] = "production".into();
    raw
}

/// Expected: replicas, fully labeled, ready, available.
#[rstest]
#[case::one_fully_labelled_pod(&[true], (1, 1, 1, 1))]
#[case::one_not_fully_labelled_pod(&[false], (1, 0, 1, 1))]
#[case::two_fully_labelled_pods(&[true, true], (2, 2, 2, 2))]
#[case::two_not_fully_labelled_pods(&[false, false], (2, 0, 2, 2))]
#[case::one_of_each(&[true, false], (2, 1, 2, 2))]
fn counts_fully_labeled_pods(#[case] pods: &[bool], #[case] expected: (i32, i32, i32, i32)) {
    let pods = pods.iter().enumerate().map(|(number, full)| member(&number.to_string(), *full));
    let status =
        make_report(&observed_replica_set(template_of_two_labels(2), pods), None, &RuleSettings::default()).status;
    assert_eq!(numbers(&status), expected);
}

fn numbers(status: &ReplicaSetStatus) -> (i32, i32, i32, i32) {
    (status.replicas, status.fully_labeled_replicas, status.ready_replicas, status.available_replicas)
}

#[rstest]
#[case::one_non_ready_pod(pod("a").phase("Pending"), (1, 1, 0, 0))]
#[case::one_ready_but_non_available_pod(pod("a").ready(ago(0)), (1, 1, 1, 0))]
#[case::almost_available(pod("a").ready(ago(3599)), (1, 1, 1, 0))]
#[case::one_available_pod(pod("a").ready(ago(3600)), (1, 1, 1, 1))]
#[case::one_available_pod_for_a_long_time(pod("a").ready(ago(7200)), (1, 1, 1, 1))]
#[case::ready_since_an_unknown_time(pod("a").ready(None), (1, 1, 1, 0))]
#[case::ready_in_the_future(pod("a").ready(ago(-60)), (1, 1, 1, 0))]
#[case::once_ready(pod("a").with(|traits| traits.ready_since = ago(7200)), (1, 1, 0, 0))]
fn counts_ready_and_available_pods(#[case] pod: TestPod, #[case] expected: (i32, i32, i32, i32)) {
    let mut raw = raw(1);
    raw["spec"]["minReadySeconds"] = 3600.into();
    let status = make_report(&observed_replica_set(raw, [pod]), None, &RuleSettings::default()).status;
    assert_eq!(numbers(&status), expected);
}

/// Owned and matching pods that terminate and have not ended. They are reported only if the feature
/// gate is on.
#[rstest]
#[case::without_the_gate(false, None)]
#[case::with_the_gate(true, Some(2))]
fn counts_terminating_pods_if_enabled(#[case] terminating_replicas: bool, #[case] expected: Option<i32>) {
    let pods = [
        pod("a"),
        pod("b").deleting(),
        pod("c").deleting(),
        pod("d").deleting().phase("Failed"),
        pod("e").deleting().orphan(),
        pod("f").deleting().owned_by("x"),
        pod("g").deleting().label("app", "db"),
    ];
    let settings = RuleSettings { terminating_replicas, ..RuleSettings::default() };
    let status = make_report(&observed_replica_set(raw(2), pods), None, &settings).status;
    assert_eq!((status.replicas, status.terminating_replicas), (1, expected));
}

fn failed() -> Value {
    let mut raw = raw(10);
    raw["status"]["conditions"] = json!([{"type": "ReplicaFailure", "status": "True"}]);
    raw
}

/// Conditions as (reason, message). A new condition has the current time in whole seconds.
#[rstest]
#[case::failure_and_none_before_too_few(raw(2), 1, Some("fake"), &[("FailedCreate", "fake")])]
#[case::failure_and_none_before_too_many(raw(2), 3, Some("fake"), &[("FailedDelete", "fake")])]
#[case::success_and_one_before(failed(), 1, None, &[])]
#[case::failure_and_one_before(failed(), 1, Some("fake"), &[("", "")])]
#[case::success_and_none_before(raw(2), 1, None, &[])]
fn sets_and_removes_the_failure_condition(
    #[case] raw: Value,
    #[case] pods: usize,
    #[case] failure: Option<&str>,
    #[case] expected: &[(&str, &str)],
) {
    let world = observed_replica_set(raw, (0..pods).map(|number| pod(&number.to_string())));
    let conditions = make_report(&world, failure, &RuleSettings::default()).status.conditions;
    let description = |condition: &Condition| {
        assert_eq!((condition.kind.as_str(), condition.status.as_str()), ("ReplicaFailure", "True"));
        assert!(condition.last_update_time.is_none(), "there is no such field");
        (condition.reason.clone(), condition.message.clone())
    };
    let expected: Vec<_> =
        expected.iter().map(|(reason, message)| ((*reason).to_owned(), (*message).to_owned())).collect();
    assert_eq!(conditions.iter().map(description).collect::<Vec<_>>(), expected);
    if let Some(condition) = conditions.first().filter(|condition| !condition.reason.is_empty()) {
        assert_eq!(
            condition.last_transition_time.unwrap().as_nanosecond(),
            i128::from(now().as_second()) * 1_000_000_000
        );
    }
}

/// A status is written if any part of it has changed, including the generation.
#[rstest]
#[case::nothing("/status/replicas", json!(0), false)]
#[case::a_number("/status/replicas", json!(1), true)]
#[case::a_generation("/metadata/generation", json!(2), true)]
#[case::a_condition("/status/conditions", json!([{"type": "ReplicaFailure", "status": "True"}]), true)]
#[case::anothers_condition("/status/conditions", json!([{"type": "Own", "status": "True"}]), false)]
#[case::terminating_unheard_of("/status/terminatingReplicas", json!(null), true)]
fn a_status_is_changed_if_any_part_differs(#[case] field: &str, #[case] value: Value, #[case] expected: bool) {
    let mut raw = raw(0);
    let (parent, field) = field.rsplit_once('/').unwrap();
    raw.pointer_mut(parent).unwrap()[field] = value;
    assert_eq!(make_report(&observed_replica_set(raw, []), None, &RuleSettings::default()).is_changed, expected);
}

#[test]
fn writing_a_status_keeps_unknown_fields() {
    let mut raw = json!({"replicas": 4, "readyReplicas": 2, "terminatingReplicas": 1, "ofTheFuture": true});
    ReplicaSetStatus { fully_labeled_replicas: 1, observed_generation: 3, ..Default::default() }.write_over(&mut raw);
    assert_eq!(raw, json!({"replicas": 0, "fullyLabeledReplicas": 1, "observedGeneration": 3, "ofTheFuture": true}));
}
