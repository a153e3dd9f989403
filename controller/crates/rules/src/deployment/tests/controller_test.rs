//! deployment_controller_test.go: whole syncs.

use rollout_model::{Condition, names};
use serde_json::json;

use super::fixtures::{TestDeployment, TestReplicaSet, action_names, event_messages, planned_sizes, written_status};
use crate::deployment::{DeploymentAction, FailurePolicy};

/// TestSyncDeploymentCreatesReplicaSet. Upstream writes the status twice, and the second write gets
/// a conflict.
#[test]
fn creates_replica_set() {
    let plan = TestDeployment::new(1).spec("progressDeadlineSeconds", 600).plan();
    assert_eq!(action_names(&plan), ["create", "event", "status"]);
    let Some(DeploymentAction::UpdateStatus(change)) = plan.actions().last() else { panic!("{plan:?}") };
    assert_eq!(change.revision.as_deref(), Some("1"));
    assert_eq!(change.status.conditions[0].reason, "NewReplicaSetCreated");
}

/// Creating a ReplicaSet with 0 replicas is not scaling and records no event.
#[test]
fn creates_a_replica_set_without_pods_silently() {
    assert_eq!(action_names(&TestDeployment::new(0).spec("progressDeadlineSeconds", 600).plan()), ["create", "status"]);
}

/// TestSyncDeploymentDontDoAnythingDuringDeletion.
#[test]
fn updates_only_the_status_during_deletion() {
    let fixture =
        TestDeployment::new(3).meta("deletionTimestamp", "2017-01-01T00:00:00Z").with(TestReplicaSet::new("old", 1, 1));
    assert_eq!(action_names(&fixture.plan()), ["status"]);
}

/// TestDontSyncDeploymentsWithEmptyPodSelector.
#[test]
fn an_empty_selector_is_refused() {
    let plan = TestDeployment::new(1).spec("selector", json!({})).plan();
    assert_eq!(action_names(&plan), ["event", "status"]);
    assert_eq!(event_messages(&plan), ["This deployment is selecting all pods. A non-empty selector is required."]);
    assert_eq!(plan.steps[1].on_error, FailurePolicy::Ignore);
    let observed = TestDeployment::new(1).spec("selector", json!({})).status(json!({"observedGeneration": 1}));
    assert_eq!(action_names(&observed.plan()), ["event"]);
}

#[test]
fn an_unknown_strategy_fails_the_sync() {
    let fixture = TestDeployment::new(1).spec("strategy", json!({"type": "Magic"}));
    assert!(fixture.plan().failure.unwrap().to_string().contains("Magic"));
}

