//! deployment_controller_test.go: TestReentrantRollback; 1.15's e2e: rollback to 1, 0, a missing
//! and the current revision.

use rstest::rstest;
use serde_json::json;

use super::fixtures::{Set, World, messages, template, words};
use crate::deployment::{Action, DeploymentChange};
use crate::model::names;

/// Revisions 1 (old) and 2 (new), both with a user's annotation.
fn world(to: &str) -> World {
    World::new(1)
        .bounds(1, 0)
        .annotate(names::REVISION, "2")
        .annotate(names::ROLLBACK_TO, to)
        .annotate("cause", "two")
        .annotate("only-here", "x")
        .with(Set::new("one", 0, 1).revision(1).annotate("cause", "one").sized_for(1, 2))
        .with(
            Set::new("two", 1, 2)
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
    let plan = world(to).plan();
    assert_eq!(words(&plan), ["deployment", "event"]);
    assert_eq!(messages(&plan), [message]);
    let Some(Action::UpdateDeployment(change)) = plan.actions().next() else { panic!("{plan:?}") };
    let annotations = [(names::REVISION.to_owned(), "2".to_owned()), ("cause".to_owned(), "one".to_owned())].into();
    assert_eq!(*change, DeploymentChange { template: Some(template("app:one")), annotations });
}

#[rstest]
#[case::not_found("99", "Unable to find the revision to rollback to.")]
#[case::same_template("2", "The rollback revision contains the same template as current deployment \"foo\"")]
fn gives_up(#[case] to: &str, #[case] message: &str) {
    let plan = world(to).plan();
    assert_eq!(words(&plan), ["event", "deployment"]);
    assert_eq!(messages(&plan), [message]);
    let Some(Action::UpdateDeployment(change)) = plan.actions().last() else { panic!("{plan:?}") };
    assert_eq!(change.template, None);
    assert!(!change.annotations.contains_key(names::ROLLBACK_TO));
    assert_eq!(change.annotations["cause"], "two");
}

#[test]
fn there_is_no_last_revision() {
    let mut world = world("0");
    world.sets.remove(0);
    assert_eq!(messages(&world.plan()), ["Unable to find last revision."]);
}

#[test]
fn a_request_that_is_no_number_is_none() {
    assert!(!words(&world("x").plan()).contains(&"deployment"));
}

#[test]
fn paused_deployments_do_not_roll_back() {
    let world = world("1").spec("paused", true).spec("revisionHistoryLimit", 0);
    let plan = world.plan();
    assert!(!words(&plan).contains(&"deployment"));
    assert!(!words(&plan).contains(&"delete"), "nor is history cleaned up while a rollback is asked for");
}

/// The new ReplicaSet is made first. Its status write makes the Deployment out of date, so the
/// rollback itself comes next time; the warning comes now, and again then, as upstream's does.
#[test]
fn a_missing_replica_set_is_made_first() {
    let mut world = world("99");
    world.deployment["spec"]["template"] = template("app:three");
    world.deployment["metadata"]["annotations"][names::REVISION] = json!("2");
    let plan = world.plan();
    assert_eq!(words(&plan), ["create", "event", "status", "event"]);
    assert_eq!(messages(&plan)[1], "Unable to find the revision to rollback to.");
}
