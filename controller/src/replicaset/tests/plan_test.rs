//! replica_set_test.go: TestSyncReplicaSet…, TestDoNotAdoptOrCreateIfBeingDeleted; and whole plans,
//! as they are carried out.

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::{Value, json};

use super::fixtures::{Made, ago, observed, planned, pod, raw};
use crate::replicaset::{Claim, Observed, Work};

/// A plan in words.
fn told(observed: &Observed) -> String {
    let plan = planned(observed);
    let mut lines: Vec<_> = plan
        .claims
        .iter()
        .map(|claim| match claim {
            Claim::Adopt { name, .. } => format!("adopt {name}"),
            Claim::Release { name, .. } => format!("release {name}"),
        })
        .collect();
    lines.push(match plan.work {
        Work::Rest => "rest".to_owned(),
        Work::Create { count, pod } => format!("create {count}\n{}", serde_yaml::to_string(&pod).unwrap().trim_end()),
        Work::Delete { names } => format!("delete {}", names.join(" ")),
        Work::Impossible { why } => why.to_owned(),
    });
    lines.join("\n")
}

/// Of the template's metadata three fields count; of its spec, all that there are.
#[test]
fn makes_pods_from_its_template() {
    let mut raw = raw(3);
    let metadata = &mut raw["spec"]["template"]["metadata"];
    metadata["annotations"] = json!({"a": "b"});
    metadata["finalizers"] = json!(["example.com/f"]);
    metadata["name"] = "no".into();
    metadata["ownerReferences"] = json!([{"uid": "no"}]);
    assert_snapshot!(told(&observed(raw, [pod("a")])), @r"
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
    let Work::Create { pod, .. } = planned(&observed(raw, [])).work else { panic!("it makes one") };
    let fields: Vec<_> = pod["metadata"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["generateName", "labels", "ownerReferences"]);
}

/// TestAdoption, TestPodOrphaningAndAdoptionWhenLabelsChange: adopted pods count at once, released
/// ones no more.
#[test]
fn claims_and_then_counts() {
    let pods = [pod("own"), pod("stray").label("app", "db"), pod("orphan").orphan()];
    assert_snapshot!(told(&observed(raw(2), pods)), @r"
    release stray
    adopt orphan
    rest
    ");
}

/// TestExtraPodsAdoptionAndDeletion: three that match, and two wanted.
#[test]
fn adopts_what_is_too_much_before_it_deletes_it() {
    let pods = ["a", "b", "c"].map(|name| pod(name).orphan().ready(ago(60)).node("n"));
    assert_snapshot!(told(&observed(raw(2), pods)), @r"
    adopt a
    adopt b
    adopt c
    delete a
    ");
}

/// All eight rules at work, worst first.
#[test]
fn deletes_in_the_order_of_killing() {
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
    assert_snapshot!(told(&observed(raw(1), pods)), @"delete k-nowhere j-pending i-unknown h-not-ready f-cheap b-young c-restarts d-sidecar a-oldest e-younger-pod");
}

/// With nobody to survive there is no order.
#[test]
fn deletes_all_as_they_come() {
    let pods = [pod("a").node("n").ready(ago(1)), pod("b").phase("Pending")];
    assert_snapshot!(told(&observed(raw(0), pods)), @"delete a b");
}

/// Nothing is made or deleted while something is expected, or when it is going; claims are made all
/// the same in the first case.
#[rstest]
#[case::too_few(raw(5), &[pod("a")])]
#[case::too_many(raw(0), &[pod("a")])]
fn rests(#[case] mut raw: Value, #[case] pods: &[Made]) {
    let mut waiting = observed(raw.clone(), pods.iter().cloned().chain([pod("orphan").orphan()]));
    waiting.may_manage = false;
    assert_eq!(told(&waiting), "adopt orphan\nrest");
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(told(&observed(raw, pods.iter().cloned())), "rest");
}

#[test]
fn a_template_without_labels_makes_nothing() {
    let mut raw = raw(1);
    raw["spec"]["template"]["metadata"] = json!({});
    assert_eq!(told(&observed(raw, [])), "unable to create pods, no labels");
}
