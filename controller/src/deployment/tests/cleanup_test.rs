//! sync_test.go: TestDeploymentController_cleanupDeployment and …cleanupDeploymentOrder.

use rstest::rstest;
use serde_json::json;

use super::fixtures::{Set, World, words};
use crate::deployment::Action;
use crate::model::names;

/// Old ReplicaSets as (spec, status); how many go.
#[rstest]
#[case::two_of_three(1, &[(0, 0), (0, 0), (0, 0)], 2)]
#[case::only_those_without_replicas(0, &[(0, 0), (0, 1), (1, 0), (1, 1)], 1)]
#[case::limit_zero(0, &[(0, 0), (0, 0)], 2)]
#[case::none_without_replicas(0, &[(1, 1), (1, 1)], 0)]
#[case::no_limit(i32::MAX, &[(0, 0), (0, 0), (0, 0)], 0)]
fn cleanup_deployment(#[case] limit: i32, #[case] sets: &[(i32, i32)], #[case] wanted: usize) {
    let mut world = World::new(1).spec("revisionHistoryLimit", limit);
    for (age, (spec, status)) in sets.iter().enumerate() {
        world = world.with(Set::new(&format!("rs{age}"), *spec, age as u32).status("replicas", *status));
    }
    assert_eq!(deleted(&world).len(), wanted);
}

#[test]
fn one_that_is_going_is_not_counted() {
    let going = Set::new("b", 0, 2).meta("deletionTimestamp", "2017-01-01T00:00:00Z");
    let world = World::new(1).spec("revisionHistoryLimit", 1).with(Set::new("a", 0, 1)).with(going);
    assert!(deleted(&world).is_empty());
}

#[test]
fn one_that_was_not_observed_stays() {
    let world = World::new(1).spec("revisionHistoryLimit", 0).with(Set::new("a", 0, 1).meta("generation", 2));
    assert!(deleted(&world).is_empty());
}

/// Names in order of creation, with revision and replicas.
#[rstest]
#[case::by_revision(1, &[("1", 0), ("2", 0)], &["rs0"])]
#[case::not_by_age(1, &[("2", 0), ("1", 0)], &["rs1"])]
#[case::no_revision_goes_first(1, &[("1", 0), ("", 0)], &["rs1"])]
#[case::no_revision_goes_first_too(1, &[("", 0), ("2", 0)], &["rs0"])]
#[case::passed_over(1, &[("1", 1), ("2", 0), ("3", 0)], &["rs1"])]
#[case::passed_over_without_substitute(1, &[("1", 1), ("2", 1), ("3", 0)], &[])]
#[case::two_of_four(2, &[("3", 0), ("1", 0), ("4", 0), ("2", 0)], &["rs1", "rs3"])]
fn cleanup_deployment_order(#[case] limit: i32, #[case] sets: &[(&str, i32)], #[case] wanted: &[&str]) {
    let mut world = World::new(1).spec("revisionHistoryLimit", limit);
    for (age, (revision, replicas)) in sets.iter().enumerate() {
        let mut set = Set::new(&format!("rs{age}"), *replicas, age as u32).status("replicas", *replicas);
        if !revision.is_empty() {
            set = set.revision(revision);
        }
        world = world.with(set);
    }
    assert_eq!(deleted(&world), wanted);
}

/// The new ReplicaSet's size, and how many pods are available by the Deployment's status, which is
/// all that a Recreate asks.
#[rstest]
#[case::at_rest(2, 2, true)]
#[case::not_all_are_there(2, 1, false)]
#[case::it_still_grows(1, 2, false)]
fn history_is_cut_at_rest_only(#[case] size: i32, #[case] available: i32, #[case] cut: bool) {
    let counts = json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": available,
        "availableReplicas": available});
    let world = World::new(2)
        .bounds(1, 0)
        .spec("revisionHistoryLimit", 0)
        .annotate(names::REVISION, "2")
        .status(counts)
        .with(Set::new("old", 0, 1).revision(1).sized_for(2, 3))
        .with(Set::new("new", size, 2).current().revision(2).sized_for(2, 3).healthy(size));
    assert_eq!(words(&world.plan()).contains(&"delete"), cut);
    assert_eq!(words(&world.recreate().plan()).contains(&"delete"), cut || size < 2);
}

fn deleted(world: &World) -> Vec<String> {
    let (_, plan) = world.part(None, |sync, sets| sync.clean_up(&sets.old));
    plan.actions()
        .map(|action| match action {
            Action::DeleteReplicaSet { name } => name.clone(),
            other => panic!("unexpected {other:?}"),
        })
        .collect()
}
