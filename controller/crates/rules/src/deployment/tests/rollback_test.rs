//! deployment_controller_test.go: TestReentrantRollback; e2e of 1.15: rollback to revision 1, to 0,
//! to a missing and to the current revision.

use rollout_model::names;
use rstest::rstest;
use serde_json::json;

use super::fixtures::{TestDeployment, TestReplicaSet, action_names, event_messages, template};
use crate::deployment::{DeploymentAction, DeploymentChange};

/// Revisions 1 (old) and 2 (new), both with a user's annotation.
fn fixture(to: &str) -> TestDeployment {
    TestDeployment::new(1)
        .bounds(1, 0)
        .annotate(names::REVISION, "2")
        .annotate(names::ROLLBACK_TO, to)
        .annotate("cause", "two")
        .annotate("only-here", "x")
        .with(TestReplicaSet::new("one", 0, 1).revision(1).annotate("cause", "one").sized_for(1, 2))
        .with(
            TestReplicaSet::new("two", 1, 2)
                .current()
                .revision(2)
                .annotate("cause", "two")
                .annotate("only-here", "x")
                .sized_for(1, 2)
                .healthy(1),
        )
}

#[rstest]
#[case::to_the_last_one("0", "Rolled back deployment \"foo\" to revision 1")]
#[case::to_a_revision("1", "Rolled back deployment \"foo\" to revision 1")]
fn rolls_back(#[case] to: &str, #[case] message: &str) {
    let plan = fixture(to).plan();
    assert_eq!(action_names(&plan), ["deployment", "event"]);
    assert_eq!(event_messages(&plan), [message]);
    let Some(DeploymentAction::UpdateDeployment(change)) = plan.actions().next() else { panic!("{plan:?}") };
    let annotations = [(names::REVISION.to_owned(), "2".to_owned()), ("cause".to_owned(), "one".to_owned())].into();
    assert_eq!(*change, DeploymentChange { template: Some(template("app:one")), annotations });
}

#[rstest]
#[case::not_found("99", "Unable to find the revision to rollback to.")]
#[case::is_same_template("2", "The rollback revision contains the same template as current deployment \"foo\"")]
fn rejects_a_rollback_with_an_event(#[case] to: &str, #[case] message: &str) {
    let plan = fixture(to).plan();
    assert_eq!(action_names(&plan), ["event", "deployment"]);
    assert_eq!(event_messages(&plan), [message]);
    let Some(DeploymentAction::UpdateDeployment(change)) = plan.actions().last() else { panic!("{plan:?}") };
    assert_eq!(change.template, None);
    assert!(!change.annotations.contains_key(names::ROLLBACK_TO));
    assert_eq!(change.annotations["cause"], "two");
}

#[test]
fn rejects_a_rollback_without_a_previous_revision() {
    let mut fixture = fixture("0");
    fixture.sets.remove(0);
    assert_eq!(event_messages(&fixture.plan()), ["Unable to find last revision."]);
}

#[test]
fn ignores_a_revision_that_is_not_a_number() {
    assert!(!action_names(&fixture("x").plan()).contains(&"deployment"));
}

#[test]
fn paused_deployments_do_not_roll_back() {
    let fixture = fixture("1").spec("paused", true).spec("revisionHistoryLimit", 0);
    let plan = fixture.plan();
    assert!(!action_names(&plan).contains(&"deployment"));
    assert!(!action_names(&plan).contains(&"delete"), "nor is history cleaned up while a rollback is asked for");
}

/// The new ReplicaSet is created first. Its status write makes the Deployment out of date, so the
/// rollback happens in the next sync. The warning is recorded in both syncs, as in upstream.
#[test]
fn creates_a_missing_replica_set_before_the_rollback() {
    let mut fixture = fixture("99");
    fixture.deployment["spec"]["template"] = template("app:three");
    fixture.deployment["metadata"]["annotations"][names::REVISION] = json!("2");
    let plan = fixture.plan();
    assert_eq!(action_names(&plan), ["create", "event", "status", "event"]);
    assert_eq!(event_messages(&plan)[1], "Unable to find the revision to rollback to.");
}