/// A settled Deployment, with nothing to do and nothing to wait for.
fn settled() -> TestDeployment {
    TestDeployment::new(3)
        .spec("progressDeadlineSeconds", 600)
        .annotate(names::REVISION, "1")
        .with(TestReplicaSet::new("new", 3, 1).current().revision(1).sized_for(3, 3).healthy(3))
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
fn plans_nothing_when_settled() {
    let plan = settled().plan();
    assert!(plan.is_idle());
    assert_eq!(plan.requeue, None);
}

/// e2e status endpoints: a status that another client has changed is corrected; conditions of
/// unknown types are kept.
#[test]
fn a_tampered_status_is_repaired() {
    let mut fixture = settled();
    fixture.deployment["status"]["readyReplicas"] = 0.into();
    fixture.deployment["status"]["conditions"][0] = json!({"type": "StatusPatched", "status": "True", "new": 1});
    let plan = fixture.plan();
    let written = written_status(&plan).unwrap();
    assert_eq!(written.ready_replicas, 3);
    assert!(
        Condition::find(&written.conditions, "StatusPatched")
            .is_some_and(|condition| condition.extra_fields.contains_key("new"))
    );
    assert!(Condition::find(&written.conditions, "Available").is_some());
}

/// Annotations and minReadySeconds are copied in one write, and nothing else follows in that sync.
#[test]
fn writes_annotations_and_min_ready_seconds_together() {
    let plan = settled().annotate("user", "x").annotate(names::REVISION, "1").spec("minReadySeconds", 5).plan();
    assert_eq!(action_names(&plan), ["update"]);
    let Some(DeploymentAction::UpdateReplicaSet(change)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(change.min_ready_seconds, Some(5));
    assert_eq!(change.annotations, [("user".to_owned(), "x".to_owned())].into());
    assert_eq!(change.replicas, None);
}

/// While paused, the annotation write returns a new version, so scaling follows in the same sync.
#[test]
fn updates_annotations_and_scales_in_one_sync_while_paused() {
    let fixture = settled().annotate("user", "x").spec("paused", true).spec("replicas", 5);
    let plan = fixture.plan();
    assert_eq!(action_names(&plan), ["status", "update", "update", "event"]);
    assert_eq!(planned_sizes(&plan), [("new".to_owned(), 5)]);
    assert_eq!(written_status(&plan).unwrap().conditions.last().unwrap().reason, "DeploymentPaused");
}

/// While paused with another template, no ReplicaSet is created or scaled.
#[test]
fn starts_no_rollout_while_paused() {
    let mut fixture = settled().spec("paused", true);
    fixture.deployment["spec"]["template"] = super::fixtures::template("app:newer");
    assert!(!action_names(&fixture.plan()).contains(&"create"));
    assert!(planned_sizes(&fixture.plan()).is_empty());
}

/// Neither pausing nor resuming overwrites an exceeded deadline.
#[test]
fn pausing_keeps_an_exceeded_deadline() {
    let mut fixture = settled().spec("paused", true);
    fixture.deployment["status"]["conditions"][1] =
        json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"});
    assert!(fixture.plan().is_idle());
}

#[test]
fn resuming_restarts_the_deadline() {
    let mut fixture = settled();
    fixture.deployment["status"]["conditions"][1] =
        json!({"type": "Progressing", "status": "Unknown", "reason": "DeploymentPaused"});
    let plan = fixture.plan();
    assert_eq!(action_names(&plan), ["status"]);
    let resumed = written_status(&plan).unwrap().conditions.last().unwrap();
    assert_eq!((resumed.reason.as_str(), resumed.message.as_str()), ("DeploymentResumed", "Deployment is resumed"));
    assert_eq!(resumed.last_update_time, Some(super::fixtures::now()));
}

/// Without the condition Progressing, the existing ReplicaSet is reported as found.
#[test]
fn reports_an_existing_replica_set_as_found() {
    let mut fixture = settled();
    fixture.deployment["status"]["conditions"] = json!([]);
    let plan = fixture.plan();
    let Some(DeploymentAction::UpdateStatus(change)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(change.status.conditions[0].message, "Found new replica set \"new\"");
}

/// A change of replicas is handled before a change of the template: old ReplicaSets are scaled up
/// first (issue 120157).
#[test]
fn scales_before_rolling_out() {
    let mut fixture = settled().spec("replicas", 5);
    fixture.deployment["spec"]["template"] = super::fixtures::template("app:newer");
    assert_eq!(planned_sizes(&fixture.plan()), [("new".to_owned(), 5)]);
}

/// A failure of the new ReplicaSet has priority over that of an old one; without any, the condition
/// is removed.
#[test]
fn copies_the_failure_of_the_new_replica_set_first() {
    let failing = |message: &str| {
        json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message,
                "lastTransitionTime": "2017-01-01T00:00:00Z"}])
    };
    let mut fixture = settled().with(TestReplicaSet::new("old", 0, 0).status("conditions", failing("old")));
    let copied = |fixture: &TestDeployment| {
        let plan = fixture.plan();
        let found = Condition::find(&written_status(&plan).unwrap().conditions, "ReplicaFailure").cloned();
        found.map(|condition| (condition.message.clone(), condition.last_update_time == condition.last_transition_time))
    };
    assert_eq!(copied(&fixture), Some(("old".to_owned(), true)));
    fixture.sets[0]["status"]["conditions"] = failing("new");
    assert_eq!(copied(&fixture), Some(("new".to_owned(), true)));
    let mut fixture = settled();
    fixture.deployment["status"]["conditions"].as_array_mut().unwrap().push(failing("gone")[0].clone());
    assert_eq!(copied(&fixture), None);
}
