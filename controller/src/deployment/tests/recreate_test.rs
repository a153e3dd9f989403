//! recreate_test.go.

use rstest::rstest;

use super::fixtures::{Set, World, sizes, words};

/// TestScaleDownOldReplicaSets.
#[test]
fn scales_all_old_replica_sets_to_zero() {
    let world = World::new(10)
        .recreate()
        .annotate(crate::model::names::REVISION, "1")
        .with(Set::new("a", 3, 1).sized_for(10, 10).healthy(3))
        .with(Set::new("b", 5, 2).sized_for(10, 10).healthy(5));
    let plan = world.plan();
    assert_eq!(sizes(&plan), [("a".to_owned(), 0), ("b".to_owned(), 0)]);
    assert_eq!(words(&plan), ["update", "event", "update", "event", "status"]);
}

/// Its ReplicaSet has made no pod yet, and none is there; the new one waits for the next sync all
/// the same.
#[test]
fn taking_down_comes_alone() {
    let world = World::new(3).recreate().with(Set::new("old", 3, 1).revision(1).sized_for(3, 3));
    assert_eq!(sizes(&world.plan()), [("old".to_owned(), 0)]);
}

/// TestOldPodsRunning: whether a new ReplicaSet is held back.
#[rstest]
#[case::no_old_pods(0, &[], false)]
#[case::old_rs_without_pods_but_with_status_replicas(1, &[], true)]
#[case::terminal_pods(0, &["Failed", "Succeeded"], false)]
#[case::unknown_phase(0, &["Unknown"], true)]
#[case::pending(0, &["Pending"], true)]
#[case::running(0, &["Running"], true)]
#[case::terminal_and_pending(0, &["Failed", "Succeeded", "Pending"], true)]
fn old_pods_hold_the_new_replica_set_back(#[case] status: i32, #[case] phases: &[&str], #[case] held: bool) {
    let mut world = World::new(3).recreate().with(Set::new("old", 0, 1).status("replicas", status));
    for phase in phases {
        world = world.pod("old", phase);
    }
    assert_eq!(sizes(&world.plan()).is_empty(), held);
}

#[test]
fn no_old_replica_set_at_all() {
    assert_eq!(sizes(&World::new(3).recreate().plan()).len(), 1);
}

#[test]
fn pods_of_the_new_replica_set_hold_nothing_back() {
    let new = Set::new("new", 1, 2).current().revision(1).sized_for(3, 3);
    let world =
        World::new(3).recreate().with(new.annotate(crate::model::names::DESIRED_REPLICAS, "x")).pod("new", "Running");
    assert_eq!(sizes(&world.plan()), [("new".to_owned(), 3)]);
}

#[test]
fn pods_of_strangers_hold_nothing_back() {
    let world = World::new(3).recreate().pod("someone-else", "Running");
    assert_eq!(sizes(&world.plan()).len(), 1);
}
