//! sync_test.go: names of new ReplicaSets; and the handling of a name that is taken, which upstream
//! tests on a server.

use rollout_model::hash::{KubernetesMinor, pod_template_hash};
use rollout_model::{Condition, Deployment, DeploymentStatus, ReplicaSet, names};
use rstest::rstest;
use serde_json::json;

use super::fixtures::{TestDeployment, TestReplicaSet, event_messages, now, template, written_status};
use crate::RuleSettings;
use crate::deployment::create::{reapply_creation_status, replica_set_name};
use crate::deployment::{DeploymentAction, NameConflict, StatusChange, plan, plan_after_conflict, plan_after_refusal};

#[rstest]
#[case::short("my-deployment".to_owned(), 10, "my-deployment".to_owned())]
#[case::very_long_is_truncated("a".repeat(250), 10, "a".repeat(242))]
#[case::very_long_is_not_truncated("a".repeat(242), 10, "a".repeat(242))]
#[case::absurd_hash_truncates_nothing("a".repeat(250), 260, "a".repeat(250))]
fn generate_replica_set_name(#[case] deployment: String, #[case] hash: usize, #[case] prefix: String) {
    let hash = "h".repeat(hash);
    assert_eq!(replica_set_name(&deployment, &hash), format!("{prefix}-{hash}"));
}

#[test]
fn creates_a_replica_set_from_the_template() {
    let fixture = TestDeployment::new(10)
        .bounds("25%", "25%")
        .spec("minReadySeconds", 4)
        .annotate("user", "x")
        .annotate(names::LAST_APPLIED, "{}")
        .with(TestReplicaSet::new("old", 10, 1).revision(7).sized_for(10, 13));
    let plan = fixture.plan();
    let hash = pod_template_hash(&template("app:new"), None, KubernetesMinor::default());
    let Some(DeploymentAction::CreateReplicaSet(new)) = plan.actions().next() else { panic!("{plan:?}") };
    let mut labelled = template("app:new");
    labelled["metadata"]["labels"]["pod-template-hash"] = hash.as_str().into();
    assert_eq!(
        new.object,
        json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "namespace": "default",
                "name": format!("foo-{hash}"),
                "labels": {"foo": "bar", "pod-template-hash": hash},
                "annotations": {
                    "user": "x",
                    "deployment.kubernetes.io/revision": "8",
                    "deployment.kubernetes.io/desired-replicas": "10",
                    "deployment.kubernetes.io/max-replicas": "13",
                },
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "Deployment", "name": "foo", "uid": "d",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "replicas": 3,
                "minReadySeconds": 4,
                "selector": {"matchLabels": {"foo": "bar", "pod-template-hash": hash}},
                "template": labelled,
            },
        })
    );
}

