//! sync_test.go: TestScale. Sizes are listed newest first, as in upstream; `new` says whether the
//! first one is the new ReplicaSet.

#![allow(clippy::too_many_arguments, reason = "the columns of a table")]

use rstest::rstest;

use super::fixtures::{TestDeployment, TestReplicaSet, planned_sizes};
use crate::deployment::DeploymentAction;

#[rstest]
#[case::normal_10_to_12(12, 10, 0, 0, true, &[10], &[12])]
#[case::normal_10_to_5(5, 10, 0, 0, true, &[10], &[5])]
#[case::proportional_5_to_10(10, 5, 0, 0, true, &[2, 3], &[4, 6])]
#[case::proportional_5_to_3(3, 5, 0, 0, true, &[2, 3], &[1, 2])]
#[case::proportional_9_to_4(4, 9, 0, 0, true, &[8, 1], &[4, 0])]
#[case::proportional_7_to_10(10, 7, 0, 0, true, &[2, 3, 2], &[3, 4, 3])]
#[case::proportional_13_to_8(8, 13, 0, 0, true, &[2, 8, 3], &[1, 5, 2])]
#[case::leftover_3_to_4(4, 3, 0, 0, true, &[1, 1, 1], &[2, 1, 1])]
#[case::leftover_3_to_2(2, 3, 0, 0, true, &[1, 1, 1], &[1, 1, 0])]
#[case::proportional_no_new_rs_4_to_5(5, 4, 0, 0, false, &[2, 2], &[3, 2])]
#[case::proportional_6_to_0(0, 6, 0, 0, true, &[3, 2, 1], &[0, 0, 0])]
#[case::proportional_6_to_0_with_surge(0, 6, 2, 2, true, &[3, 2, 1], &[0, 0, 0])]
#[case::proportional_0_to_6(6, 6, 0, 0, true, &[0, 0, 0], &[6, 0, 0])]
#[case::deployment_with_surge_pods(20, 10, 2, 2, true, &[6, 6], &[11, 11])]
#[case::change_both_surge_and_size(50, 10, 6, 3, true, &[5, 8], &[22, 34])]
#[case::change_both_size_and_template(14, 10, 0, 0, false, &[7, 3], &[10, 4])]
// Between upstream's tests and its integration test: 100 + 20, scaled to 120 in mid-rollout.
#[case::integration_pod_replacement(120, 100, 20, 20, true, &[20, 100], &[23, 117])]
// reference: 10 replicas, 25%/25%, stuck at 8 and 5, scaled to 30.
#[case::stuck_quarter_10_to_30(30, 10, 8, 3, true, &[5, 8], &[15, 23])]
// e2e: 10 replicas, surge 3, unavailable 2, stuck at 8 and 5, scaled to 30.
#[case::e2e_proportional(30, 10, 3, 3, true, &[5, 8], &[13, 20])]
fn test_scale(
    #[case] replicas: i32,
    #[case] before: i32,
    #[case] surge: i32,
    #[case] surge_before: i32,
    #[case] new: bool,
    #[case] sizes_before: &[i32],
    #[case] expected: &[i32],
) {
    let mut fixture = TestDeployment::new(replicas).bounds(surge, 0);
    for (age, size) in sizes_before.iter().enumerate() {
        let set = TestReplicaSet::new(&format!("rs{age}"), *size, 50 - age as u32);
        fixture = fixture.with(set.sized_for(before, before + surge_before));
    }
    assert_eq!(scaled(&fixture, new.then_some("rs0"), sizes_before), expected);
}

/// One of three updates failed in the last sync, so the annotation of rs1 still has 3.
#[test]
fn failed_rs_update() {
    let fixture = TestDeployment::new(5)
        .with(TestReplicaSet::new("rs0", 2, 50).sized_for(5, 5))
        .with(TestReplicaSet::new("rs1", 1, 40).sized_for(3, 3))
        .with(TestReplicaSet::new("rs2", 1, 30).sized_for(5, 5));
    assert_eq!(scaled(&fixture, Some("rs0"), &[2, 1, 1]), [2, 2, 1]);
}

/// The first ReplicaSet takes all added pods. The second was once scaled for a larger Deployment
/// and would shrink by its own proportion; it must not.
#[test]
fn leaves_a_replica_set_alone_when_nothing_is_left_to_add() {
    let fixture = TestDeployment::new(10)
        .with(TestReplicaSet::new("rs0", 6, 50).sized_for(6, 6))
        .with(TestReplicaSet::new("rs1", 2, 40).sized_for(20, 20));
    assert_eq!(scaled(&fixture, Some("rs0"), &[6, 2]), [8, 2]);
}

