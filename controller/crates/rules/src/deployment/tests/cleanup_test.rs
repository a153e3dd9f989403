//! sync_test.go: TestDeploymentController_cleanupDeployment and …cleanupDeploymentOrder.

use rollout_model::names;
use rstest::rstest;
use serde_json::json;

use super::fixtures::{TestDeployment, TestReplicaSet, action_names};
use crate::deployment::DeploymentAction;

/// Old ReplicaSets as (spec, status), and how many are deleted.
#[rstest]
#[case::two_of_three(1, &[(0, 0), (0, 0), (0, 0)], 2)]
#[case::only_those_without_replicas(0, &[(0, 0), (0, 1), (1, 0), (1, 1)], 1)]
#[case::limit_zero(0, &[(0, 0), (0, 0)], 2)]
#[case::none_without_replicas(0, &[(1, 1), (1, 1)], 0)]
#[case::no_limit(i32::MAX, &[(0, 0), (0, 0), (0, 0)], 0)]
fn cleanup_deployment(#[case] limit: i32, #[case] sets: &[(i32, i32)], #[case] expected: usize) {
    let mut fixture = TestDeployment::new(1).spec("revisionHistoryLimit", limit);
    for (age, (spec, status)) in sets.iter().enumerate() {
        fixture = fixture.with(TestReplicaSet::new(&format!("rs{age}"), *spec, age as u32).status("replicas", *status));
    }
    assert_eq!(deleted(&fixture).len(), expected);
}

#[test]
fn does_not_count_a_replica_set_being_deleted() {
    let going = TestReplicaSet::new("b", 0, 2).meta("deletionTimestamp", "2017-01-01T00:00:00Z");
    let fixture =
        TestDeployment::new(1).spec("revisionHistoryLimit", 1).with(TestReplicaSet::new("a", 0, 1)).with(going);
    assert!(deleted(&fixture).is_empty());
}

#[test]
fn keeps_a_replica_set_with_a_lagging_status() {
    let fixture = TestDeployment::new(1)
        .spec("revisionHistoryLimit", 0)
        .with(TestReplicaSet::new("a", 0, 1).meta("generation", 2));
    assert!(deleted(&fixture).is_empty());
}

/// Old ReplicaSets as (revision, replicas) in order of creation, and the names of those deleted.
#[rstest]
#[case::by_revision(1, &[("1", 0), ("2", 0)], &["rs0"])]
#[case::not_by_age(1, &[("2", 0), ("1", 0)], &["rs1"])]
#[case::no_revision_goes_first(1, &[("1", 0), ("", 0)], &["rs1"])]
#[case::no_revision_goes_first_too(1, &[("", 0), ("2", 0)], &["rs0"])]
#[case::passed_over(1, &[("1", 1), ("2", 0), ("3", 0)], &["rs1"])]
#[case::passed_over_without_substitute(1, &[("1", 1), ("2", 1), ("3", 0)], &[])]
#[case::two_of_four(2, &[("3", 0), ("1", 0), ("4", 0), ("2", 0)], &["rs1", "rs3"])]
fn cleanup_deployment_order(#[case] limit: i32, #[case] sets: &[(&str, i32)], #[case] expected: &[&str]) {
    let mut fixture = TestDeployment::new(1).spec("revisionHistoryLimit", limit);
    for (age, (revision, replicas)) in sets.iter().enumerate() {
        let mut set = TestReplicaSet::new(&format!("rs{age}"), *replicas, age as u32).status("replicas", *replicas);
        if !revision.is_empty() {
            set = set.revision(revision);
        }
        fixture = fixture.with(set);
    }
    assert_eq!(deleted(&fixture), expected);
}

/// Revisions fall with age, and every third is not a number, which is compared by age: `rs2` comes
/// before `rs3` and `rs3` before `rs4`, but `rs4` before `rs2`. The standard library's sorts panic.
#[test]
fn cleans_up_replica_sets_whose_order_has_cycles() {
    let mut fixture = TestDeployment::new(1).spec("revisionHistoryLimit", 10);
    for age in 0..30_u32 {
        let revision = if age % 3 == 0 { "none".to_owned() } else { (30 - age).to_string() };
        fixture = fixture.with(TestReplicaSet::new(&format!("rs{age}"), 0, age).revision(&revision));
    }
    assert_eq!(deleted(&fixture).len(), 20);
}

/// The new ReplicaSet's size, and the available pods by the Deployment's status, which alone
/// matters for Recreate.
#[rstest]
#[case::complete(2, 2, true)]
#[case::not_all_are_there(2, 1, false)]
#[case::it_still_grows(1, 2, false)]
fn cleans_up_history_only_when_complete(#[case] size: i32, #[case] available: i32, #[case] cut: bool) {
    let counts = json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": available,
        "availableReplicas": available});
    let fixture = TestDeployment::new(2)
        .bounds(1, 0)
        .spec("revisionHistoryLimit", 0)
        .annotate(names::REVISION, "2")
        .status(counts)
        .with(TestReplicaSet::new("old", 0, 1).revision(1).sized_for(2, 3))
        .with(TestReplicaSet::new("new", size, 2).current().revision(2).sized_for(2, 3).healthy(size));
    assert_eq!(action_names(&fixture.plan()).contains(&"delete"), cut);
    assert_eq!(action_names(&fixture.recreate().plan()).contains(&"delete"), cut || size < 2);
}

fn deleted(fixture: &TestDeployment) -> Vec<String> {
    let (_, plan) = fixture.run_rule(None, |sync, sets| sync.clean_up_history(&sets.old));
    plan.actions()
        .map(|action| match action {
            DeploymentAction::DeleteReplicaSet { name } => name.clone(),
            other => panic!("unexpected {other:?}"),
        })
        .collect()
}
