//! rolling_test.go.

use rstest::rstest;

use super::fixtures::{TestDeployment, TestReplicaSet, action_names, event_messages, planned_sizes};
use crate::deployment::FailurePolicy;

#[rstest]
#[case::should_not_scale_up(10, 0, 10, 0, None)]
#[case(10, 2, 10, 0, Some(2))]
#[case(10, 2, 5, 0, Some(7))]
#[case(10, 2, 10, 2, None)]
#[case::should_scale_down(10, 2, 2, 11, Some(10))]
fn reconcile_new_replica_set(
    #[case] replicas: i32,
    #[case] surge: i32,
    #[case] old: i32,
    #[case] new: i32,
    #[case] expected: Option<i32>,
) {
    let fixture = TestDeployment::new(replicas)
        .bounds(surge, 0)
        .with(TestReplicaSet::new("new", new, 2))
        .with(TestReplicaSet::new("old", old, 1));
    let (scaled, plan) = fixture.run_rule(Some("new"), |sync, sets| sync.scale_new(sets, sets.new.as_ref().unwrap()));
    assert_eq!(scaled.unwrap(), expected.is_some());
    assert_eq!(planned_sizes(&plan), expected.map(|size| ("new".to_owned(), size)).into_iter().collect::<Vec<_>>());
}

#[rstest]
#[case(0, 10, 0, 10, 0, Some(9))]
#[case(2, 10, 0, 10, 0, Some(8))]
#[case::unhealthy_are_cleaned_up(2, 10, 0, 8, 0, Some(8))]
#[case::one_unhealthy_and_one_ready(2, 10, 0, 9, 0, Some(8))]
#[case::unavailable_new_pods_are_spent(2, 8, 2, 8, 0, None)]
fn reconcile_old_replica_sets(
    #[case] unavailable: i32,
    #[case] old: i32,
    #[case] new: i32,
    #[case] old_ready: i32,
    #[case] new_ready: i32,
    #[case] expected: Option<i32>,
) {
    let fixture = TestDeployment::new(10)
        .bounds(0, unavailable)
        .with(TestReplicaSet::new("new", new, 2).healthy(new_ready))
        .with(TestReplicaSet::new("old", old, 1).healthy(old_ready));
    let (scaled, plan) =
        fixture.run_rule(Some("new"), |sync, sets| sync.scale_down_old(sets, sets.new.as_ref().unwrap()));
    assert_eq!(scaled.unwrap(), expected.is_some());
    assert_eq!(planned_sizes(&plan).last().map(|(_, size)| *size), expected);
    assert!(plan.steps.iter().all(|step| step.on_error == FailurePolicy::SkipGroup));
}

#[rstest]
#[case(8, 1, 1)]
#[case(8, 3, 2)]
#[case(8, 0, 0)]
#[case(10, 3, 0)]
fn cleanup_unhealthy_replicas(#[case] ready: i32, #[case] most: i32, #[case] expected: i32) {
    let fixture = TestDeployment::new(10).bounds(2, 2).with(TestReplicaSet::new("old", 10, 1).healthy(ready));
    let (result, _) = fixture.run_rule(None, |sync, sets| sync.scale_down_unhealthy(sets.active_old(), most));
    assert_eq!(result.unwrap().1, expected);
}

#[rstest]
#[case(0, 10, 10, Some(9))]
#[case(2, 10, 10, Some(8))]
#[case(2, 8, 10, None)]
#[case(2, 10, 0, None)]
#[case(2, 1, 10, None)]
fn scale_down_old_replica_sets_for_rolling_update(
    #[case] unavailable: i32,
    #[case] ready: i32,
    #[case] old: i32,
    #[case] expected: Option<i32>,
) {
    let fixture = TestDeployment::new(10)
        .bounds(0, unavailable)
        .with(TestReplicaSet::new("new", 0, 2))
        .with(TestReplicaSet::new("old", old, 1).healthy(ready));
    let (result, plan) = fixture.run_rule(Some("new"), |sync, sets| {
        let minimum = crate::deployment::sizes::min_available(&sync.deployment);
        sync.scale_down_healthy(&sets.old, sets.new.as_ref().unwrap(), minimum)
    });
    assert_eq!(result.unwrap() > 0, expected.is_some());
    assert_eq!(planned_sizes(&plan).last().map(|(_, size)| *size), expected);
}

/// Pods that the first ReplicaSet removes count against the budget of the second.
#[test]
fn scales_down_healthy_pods_of_two_old_replica_sets() {
    let fixture = TestDeployment::new(10)
        .bounds(0, 3)
        .with(TestReplicaSet::new("new", 0, 3))
        .with(TestReplicaSet::new("older", 1, 1).healthy(1))
        .with(TestReplicaSet::new("old", 9, 2).healthy(9));
    let (result, plan) =
        fixture.run_rule(Some("new"), |sync, sets| sync.scale_down_healthy(&sets.old, sets.new.as_ref().unwrap(), 7));
    assert_eq!(result.unwrap(), 3);
    assert_eq!(planned_sizes(&plan), [("older".to_owned(), 0), ("old".to_owned(), 7)]);
}

/// Unhealthy pods first, then healthy ones: the same ReplicaSet is written twice, each time with an
/// event.
#[test]
fn scales_one_replica_set_twice_with_an_event_each() {
    let fixture = TestDeployment::new(10)
        .bounds(0, 4)
        .with(TestReplicaSet::new("new", 0, 2).current().revision(2).sized_for(10, 10))
        .with(TestReplicaSet::new("old", 10, 1).revision(1).sized_for(10, 10).healthy(8))
        .annotate(rollout_model::names::REVISION, "2");
    let plan = fixture.plan();
    assert_eq!(
        event_messages(&plan),
        ["Scaled down replica set old from 10 to 8", "Scaled down replica set old from 8 to 6"]
    );
}

/// The status of an old ReplicaSet lags behind its last scale-down. Upstream ignores the resulting
/// invalid request.
#[test]
fn a_lagging_status_stops_scaling_down() {
    let fixture = TestDeployment::new(10)
        .bounds(0, 4)
        .with(TestReplicaSet::new("new", 2, 3).current().revision(3).sized_for(10, 10).healthy(2))
        .with(TestReplicaSet::new("older", 3, 1).revision(1).sized_for(10, 10).healthy(2))
        .with(TestReplicaSet::new("old", 4, 2).revision(2).sized_for(10, 10).healthy(6));
    let (scaled, plan) =
        fixture.run_rule(Some("new"), |sync, sets| sync.scale_down_old(sets, sets.new.as_ref().unwrap()));
    assert!(!scaled.unwrap());
    assert_eq!(planned_sizes(&plan), [("older".to_owned(), 2)], "what came before it stands");
}

/// A new template: the ReplicaSet is created and old pods are removed in the same sync. A second
/// status write would get a conflict, so there is none.
#[test]
fn creates_and_scales_down_in_one_sync() {
    let fixture = TestDeployment::new(10)
        .bounds("25%", "25%")
        .spec("progressDeadlineSeconds", 600)
        .with(TestReplicaSet::new("old", 10, 1).revision(1).sized_for(10, 13).healthy(10))
        .annotate(rollout_model::names::REVISION, "1");
    let plan = fixture.plan();
    assert_eq!(action_names(&plan), ["create", "event", "status", "update", "event"]);
    assert_eq!(planned_sizes(&plan).iter().map(|(_, size)| *size).collect::<Vec<_>>(), [3, 8]);
}