#[test]
fn saturated_but_broken_new_replica_set_does_not_affect_old_pods() {
    let fixture = TestDeployment::new(2)
        .bounds(1, 1)
        .with(TestReplicaSet::new("rs0", 2, 50).sized_for(2, 3))
        .with(TestReplicaSet::new("rs1", 1, 40).sized_for(2, 3));
    assert_eq!(scaled(&fixture, Some("rs0"), &[2, 1]), [2, 1]);
}

#[test]
fn saturated_new_replica_set_empties_old_ones_newest_first() {
    let fixture = TestDeployment::new(2)
        .bounds(1, 1)
        .with(TestReplicaSet::new("rs0", 2, 50).sized_for(2, 3).healthy(2))
        .with(TestReplicaSet::new("rs1", 1, 40))
        .with(TestReplicaSet::new("rs2", 3, 30));
    let (_, plan) = fixture.run_rule(Some("rs0"), |sync, sets| sync.scale(sets));
    assert_eq!(planned_sizes(&plan), [("rs1".to_owned(), 0), ("rs2".to_owned(), 0)]);
}

/// Issue 102551: the size is right and the annotation is stale. Nothing is written, and the scaling
/// event never ends.
#[test]
fn keeps_the_stale_annotation_of_the_only_active_replica_set() {
    let fixture = TestDeployment::new(4)
        .with(TestReplicaSet::new("rs0", 0, 50).current())
        .with(TestReplicaSet::new("rs1", 4, 40).sized_for(5, 5));
    let (_, plan) = fixture.run_rule(Some("rs0"), |sync, sets| sync.scale(sets));
    assert!(plan.is_idle());
}

/// Two active ReplicaSets under Recreate are never scaled.
#[test]
fn recreate_does_not_scale_in_proportion() {
    let fixture = TestDeployment::new(9)
        .recreate()
        .with(TestReplicaSet::new("rs0", 3, 50))
        .with(TestReplicaSet::new("rs1", 2, 40));
    let (_, plan) = fixture.run_rule(Some("rs0"), |sync, sets| sync.scale(sets));
    assert!(plan.is_idle());
}

/// Only the annotations are updated, without an event.
#[test]
fn proportional_scaling_refreshes_annotations() {
    let fixture = TestDeployment::new(10)
        .with(TestReplicaSet::new("rs0", 5, 50).sized_for(10, 10))
        .with(TestReplicaSet::new("rs1", 5, 40).sized_for(10, 12));
    let (_, plan) = fixture.run_rule(Some("rs0"), |sync, sets| sync.scale(sets));
    assert_eq!(super::fixtures::action_names(&plan), ["update"]);
    assert!(planned_sizes(&plan).is_empty());
}

/// If the total needs no change, the old ReplicaSet is annotated before the new one, although the
/// new one is larger.
#[test]
fn annotations_alone_are_written_old_before_new() {
    let fixture = TestDeployment::new(2)
        .bounds(2, 2)
        .with(TestReplicaSet::new("rs0", 3, 50).sized_for(3, 5))
        .with(TestReplicaSet::new("rs1", 1, 40).sized_for(3, 5));
    let (_, plan) = fixture.run_rule(Some("rs0"), |sync, sets| sync.scale(sets));
    let name = |action: &DeploymentAction| match action {
        DeploymentAction::UpdateReplicaSet(change) => change.name.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(plan.actions().map(name).collect::<Vec<_>>(), ["rs1", "rs0"]);
    assert!(planned_sizes(&plan).is_empty());
}

/// One event for each scaled ReplicaSet, in the order of the writes.
#[rstest]
#[case::up(10, ["Scaled up replica set rs1 from 3 to 6", "Scaled up replica set rs0 from 2 to 4"].as_slice())]
#[case::down(2, ["Scaled down replica set rs1 from 3 to 1", "Scaled down replica set rs0 from 2 to 1"].as_slice())]
fn records_an_event_for_each_scaled_replica_set(#[case] replicas: i32, #[case] expected: &[&str]) {
    let fixture = TestDeployment::new(replicas)
        .with(TestReplicaSet::new("rs0", 2, 50).sized_for(5, 5))
        .with(TestReplicaSet::new("rs1", 3, 40).sized_for(5, 5));
    let (_, plan) = fixture.run_rule(Some("rs0"), |sync, sets| sync.scale(sets));
    assert_eq!(super::fixtures::event_messages(&plan), expected);
}

/// The sizes after scaling, in the given order.
fn scaled(fixture: &TestDeployment, new: Option<&str>, before: &[i32]) -> Vec<i32> {
    let (result, plan) = fixture.run_rule(new, |sync, sets| sync.scale(sets));
    result.unwrap();
    let mut after = before.to_vec();
    for (name, size) in planned_sizes(&plan) {
        after[name.trim_start_matches("rs").parse::<usize>().unwrap()] = size;
    }
    after
}
