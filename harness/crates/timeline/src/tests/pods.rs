//! Tests lines about pods in cases that judge the ReplicaSet controller.

use lockstep_recording::testing::{RecordingBuilder, with_patch};
use lockstep_recording::{Effect, Recording};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::{Attribution, ExpectationCheck, NormalizedNames, StepId, Timeline, replay};
use super::of;

fn unearned(recording: &Recording) -> Vec<StepId> {
    let mut credit = Attribution::of(recording);
    replay(recording, &NormalizedNames::of(recording), &mut [&mut credit]);
    credit.unattributed_steps()
}

fn unexpected(recording: &Recording) -> Vec<(StepId, String)> {
    let mut expected = ExpectationCheck::default();
    replay(recording, &NormalizedNames::of(recording), &mut [&mut expected]);
    expected.into_mismatches()
}

/// The lines of the Events.
fn text(timeline: &Timeline) -> Vec<String> {
    timeline.events.lines().iter().map(|line| line.indented()).collect()
}

/// A ReplicaSet that the case created.
fn set() -> Value {
    json!({"kind": "ReplicaSet", "metadata": {"name": "web", "uid": "uid-set"}, "spec": {"replicas": 2,
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}}})
}

/// A pod of it, as its controller creates it.
fn pod(name: &str) -> Value {
    let owner = json!([{"kind": "ReplicaSet", "uid": "uid-set", "controller": true, "blockOwnerDeletion": true}]);
    json!({"kind": "Pod", "metadata": {"name": format!("web-{name}"), "generateName": "web-", "uid": name,
        "labels": {"app": "web"}, "ownerReferences": owner}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}})
}

fn going(pod: &Value) -> Value {
    with_patch(pod, &json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}}))
}

fn orphan(pod: &Value) -> Value {
    with_patch(pod, &json!({"metadata": {"ownerReferences": null}}))
}

/// A ReplicaSet with two pods, which the case names a and b.
fn two() -> RecordingBuilder {
    let builder = RecordingBuilder::new().for_replica_set_controller().given("replicaset/web").driver_create(&set());
    let builder =
        ["x", "y"].iter().fold(builder, |builder, name| builder.requested_write("create", "pods", &pod(name)));
    builder.pod_name("a", "web-x").pod_name("b", "web-y").settled()
}

fn step(builder: RecordingBuilder, index: u32) -> Vec<String> {
    let timeline = of(&builder.settled().end());
    let lines = timeline.step(StepId { index, part: 0 }).unwrap().lines();
    lines.iter().map(ToString::to_string).collect()
}

#[test]
fn new_pods_are_counted_and_later_named() {
    assert_eq!(step(two(), 0), ["web pods  created=2", "= web 2/0 ready=0 available=0 pods=a,b"]);
}

#[rstest]
#[case::deleted(two().user_step(1, "x").requested_write("delete", "pods", &going(&pod("y"))), "web pods  deleted=b", "pods=a terminatingPods=1")]
#[case::gone_at_once(two().user_step(1, "x").foreign_delete(&pod("y")), "web pods  deleted=b", "pods=a")]
#[case::another_made(two().user_step(1, "x").requested_write("create", "pods", &pod("z")), "web pods  created=1", "pods=a,b,+1")]
#[case::released(two().user_step(1, "x").requested_write("patch", "pods", &orphan(&pod("y"))), "web pods  released=b", "pods=a")]
#[case::created_with_deviations(
    two().user_step(1, "x").requested_write("create", "pods", &with_patch(&pod("z"), &json!({"metadata": {"labels": null, "generateName": null}}))),
    "web pods  created=1 odd=labels,name", "pods=a,b,+1")]
fn each_change_of_a_pod_is_a_decision(#[case] builder: RecordingBuilder, #[case] decision: &str, #[case] pods: &str) {
    assert_eq!(step(builder, 1), [decision.to_owned(), format!("= web 2/0 ready=0 available=0 {pods}")]);
}

#[test]
fn pod_that_the_case_created_keeps_its_name() {
    let stray = orphan(&with_patch(&pod("x"), &json!({"metadata": {"name": "stray"}})));
    let owned = with_patch(&pod("x"), &json!({"metadata": {"name": "stray"}}));
    let builder = two().driver_create(&stray).settled().user_step(1, "x").requested_write("patch", "pods", &owned);
    assert_eq!(step(builder, 1)[0], "web pods  adopted=stray");
}

