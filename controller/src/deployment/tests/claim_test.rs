//! deployment_controller_test.go: TestGetReplicaSetsForDeployment and …AdoptRelease; replica_set
//! integration: adoption.

use serde_json::json;

use super::fixtures::{Set, World, now};
use crate::Settings;
use crate::deployment::sync::Sync;
use crate::deployment::{Claim, Plan};

fn claimed(world: &World) -> (Vec<String>, Plan) {
    let (observed, settings) = (world.observed(), Settings::default());
    let mut sync = Sync::new(&observed, now(), &settings);
    let owned = sync.claim().unwrap().iter().map(|rs| rs.meta.name.clone()).collect();
    (owned, sync.into_plan())
}

fn adopt(name: &str) -> Claim {
    Claim::Adopt { name: name.to_owned(), uid: name.to_owned() }
}

fn release(name: &str) -> Claim {
    Claim::Release { name: name.to_owned(), uid: name.to_owned() }
}

fn owner(uid: &str, controller: bool) -> serde_json::Value {
    json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "foo", "uid": uid, "controller": controller}])
}

#[test]
fn ownership_decides_not_labels() {
    let world = World::new(1)
        .with(Set::new("own", 1, 1))
        .with(Set::new("others", 1, 2).meta("ownerReferences", owner("someone-else", true)));
    assert_eq!(claimed(&world), (vec!["own".to_owned()], Plan::default()));
}

#[test]
fn orphans_that_match_are_adopted_and_own_ones_that_do_not_are_released() {
    let other = json!({"foo": "other"});
    let world = World::new(1)
        .with(Set::new("orphan", 1, 1).meta("ownerReferences", json!([])))
        .with(Set::new("stray-orphan", 1, 2).meta("ownerReferences", json!([])).meta("labels", other.clone()))
        .with(Set::new("stray", 1, 3).meta("labels", other));
    let (owned, plan) = claimed(&world);
    assert_eq!(owned, ["orphan"]);
    assert_eq!(plan.claims, [adopt("orphan"), release("stray")]);
}

/// TestGeneralReplicaSetAdoption: an owner that does not manage it is no obstacle.
#[test]
fn an_owner_that_does_not_manage_it_is_no_obstacle() {
    let world = World::new(1)
        .with(Set::new("a", 1, 1).meta("ownerReferences", owner("d", false)))
        .with(Set::new("b", 1, 2).meta("ownerReferences", owner("someone-else", false)));
    assert_eq!(claimed(&world).1.claims, [adopt("a"), adopt("b")]);
}

#[test]
fn what_is_going_is_not_adopted() {
    let world = World::new(1)
        .with(Set::new("a", 1, 1).meta("ownerReferences", json!([])).meta("deletionTimestamp", "2017-01-01T00:00:00Z"));
    assert_eq!(claimed(&world), (Vec::new(), Plan::default()));
}

#[test]
fn a_deployment_that_is_going_claims_nothing_but_keeps_its_own() {
    let world = World::new(1)
        .meta("deletionTimestamp", "2017-01-01T00:00:00Z")
        .with(Set::new("own", 1, 1))
        .with(Set::new("orphan", 1, 2).meta("ownerReferences", json!([])))
        .with(Set::new("stray", 1, 3).meta("labels", json!({})));
    assert_eq!(claimed(&world), (vec!["own".to_owned()], Plan::default()));
}

/// The patch makes the cached version out of date, so nothing else is written to it in this sync.
#[test]
fn an_adopted_replica_set_is_not_sized_in_the_same_sync() {
    let world = World::new(5).with(Set::new("orphan", 1, 1).current().revision(1).meta("ownerReferences", json!([])));
    let plan = world.plan();
    assert_eq!(plan.claims, [adopt("orphan")]);
    let touches_it =
        |action: &crate::deployment::Action| matches!(action, crate::deployment::Action::UpdateReplicaSet(_));
    assert!(!plan.actions().any(touches_it));
}

#[test]
fn a_selector_without_meaning_fails_the_sync() {
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let plan = World::new(1).spec("selector", selector).plan();
    assert!(plan.failure.unwrap().to_string().contains("invalid label selector"));
    assert!(plan.steps.is_empty());
}
