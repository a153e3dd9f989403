//! recreate_test.go.

use rstest::rstest;

use super::fixtures::{TestDeployment, TestReplicaSet, action_names, planned_sizes};

/// TestScaleDownOldReplicaSets.
#[test]
fn scales_all_old_replica_sets_to_zero() {
    let fixture = TestDeployment::new(10)
        .recreate()
        .annotate(rollout_model::names::REVISION, "1")
        .with(TestReplicaSet::new("a", 3, 1).sized_for(10, 10).healthy(3))
        .with(TestReplicaSet::new("b", 5, 2).sized_for(10, 10).healthy(5));
    let plan = fixture.plan();
    assert_eq!(planned_sizes(&plan), [("a".to_owned(), 0), ("b".to_owned(), 0)]);
    assert_eq!(action_names(&plan), ["update", "event", "update", "event", "status"]);
}

/// The old ReplicaSet has not created a pod yet. The new one is still created only in the next
/// sync.
#[test]
fn waits_for_the_next_sync_after_scaling_down() {
    let fixture = TestDeployment::new(3).recreate().with(TestReplicaSet::new("old", 3, 1).revision(1).sized_for(3, 3));
    assert_eq!(planned_sizes(&fixture.plan()), [("old".to_owned(), 0)]);
}

/// TestOldPodsRunning: whether the new ReplicaSet has to wait.
#[rstest]
#[case::no_old_pods(0, &[], false)]
#[case::old_rs_without_pods_but_with_status_replicas(1, &[], true)]
#[case::terminal_pods(0, &["Failed", "Succeeded"], false)]
#[case::unknown_phase(0, &["Unknown"], true)]
#[case::pending(0, &["Pending"], true)]
#[case::running(0, &["Running"], true)]
#[case::terminal_and_pending(0, &["Failed", "Succeeded", "Pending"], true)]
fn old_pods_delay_the_new_replica_set(#[case] status: i32, #[case] phases: &[&str], #[case] is_waiting: bool) {
    let mut fixture =
        TestDeployment::new(3).recreate().with(TestReplicaSet::new("old", 0, 1).status("replicas", status));
    for phase in phases {
        fixture = fixture.pod("old", phase);
    }
    assert_eq!(planned_sizes(&fixture.plan()).is_empty(), is_waiting);
}

#[test]
fn creates_the_first_replica_set_at_once() {
    assert_eq!(planned_sizes(&TestDeployment::new(3).recreate().plan()).len(), 1);
}

#[test]
fn pods_of_the_new_replica_set_do_not_delay_it() {
    let new = TestReplicaSet::new("new", 1, 2).current().revision(1).sized_for(3, 3);
    let fixture = TestDeployment::new(3)
        .recreate()
        .with(new.annotate(rollout_model::names::DESIRED_REPLICAS, "x"))
        .pod("new", "Running");
    assert_eq!(planned_sizes(&fixture.plan()), [("new".to_owned(), 3)]);
}

#[test]
fn pods_of_other_owners_do_not_delay_the_rollout() {
    let fixture = TestDeployment::new(3).recreate().pod("someone-else", "Running");
    assert_eq!(planned_sizes(&fixture.plan()).len(), 1);
}
