//! replica_set_test.go: TestDoNotPatchPodWithOtherControlRef, TestPatchPodFails and similar tests,
//! the filters of TestGetPodKeys; integration: TestAdoption,
//! TestPodOrphaningAndAdoptionWhenLabelsChange, TestDeletingAndFailedPods.

use rstest::rstest;
use serde_json::{Value, json};

use super::fixtures::{TestPod, make_plan, observed_replica_set, pod, raw};
use crate::OwnershipChange;
use crate::replicaset::plan;

fn adopt(name: &str) -> OwnershipChange {
    OwnershipChange::Adopt { name: name.to_owned(), uid: name.to_owned() }
}

fn release(name: &str) -> OwnershipChange {
    OwnershipChange::Release { name: name.to_owned(), uid: name.to_owned() }
}

fn going(mut raw: Value) -> Value {
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    raw
}

/// The claims on a pod `a`, and whether it counts as a replica.
#[rstest]
#[case::own(raw(1), pod("a"), &[], true)]
#[case::own_that_matches_no_more(raw(1), pod("a").label("app", "db"), &[release("a")], false)]
#[case::orphan(raw(1), pod("a").orphan(), &[adopt("a")], true)]
#[case::orphan_that_does_not_match(raw(1), pod("a").orphan().label("app", "db"), &[], false)]
#[case::anothers(raw(1), pod("a").owned_by("x"), &[], false)]
#[case::own_and_failed(raw(1), pod("a").phase("Failed"), &[], false)]
#[case::own_and_succeeded(raw(1), pod("a").phase("Succeeded"), &[], false)]
#[case::own_and_going(raw(1), pod("a").deleting(), &[], false)]
#[case::orphan_and_failed(raw(1), pod("a").orphan().phase("Failed"), &[], false)]
#[case::orphan_and_going(raw(1), pod("a").orphan().deleting(), &[], false)]
#[case::failed_that_matches_no_more(raw(1), pod("a").phase("Failed").label("app", "db"), &[], false)]
#[case::own_of_one_that_is_going(going(raw(1)), pod("a"), &[], true)]
#[case::stray_of_one_that_is_going(going(raw(1)), pod("a").label("app", "db"), &[], false)]
#[case::orphan_beside_one_that_is_going(going(raw(1)), pod("a").orphan(), &[], false)]
fn adopts_releases_and_counts_pods(
    #[case] raw: Value,
    #[case] pod: TestPod,
    #[case] expected: &[OwnershipChange],
    #[case] counts: bool,
) {
    let plan = make_plan(&observed_replica_set(raw, [pod]));
    assert_eq!((plan.claims.as_slice(), plan.active.len()), (expected, usize::from(counts)));
}

/// A ReplicaSet without a selector matches nothing, so it releases its pods. API validation refuses
/// such a ReplicaSet.
#[test]
fn releases_all_pods_without_a_selector() {
    let mut raw = raw(1);
    raw["spec"]["selector"] = Value::Null;
    assert_eq!(make_plan(&observed_replica_set(raw, [pod("a")])).claims, [release("a")]);
}

#[test]
fn an_invalid_selector_ends_the_sync() {
    let mut raw = raw(1);
    raw["spec"]["selector"] = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let observed = observed_replica_set(raw, []);
    let error = plan(&observed, super::fixtures::now()).unwrap_err();
    assert!(error.to_string().contains("invalid label selector"), "{error}");
}
