//! replica_set_test.go: TestDoNotPatchPodWithOtherControlRef, TestPatchPodFails and its kin,
//! TestGetPodKeys' filters; integration: TestAdoption, TestPodOrphaningAndAdoptionWhenLabelsChange,
//! TestDeletingAndFailedPods.

use rstest::rstest;
use serde_json::{Value, json};

use super::fixtures::{Made, observed, planned, pod, raw};
use crate::replicaset::{Claim, plan};

fn adopt(name: &str) -> Claim {
    Claim::Adopt { name: name.to_owned(), uid: name.to_owned() }
}

fn release(name: &str) -> Claim {
    Claim::Release { name: name.to_owned(), uid: name.to_owned() }
}

fn going(mut raw: Value) -> Value {
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    raw
}

/// What becomes of a pod `a`: a claim, and whether it counts.
#[rstest]
#[case::own(raw(1), pod("a"), &[], true)]
#[case::own_that_matches_no_more(raw(1), pod("a").label("app", "db"), &[release("a")], false)]
#[case::orphan(raw(1), pod("a").orphan(), &[adopt("a")], true)]
#[case::orphan_that_does_not_match(raw(1), pod("a").orphan().label("app", "db"), &[], false)]
#[case::anothers(raw(1), pod("a").owned_by("x"), &[], false)]
#[case::own_and_failed(raw(1), pod("a").phase("Failed"), &[], false)]
#[case::own_and_succeeded(raw(1), pod("a").phase("Succeeded"), &[], false)]
#[case::own_and_going(raw(1), pod("a").going(), &[], false)]
#[case::orphan_and_failed(raw(1), pod("a").orphan().phase("Failed"), &[], false)]
#[case::orphan_and_going(raw(1), pod("a").orphan().going(), &[], false)]
#[case::failed_that_matches_no_more(raw(1), pod("a").phase("Failed").label("app", "db"), &[], false)]
#[case::own_of_one_that_is_going(going(raw(1)), pod("a"), &[], true)]
#[case::stray_of_one_that_is_going(going(raw(1)), pod("a").label("app", "db"), &[], false)]
#[case::orphan_beside_one_that_is_going(going(raw(1)), pod("a").orphan(), &[], false)]
fn claims(#[case] raw: Value, #[case] pod: Made, #[case] expected: &[Claim], #[case] counts: bool) {
    let plan = planned(&observed(raw, [pod]));
    assert_eq!((plan.claims.as_slice(), plan.active.len()), (expected, usize::from(counts)));
}

/// Nothing selected is nothing owned: what was is let go of. The API lets no such one in.
#[test]
fn without_a_selector_all_are_released() {
    let mut raw = raw(1);
    raw["spec"]["selector"] = Value::Null;
    assert_eq!(planned(&observed(raw, [pod("a")])).claims, [release("a")]);
}

#[test]
fn a_selector_without_meaning_ends_the_sync() {
    let mut raw = raw(1);
    raw["spec"]["selector"] = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let observed = observed(raw, []);
    let error = plan(&observed, super::fixtures::now(), &crate::Settings::default()).unwrap_err();
    assert!(error.to_string().contains("invalid label selector"), "{error}");
}
