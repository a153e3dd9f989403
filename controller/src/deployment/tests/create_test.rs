//! sync_test.go: names of new ReplicaSets; and what becomes of a name that is taken, which upstream
//! tests on a server.

use rstest::rstest;
use serde_json::json;

use super::fixtures::{Set, World, messages, now, status, template};
use crate::deployment::create::{replica_set_name, restate_creation};
use crate::deployment::{Action, StatusChange, Taken, plan, plan_after_conflict, plan_after_refusal};
use crate::model::{Condition, Deployment, DeploymentStatus, ReplicaSet, names};
use crate::{Minor, Settings, pod_template_hash};

#[rstest]
#[case::short("my-deployment".to_owned(), 10, "my-deployment".to_owned())]
#[case::very_long_is_truncated("a".repeat(250), 10, "a".repeat(242))]
#[case::very_long_is_not_truncated("a".repeat(242), 10, "a".repeat(242))]
#[case::absurd_hash_truncates_nothing("a".repeat(250), 260, "a".repeat(250))]
fn generate_replica_set_name(#[case] deployment: String, #[case] hash: usize, #[case] kept: String) {
    let hash = "h".repeat(hash);
    assert_eq!(replica_set_name(&deployment, &hash), format!("{kept}-{hash}"));
}

/// Everything about a new ReplicaSet.
#[test]
fn a_new_replica_set() {
    let world = World::new(10)
        .bounds("25%", "25%")
        .spec("minReadySeconds", 4)
        .annotate("user", "x")
        .annotate(names::LAST_APPLIED, "{}")
        .with(Set::new("old", 10, 1).revision(7).sized_for(10, 13));
    let plan = world.plan();
    let hash = pod_template_hash(&template("app:new"), None, Minor::default());
    let Some(Action::CreateReplicaSet(new)) = plan.actions().next() else { panic!("{plan:?}") };
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

/// `kubectl create deployment nginx --image=nginx` gives this name on every cluster of a minor; and
/// settings choose the minor.
#[rstest]
#[case::v1_36("1.36", None, "nginx-7f8fbb96d")]
#[case::v1_35("1.35", None, "nginx-56c45fd5ff")]
#[case::v1_36_after_a_collision("1.36", Some(1), "nginx-79dbfc4f57")]
fn a_new_replica_set_has_upstream_s_name(#[case] minor: Minor, #[case] collisions: Option<i32>, #[case] name: &str) {
    let mut world = World::new(1).meta("name", "nginx").status(json!({"collisionCount": collisions}));
    world.deployment["spec"]["selector"] = json!({"matchLabels": {"app": "nginx"}});
    world.deployment["spec"]["template"] = json!({
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
    let plan = plan(&world.observed(), now(), &Settings { hash: minor, ..Settings::default() });
    let Some(Action::CreateReplicaSet(new)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(new.name, name);
}

/// Fields that this program has never heard of reach the ReplicaSet, and make a template another
/// one.
#[test]
fn fields_of_the_future_survive() {
    let mut world = World::new(1);
    world.deployment["spec"]["template"]["spec"]["future"] = json!({"deep": [1]});
    let plan = world.plan();
    let Some(Action::CreateReplicaSet(new)) = plan.actions().next() else { panic!("{plan:?}") };
    assert_eq!(new.object["spec"]["template"]["spec"]["future"], json!({"deep": [1]}));
    assert_ne!(new.name, format!("foo-{}", pod_template_hash(&template("app:new"), None, Minor::default())));
}

#[test]
fn a_name_that_the_cache_does_not_show_yet() {
    assert_eq!(after_conflict(None), Taken::LookAgain);
}

#[test]
fn a_name_that_is_its_own() {
    assert_eq!(after_conflict(Some(Set::new("x", 1, 1).current())), Taken::LookAgain);
}

/// TestDeploymentHashCollision: its own, with another template. Issue 59212: the same template, but
/// not its own.
#[rstest]
#[case(Set::new("x", 1, 1))]
#[case(Set::new("x", 1, 1).current().meta("ownerReferences", json!([])))]
fn a_name_that_means_something_else(#[case] existing: Set) {
    let Taken::Collision(plan) = after_conflict(Some(existing)) else { panic!("a collision") };
    assert_eq!(status(&plan).unwrap().collision_count, Some(3));
    assert_eq!(plan.steps.len(), 1);
}

fn after_conflict(existing: Option<Set>) -> Taken {
    let world = World::new(1).status(json!({"collisionCount": 2}));
    let existing = existing.map(|set| ReplicaSet::read(set.0).unwrap());
    plan_after_conflict(&world.observed(), existing.as_ref(), now(), &Settings::default())
}

/// A refusal is told in a condition, if there is a deadline, and in an event, always.
#[rstest]
#[case(Some(600), true)]
#[case(None, false)]
fn a_refusal(#[case] deadline: Option<i32>, #[case] condition: bool) {
    let world = World::new(1).spec("progressDeadlineSeconds", deadline);
    let plan = plan_after_refusal(&world.observed(), "foo-1", "exceeded quota", now(), &Settings::default());
    let message = "Failed to create new replica set \"foo-1\": exceeded quota";
    assert_eq!(messages(&plan), [message]);
    let written = status(&plan).map(|status| status.conditions[0].message.as_str());
    assert_eq!(written, condition.then_some(message));
}

/// The status write after a new ReplicaSet met a newer Deployment: its own numbers stay, and the
/// same is written again, unless it wants another template by now.
#[rstest]
#[case::scaled_meanwhile(World::new(5), true)]
#[case::retemplated_meanwhile(World::new(3).spec("template", template("app:newer")), false)]
fn a_creation_told_anew(#[case] fresh: World, #[case] told: bool) {
    let observed = Deployment::read(World::new(3).deployment).unwrap();
    let fresh = Deployment::read(fresh.status(json!({"collisionCount": 2})).deployment).unwrap();
    let (kind, reason) = (names::condition::PROGRESSING, names::reason::NEW_REPLICA_SET);
    let conditions = vec![Condition::new(kind, names::status::TRUE, reason, "Created", now())];
    let revision = Some("4".to_owned());
    let status = DeploymentStatus { conditions: conditions.clone(), ..observed.status.clone() };
    let change = StatusChange { revision: revision.clone(), status };
    let status = DeploymentStatus { conditions, ..fresh.status.clone() };
    assert_eq!(restate_creation(&observed, &fresh, &change), told.then_some(StatusChange { revision, status }));
}