/// The name that `kubectl create deployment nginx --image=nginx` gives on every cluster of a minor.
/// The settings choose the minor.
#[rstest]
#[case::v1_36("1.36", None, "nginx-7f8fbb96d")]
#[case::v1_35("1.35", None, "nginx-56c45fd5ff")]
#[case::v1_36_after_a_collision("1.36", Some(1), "nginx-79dbfc4f57")]
fn names_a_replica_set_as_upstream(
    #[case] minor: KubernetesMinor,
    #[case] collisions: Option<i32>,
    #[case] name: &str,
) {
    let mut fixture = TestDeployment::new(1).meta("name", "nginx").status(json!({"collisionCount": collisions}));
    fixture.deployment["spec"]["selector"] = json!({"matchLabels": {"app": "nginx"}});
    fixture.deployment["spec"]["template"] = json!({
        "metadata": {"creationTimestamp": null, "labels": {"app": "nginx"}},
        "spec": {
            "containers": [{
                "image": "nginx", "imagePullPolicy": "Always", "name": "nginx", "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30,
        },
    });
    let plan = plan(&fixture.observe(), now(), &RuleSettings { hash: minor, ..RuleSettings::default() });
    let Some(DeploymentAction::CreateReplicaSet(new)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(new.name, name);
}

/// Fields that this program does not know reach the ReplicaSet and change the hash.
#[test]
fn keeps_unknown_template_fields() {
    let mut fixture = TestDeployment::new(1);
    fixture.deployment["spec"]["template"]["spec"]["future"] = json!({"deep": [1]});
    let plan = fixture.plan();
    let Some(DeploymentAction::CreateReplicaSet(new)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(new.object["spec"]["template"]["spec"]["future"], json!({"deep": [1]}));
    assert_ne!(new.name, format!("foo-{}", pod_template_hash(&template("app:new"), None, KubernetesMinor::default())));
}

#[test]
fn retries_if_the_cache_lacks_the_existing_replica_set() {
    assert_eq!(after_conflict(None), NameConflict::Retry);
}

#[test]
fn retries_if_the_name_is_its_own_replica_set() {
    assert_eq!(after_conflict(Some(TestReplicaSet::new("x", 1, 1).current())), NameConflict::Retry);
}

/// TestDeploymentHashCollision: its own ReplicaSet with another template. Issue 59212: a ReplicaSet
/// with the same template that it does not own.
#[rstest]
#[case(TestReplicaSet::new("x", 1, 1))]
#[case(TestReplicaSet::new("x", 1, 1).current().meta("ownerReferences", json!([])))]
fn counts_a_collision_with_another_replica_set(#[case] existing: TestReplicaSet) {
    let NameConflict::Collision(plan) = after_conflict(Some(existing)) else { panic!("a collision") };
    assert_eq!(written_status(&plan).unwrap().collision_count, Some(3));
    assert_eq!(plan.steps.len(), 1);
}

fn after_conflict(existing: Option<TestReplicaSet>) -> NameConflict {
    let fixture = TestDeployment::new(1).status(json!({"collisionCount": 2}));
    let existing = existing.map(|set| ReplicaSet::read(set.0).unwrap());
    plan_after_conflict(&fixture.observe(), existing.as_ref(), now(), &RuleSettings::default())
}

/// A refusal is always reported in an event, and in a condition if there is a deadline.
#[rstest]
#[case(Some(600), true)]
#[case(None, false)]
fn reports_a_refused_replica_set(#[case] deadline: Option<i32>, #[case] condition: bool) {
    let fixture = TestDeployment::new(1).spec("progressDeadlineSeconds", deadline);
    let plan = plan_after_refusal(&fixture.observe(), "foo-1", "exceeded quota", now(), &RuleSettings::default());
    let message = "Failed to create new replica set \"foo-1\": exceeded quota";
    assert_eq!(event_messages(&plan), [message]);
    let written = written_status(&plan).map(|status| status.conditions[0].message.as_str());
    assert_eq!(written, condition.then_some(message));
}

/// The status write after a creation conflicts with a newer Deployment. The write is repeated on
/// the newer status unless the template has changed.
#[rstest]
#[case::scaled_meanwhile(TestDeployment::new(5), true)]
#[case::retemplated_meanwhile(TestDeployment::new(3).spec("template", template("app:newer")), false)]
fn reapplies_creation_status_unless_template_changed(#[case] fresh: TestDeployment, #[case] is_reapplied: bool) {
    let observed = Deployment::read(TestDeployment::new(3).deployment).unwrap();
    let fresh = Deployment::read(fresh.status(json!({"collisionCount": 2})).deployment).unwrap();
    let (kind, reason) = (names::condition::PROGRESSING, names::reason::NEW_REPLICA_SET);
    let conditions = vec![Condition::new(kind, names::status::TRUE, reason, "Created", now())];
    let revision = Some("4".to_owned());
    let status = DeploymentStatus { conditions: conditions.clone(), ..observed.status.clone() };
    let change = StatusChange { revision: revision.clone(), status };
    let status = DeploymentStatus { conditions, ..fresh.status.clone() };
    assert_eq!(
        reapply_creation_status(&observed, &fresh, &change),
        is_reapplied.then_some(StatusChange { revision, status })
    );
}
