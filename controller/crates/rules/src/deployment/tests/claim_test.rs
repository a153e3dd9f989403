//! deployment_controller_test.go: TestGetReplicaSetsForDeployment and …AdoptRelease; replica_set
//! integration: adoption.

use serde_json::json;

use super::fixtures::{TestDeployment, TestReplicaSet, now};
use crate::deployment::DeploymentPlan;
use crate::deployment::sync::DeploymentSync;
use crate::{OwnershipChange, RuleSettings};

fn claimed(fixture: &TestDeployment) -> (Vec<String>, DeploymentPlan) {
    let (observed, settings) = (fixture.observe(), RuleSettings::default());
    let mut sync = DeploymentSync::new(&observed, now(), &settings);
    let owned = sync.claim_replica_sets().unwrap().iter().map(|rs| rs.meta.name.clone()).collect();
    (owned, sync.into_plan())
}

fn adopt(name: &str) -> OwnershipChange {
    OwnershipChange::Adopt { name: name.to_owned(), uid: name.to_owned() }
}

fn release(name: &str) -> OwnershipChange {
    OwnershipChange::Release { name: name.to_owned(), uid: name.to_owned() }
}

fn owner(uid: &str, controller: bool) -> serde_json::Value {
    json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "foo", "uid": uid, "controller": controller}])
}

#[test]
fn owner_uid_decides_over_labels() {
    let fixture = TestDeployment::new(1)
        .with(TestReplicaSet::new("own", 1, 1))
        .with(TestReplicaSet::new("others", 1, 2).meta("ownerReferences", owner("someone-else", true)));
    assert_eq!(claimed(&fixture), (vec!["own".to_owned()], DeploymentPlan::default()));
}

#[test]
fn adopts_matching_orphans_and_releases_owned_ones_that_do_not_match() {
    let other = json!({"foo": "other"});
    let fixture = TestDeployment::new(1)
        .with(TestReplicaSet::new("orphan", 1, 1).meta("ownerReferences", json!([])))
        .with(
            TestReplicaSet::new("stray-orphan", 1, 2).meta("ownerReferences", json!([])).meta("labels", other.clone()),
        )
        .with(TestReplicaSet::new("stray", 1, 3).meta("labels", other));
    let (owned, plan) = claimed(&fixture);
    assert_eq!(owned, ["orphan"]);
    assert_eq!(plan.claims, [adopt("orphan"), release("stray")]);
}

/// TestGeneralReplicaSetAdoption: an owner reference without `controller` does not prevent
/// adoption.
#[test]
fn adopts_despite_owner_references_without_controller() {
    let fixture = TestDeployment::new(1)
        .with(TestReplicaSet::new("a", 1, 1).meta("ownerReferences", owner("d", false)))
        .with(TestReplicaSet::new("b", 1, 2).meta("ownerReferences", owner("someone-else", false)));
    assert_eq!(claimed(&fixture).1.claims, [adopt("a"), adopt("b")]);
}

#[test]
fn does_not_adopt_a_replica_set_being_deleted() {
    let fixture = TestDeployment::new(1).with(
        TestReplicaSet::new("a", 1, 1)
            .meta("ownerReferences", json!([]))
            .meta("deletionTimestamp", "2017-01-01T00:00:00Z"),
    );
    assert_eq!(claimed(&fixture), (Vec::new(), DeploymentPlan::default()));
}

#[test]
fn a_deployment_being_deleted_keeps_its_replica_sets_and_claims_none() {
    let fixture = TestDeployment::new(1)
        .meta("deletionTimestamp", "2017-01-01T00:00:00Z")
        .with(TestReplicaSet::new("own", 1, 1))
        .with(TestReplicaSet::new("orphan", 1, 2).meta("ownerReferences", json!([])))
        .with(TestReplicaSet::new("stray", 1, 3).meta("labels", json!({})));
    assert_eq!(claimed(&fixture), (vec!["own".to_owned()], DeploymentPlan::default()));
}

/// The patch makes the cached version out of date, so this sync writes nothing else to it.
#[test]
fn does_not_scale_an_adopted_replica_set_in_the_same_sync() {
    let fixture = TestDeployment::new(5)
        .with(TestReplicaSet::new("orphan", 1, 1).current().revision(1).meta("ownerReferences", json!([])));
    let plan = fixture.plan();
    assert_eq!(plan.claims, [adopt("orphan")]);
    let touches_it = |action: &crate::deployment::DeploymentAction| {
        matches!(action, crate::deployment::DeploymentAction::UpdateReplicaSet(_))
    };
    assert!(!plan.actions().any(touches_it));
}

#[test]
fn an_invalid_selector_fails_the_sync() {
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let plan = TestDeployment::new(1).spec("selector", selector).plan();
    assert!(plan.failure.unwrap().to_string().contains("invalid label selector"));
    assert!(plan.steps.is_empty());
}