#[test]
fn deleted_pod_of_another_owner_is_a_decision() {
    let other = json!([{"kind": "ConfigMap", "uid": "uid-other", "controller": true}]);
    let taken = with_patch(&pod("x"), &json!({"metadata": {"name": "taken", "ownerReferences": other}}));
    for taken in [orphan(&taken), taken] {
        let builder =
            two().driver_create(&taken).settled().user_step(1, "x").requested_write("delete", "pods", &going(&taken));
        assert_eq!(step(builder, 1)[0], "- pods  deleted=taken");
    }
}

#[rstest]
#[case::by_the_driver(two().user_step(1, "x").driver_write(&going(&pod("y"))))]
#[case::finished(two().driver_write(&going(&pod("y"))).settled().user_step(1, "x").foreign_delete(&going(&pod("y"))))]
#[case::collected(two().driver_write(&going(&set())).settled().user_step(1, "x").foreign_delete(&pod("y")))]
fn changes_without_a_deciding_controller_are_omitted(#[case] builder: RecordingBuilder) {
    assert!(step(builder, 1).iter().all(|line| line.starts_with('=')));
}

#[test]
fn uncertain_names_are_not_listed() {
    let builder = two().step_expecting(1, &[&["a"], &["b"]]).requested_write("delete", "pods", &going(&pod("y")));
    assert_eq!(step(builder, 1), ["web pods  deleted=1", "= web 2/0 ready=0 available=0 pods=1 terminatingPods=1"]);
}

#[test]
fn reports_pods_that_contradict_expectation() {
    let builder = |sets: &[&[&str]]| {
        let builder =
            two().step_expecting(1, sets).requested_write("delete", "pods", &going(&pod("y"))).settled().end();
        unexpected(&builder).into_iter().map(|(step, what)| format!("{step}: {what}")).collect::<Vec<_>>()
    };
    assert!(builder(&[&["a"]]).is_empty() && builder(&[&["b"], &["a"]]).is_empty());
    assert_eq!(builder(&[&["b"]]), ["step 1: the case expects b to be alive, and it is a"]);
    assert_eq!(builder(&[&[]]), ["step 1: the case expects none to be alive, and it is a"]);
}

#[test]
fn pod_changes_without_request_are_not_attributed() {
    let steps = |builder: RecordingBuilder| unearned(&builder.settled().end());
    assert!(steps(two().user_step(1, "x").requested_write("create", "pods", &pod("z"))).is_empty());
    assert_eq!(steps(two().user_step(1, "x").foreign_write(&pod("z"))), [StepId { index: 1, part: 0 }]);
    // The test environment's Deployment controller needs no request of the subject.
    assert!(
        steps(two().user_step(1, "x").foreign_write(&with_patch(&set(), &json!({"spec": {"replicas": 1}})))).is_empty()
    );
}

#[test]
fn events_are_counted_by_reason_and_failures_once() {
    let event = |name: &str, reason: &str| {
        json!({"kind": "Event", "metadata": {"name": name}, "type": "Normal", "reason": reason, "message": name, "count": 1,
            "involvedObject": {"kind": "ReplicaSet", "name": "web", "uid": "uid-set"}})
    };
    let builder = |creates: u32| {
        let builder =
            (0..creates).fold(two(), |builder, n| builder.foreign_write(&event(&format!("c{n}"), "SuccessfulCreate")));
        let builder = builder.foreign_write(&event("f1", "FailedCreate")).foreign_write(&event("f2", "FailedCreate"));
        text(&of(&builder.end()))
    };
    let few = ["events", "        Normal FailedCreate web  ×1", "        Normal SuccessfulCreate web  ×3"];
    assert_eq!(builder(3), few);
    assert_eq!(builder(10), ["events  not compared: ten or more"]);
}

#[test]
fn events_are_not_compared_after_a_kill() {
    let said = |effect| text(&of(&two().injection("x").with_effect(effect).settled().end()));
    assert_eq!(said(Effect::Killed), ["events  not compared: a controller that is killed leaves some unwritten"]);
    assert_eq!(said(Effect::Answered), ["events  none"]);
}
