//! replica_set_test.go: TestSyncReplicaSet…, TestDoNotAdoptOrCreateIfBeingDeleted; and whole plans.

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::{Value, json};

use super::fixtures::{TestPod, ago, make_plan, observed_replica_set, pod, raw};
use crate::OwnershipChange;
use crate::replicaset::{ObservedReplicaSet, PodAdjustment};

/// A plan as text.
fn describe(observed: &ObservedReplicaSet) -> String {
    let plan = make_plan(observed);
    let mut lines: Vec<_> = plan
        .claims
        .iter()
        .map(|claim| match claim {
            OwnershipChange::Adopt { name, .. } => format!("adopt {name}"),
            OwnershipChange::Release { name, .. } => format!("release {name}"),
        })
        .collect();
    lines.push(match plan.adjustment {
        PodAdjustment::Nothing => "rest".to_owned(),
        PodAdjustment::Create { count, pod } => {
            format!("create {count}\n{}", serde_yaml::to_string(&pod).unwrap().trim_end())
        }
        PodAdjustment::Delete { names } => format!("delete {}", names.join(" ")),
        PodAdjustment::Impossible { why } => why.to_owned(),
    });
    lines.join("\n")
}

/// Of the template's metadata three fields are copied, of its spec all fields.
#[test]
fn creates_pods_from_its_template() {
    let mut raw = raw(3);
    let metadata = &mut raw["spec"]["template"]["metadata"];
    metadata["annotations"] = json!({"a": "b"});
    metadata["finalizers"] = json!(["example.com/f"]);
    metadata["name"] = "no".into();
    metadata["ownerReferences"] = json!([{"uid": "no"}]);
    assert_snapshot!(describe(&observed_replica_set(raw, [pod("a")])), @r"
    create 2
    apiVersion: v1
    kind: Pod
    metadata:
      annotations:
        a: b
      finalizers:
      - example.com/f
      generateName: rs-
      labels:
        app: web
      ownerReferences:
      - apiVersion: apps/v1
        blockOwnerDeletion: true
        controller: true
        kind: ReplicaSet
        name: rs
        uid: rs
    spec:
      containers:
      - image: app:1
        name: c
      ofTheFuture: true
    ");
}

#[test]
fn empty_parts_of_the_template_are_left_out() {
    let mut raw = raw(1);
    raw["spec"]["template"]["metadata"]["annotations"] = json!({});
    raw["spec"]["template"]["metadata"]["finalizers"] = Value::Null;
    let PodAdjustment::Create { pod, .. } = make_plan(&observed_replica_set(raw, [])).adjustment else {
        panic!("it makes one")
    };
    let fields: Vec<_> = pod["metadata"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["generateName", "labels", "ownerReferences"]);
}

/// TestAdoption, TestPodOrphaningAndAdoptionWhenLabelsChange: adopted pods count at once, and
/// released pods do not count any more.
#[test]
fn counts_pods_after_claims() {
    let pods = [pod("own"), pod("stray").label("app", "db"), pod("orphan").orphan()];
    assert_snapshot!(describe(&observed_replica_set(raw(2), pods)), @r"
    release stray
    adopt orphan
    rest
    ");
}

/// TestExtraPodsAdoptionAndDeletion: three pods match, and two are desired.
#[test]
fn adopts_surplus_pods_before_deleting_them() {
    let pods = ["a", "b", "c"].map(|name| pod(name).orphan().ready(ago(60)).node("n"));
    assert_snapshot!(describe(&observed_replica_set(raw(2), pods)), @r"
    adopt a
    adopt b
    adopt c
    delete a
    ");
}

/// Applies all eight rules; the first pod to delete comes first.
#[test]
fn deletes_pods_in_kill_order() {
    let ready =
        |name: &str, hours: i64| pod(name).node(name).ready(ago(hours * 3600)).with(|of| of.created = ago(90_000));
    let pods = [
        ready("a-oldest", 20),
        ready("b-young", 2),
        ready("c-restarts", 20).with(|of| of.restarts = 2),
        ready("d-sidecar", 20).with(|of| of.sidecar_restarts = 2),
        ready("e-younger-pod", 20).with(|of| of.created = ago(80_000)).with(|of| of.created = ago(72_001)),
        ready("f-cheap", 20).with(|of| of.deletion_cost = -1),
        ready("g-dear", 20).with(|of| of.deletion_cost = 1),
        pod("h-not-ready").node("n"),
        pod("i-unknown").node("n").phase("Unknown"),
        pod("j-pending").node("n").phase("Pending"),
        pod("k-nowhere").phase("Pending"),
    ];
    assert_snapshot!(describe(&observed_replica_set(raw(1), pods)), @"delete k-nowhere j-pending i-unknown h-not-ready f-cheap b-young c-restarts d-sidecar a-oldest e-younger-pod");
}

/// If all pods are deleted, they are not sorted.
#[test]
fn deletes_all_pods_in_the_given_order() {
    let pods = [pod("a").node("n").ready(ago(1)), pod("b").phase("Pending")];
    assert_snapshot!(describe(&observed_replica_set(raw(0), pods)), @"delete a b");
}

/// Nothing is created or deleted while an expectation is unfulfilled or while the ReplicaSet is
/// being deleted. In the first case pods are still claimed.
#[rstest]
#[case::too_few(raw(5), &[pod("a")])]
#[case::too_many(raw(0), &[pod("a")])]
fn changes_no_pods_while_waiting_or_being_deleted(#[case] mut raw: Value, #[case] pods: &[TestPod]) {
    let mut waiting = observed_replica_set(raw.clone(), pods.iter().cloned().chain([pod("orphan").orphan()]));
    waiting.can_manage_pods = false;
    assert_eq!(describe(&waiting), "adopt orphan\nrest");
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(describe(&observed_replica_set(raw, pods.iter().cloned())), "rest");
}

#[test]
fn creates_no_pods_from_a_template_without_labels() {
    let mut raw = raw(1);
    raw["spec"]["template"]["metadata"] = json!({});
    assert_eq!(describe(&observed_replica_set(raw, [])), "unable to create pods, no labels");
}
