//! deployment_controller_test.go: whole syncs.

use serde_json::json;

use super::fixtures::{Set, World, messages, sizes, status, words};
use crate::deployment::{Action, OnError};
use crate::model::{Condition, names};

/// TestSyncDeploymentCreatesReplicaSet. Upstream writes the status twice, and the second write
/// meets a conflict.
#[test]
fn creates_replica_set() {
    let plan = World::new(1).spec("progressDeadlineSeconds", 600).plan();
    assert_eq!(words(&plan), ["create", "event", "status"]);
    let Some(Action::UpdateStatus(change)) = plan.actions().last() else { panic!("{plan:?}") };
    assert_eq!(change.revision.as_deref(), Some("1"));
    assert_eq!(change.status.conditions[0].reason, "NewReplicaSetCreated");
}

/// That a ReplicaSet without pods is made is no scaling, and no event tells of it.
#[test]
fn creates_a_replica_set_without_pods_silently() {
    assert_eq!(words(&World::new(0).spec("progressDeadlineSeconds", 600).plan()), ["create", "status"]);
}

/// TestSyncDeploymentDontDoAnythingDuringDeletion.
#[test]
fn only_the_status_during_deletion() {
    let world = World::new(3).meta("deletionTimestamp", "2017-01-01T00:00:00Z").with(Set::new("old", 1, 1));
    assert_eq!(words(&world.plan()), ["status"]);
}

/// TestDontSyncDeploymentsWithEmptyPodSelector.
#[test]
fn an_empty_selector_is_refused() {
    let plan = World::new(1).spec("selector", json!({})).plan();
    assert_eq!(words(&plan), ["event", "status"]);
    assert_eq!(messages(&plan), ["This deployment is selecting all pods. A non-empty selector is required."]);
    assert_eq!(plan.steps[1].on_error, OnError::Ignore);
    let observed = World::new(1).spec("selector", json!({})).status(json!({"observedGeneration": 1}));
    assert_eq!(words(&observed.plan()), ["event"]);
}

#[test]
fn an_unknown_strategy_fails_the_sync() {
    let world = World::new(1).spec("strategy", json!({"type": "Magic"}));
    assert!(world.plan().failure.unwrap().to_string().contains("Magic"));
}

/// A settled Deployment: nothing to do, nothing to wait for.
fn settled() -> World {
    World::new(3)
        .spec("progressDeadlineSeconds", 600)
        .annotate(names::REVISION, "1")
        .with(Set::new("new", 3, 1).current().revision(1).sized_for(3, 3).healthy(3))
        .status(json!({
            "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "terminatingReplicas": 0,
            "conditions": [
                {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            ],
        }))
}

#[test]
fn nothing_to_do_when_settled() {
    let plan = settled().plan();
    assert!(plan.is_idle());
    assert_eq!(plan.requeue, None);
}

/// e2e status endpoints: a status that someone else wrote is put right; conditions of unknown types
/// stay.
#[test]
fn a_tampered_status_is_repaired() {
    let mut world = settled();
    world.deployment["status"]["readyReplicas"] = 0.into();
    world.deployment["status"]["conditions"][0] = json!({"type": "StatusPatched", "status": "True", "new": 1});
    let plan = world.plan();
    let written = status(&plan).unwrap();
    assert_eq!(written.ready_replicas, 3);
    assert!(Condition::find(&written.conditions, "StatusPatched").is_some_and(|kept| kept.other.contains_key("new")));
    assert!(Condition::find(&written.conditions, "Available").is_some());
}

/// Annotations and minReadySeconds reach the new ReplicaSet in one write, and nothing else follows
/// in that sync.
#[test]
fn annotations_and_ready_seconds_in_one_write() {
    let plan = settled().annotate("user", "x").annotate(names::REVISION, "1").spec("minReadySeconds", 5).plan();
    assert_eq!(words(&plan), ["update"]);
    let Some(Action::UpdateReplicaSet(change)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(change.min_ready_seconds, Some(5));
    assert_eq!(change.annotations, [("user".to_owned(), "x".to_owned())].into());
    assert_eq!(change.replicas, None);
}

/// Paused: the annotation write's answer is carried on, so scaling follows in the same sync.
#[test]
fn paused_refreshes_and_scales_in_one_sync() {
    let world = settled().annotate("user", "x").spec("paused", true).spec("replicas", 5);
    let plan = world.plan();
    assert_eq!(words(&plan), ["status", "update", "update", "event"]);
    assert_eq!(sizes(&plan), [("new".to_owned(), 5)]);
    assert_eq!(status(&plan).unwrap().conditions.last().unwrap().reason, "DeploymentPaused");
}

/// Paused with another template: no ReplicaSet is made, none is sized.
#[test]
fn paused_starts_no_rollout() {
    let mut world = settled().spec("paused", true);
    world.deployment["spec"]["template"] = super::fixtures::template("app:newer");
    assert!(!words(&world.plan()).contains(&"create"));
    assert!(sizes(&world.plan()).is_empty());
}

/// A deadline that passed is not covered up by pausing, nor by resuming.
#[test]
fn pausing_keeps_a_passed_deadline() {
    let mut world = settled().spec("paused", true);
    world.deployment["status"]["conditions"][1] =
        json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"});
    assert!(world.plan().is_idle());
}

#[test]
fn resuming_restarts_the_deadline() {
    let mut world = settled();
    world.deployment["status"]["conditions"][1] =
        json!({"type": "Progressing", "status": "Unknown", "reason": "DeploymentPaused"});
    let plan = world.plan();
    assert_eq!(words(&plan), ["status"]);
    let resumed = status(&plan).unwrap().conditions.last().unwrap();
    assert_eq!((resumed.reason.as_str(), resumed.message.as_str()), ("DeploymentResumed", "Deployment is resumed"));
    assert_eq!(resumed.last_update_time, Some(super::fixtures::now()));
}

/// Without any condition of progress, the ReplicaSet that is there counts as found.
#[test]
fn a_replica_set_is_found() {
    let mut world = settled();
    world.deployment["status"]["conditions"] = json!([]);
    let plan = world.plan();
    let Some(Action::UpdateStatus(change)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(change.status.conditions[0].message, "Found new replica set \"new\"");
}

/// A change of size comes before a change of template: old pods grow first (issue 120157).
#[test]
fn scaling_comes_before_rolling() {
    let mut world = settled().spec("replicas", 5);
    world.deployment["spec"]["template"] = super::fixtures::template("app:newer");
    assert_eq!(sizes(&world.plan()), [("new".to_owned(), 5)]);
}

/// A failure of the new ReplicaSet goes before that of an old one; none removes the condition.
#[test]
fn failures_are_copied() {
    let failing = |message: &str| {
        json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message,
                "lastTransitionTime": "2017-01-01T00:00:00Z"}])
    };
    let mut world = settled().with(Set::new("old", 0, 0).status("conditions", failing("old")));
    let copied = |world: &World| {
        let plan = world.plan();
        let found = Condition::find(&status(&plan).unwrap().conditions, "ReplicaFailure").cloned();
        found.map(|condition| (condition.message.clone(), condition.last_update_time == condition.last_transition_time))
    };
    assert_eq!(copied(&world), Some(("old".to_owned(), true)));
    world.sets[0]["status"]["conditions"] = failing("new");
    assert_eq!(copied(&world), Some(("new".to_owned(), true)));
    let mut world = settled();
    world.deployment["status"]["conditions"].as_array_mut().unwrap().push(failing("gone")[0].clone());
    assert_eq!(copied(&world), None);
}
