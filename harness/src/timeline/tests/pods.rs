//! What timelines say of pods where the ReplicaSet controller is judged.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::fixture::{Film, with};
use super::super::{Credit, Expected, Names, StepId, Timeline, replay};
use super::of;
use crate::recording::{Effect, Recording};

fn unearned(recording: &Recording) -> Vec<StepId> {
    let mut credit = Credit::of(recording);
    replay(recording, &Names::of(recording), &mut [&mut credit]);
    credit.unearned()
}

fn unexpected(recording: &Recording) -> Vec<(StepId, String)> {
    let mut expected = Expected::default();
    replay(recording, &Names::of(recording), &mut [&mut expected]);
    expected.unexpected()
}

/// The lines of the Events.
fn text(timeline: &Timeline) -> Vec<String> {
    timeline.events.lines().iter().map(|line| line.indented()).collect()
}

/// A ReplicaSet that the case made.
fn set() -> Value {
    json!({"kind": "ReplicaSet", "metadata": {"name": "web", "uid": "uid-set"}, "spec": {"replicas": 2,
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}}})
}

/// A pod of it, as its controller makes them.
fn pod(name: &str) -> Value {
    let owner = json!([{"kind": "ReplicaSet", "uid": "uid-set", "controller": true, "blockOwnerDeletion": true}]);
    json!({"kind": "Pod", "metadata": {"name": format!("web-{name}"), "generateName": "web-", "uid": name,
        "labels": {"app": "web"}, "ownerReferences": owner}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}})
}

fn going(pod: &Value) -> Value {
    with(pod, &json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}}))
}

fn orphan(pod: &Value) -> Value {
    with(pod, &json!({"metadata": {"ownerReferences": null}}))
}

/// A ReplicaSet with two pods that the case calls a and b.
fn two() -> Film {
    let film = Film::new().judging_replica_sets().given("replicaset/web").driver_made(&set());
    let film = ["x", "y"].iter().fold(film, |film, name| film.asked("create", "pods", &pod(name)));
    film.named("a", "web-x").named("b", "web-y").settled()
}

fn step(film: Film, index: u32) -> Vec<String> {
    let timeline = of(&film.settled().end());
    let lines = timeline.step(StepId { index, part: 0 }).unwrap().lines();
    lines.iter().map(ToString::to_string).collect()
}

#[test]
fn pods_are_counted_when_they_come_and_named_ever_after() {
    assert_eq!(step(two(), 0), ["web pods  created=2", "= web 2/0 ready=0 available=0 pods=a,b"]);
}

#[rstest]
#[case::deleted(two().user(1, "x").asked("delete", "pods", &going(&pod("y"))), "web pods  deleted=b", "pods=a terminatingPods=1")]
#[case::gone_at_once(two().user(1, "x").foreign_deleted(&pod("y")), "web pods  deleted=b", "pods=a")]
#[case::another_made(two().user(1, "x").asked("create", "pods", &pod("z")), "web pods  created=1", "pods=a,b,+1")]
#[case::let_go(two().user(1, "x").asked("patch", "pods", &orphan(&pod("y"))), "web pods  released=b", "pods=a")]
#[case::made_oddly(
    two().user(1, "x").asked("create", "pods", &with(&pod("z"), &json!({"metadata": {"labels": null, "generateName": null}}))),
    "web pods  created=1 odd=labels,name", "pods=a,b,+1")]
fn each_move(#[case] film: Film, #[case] decision: &str, #[case] pods: &str) {
    assert_eq!(step(film, 1), [decision.to_owned(), format!("= web 2/0 ready=0 available=0 {pods}")]);
}

#[test]
fn a_pod_that_the_case_made_has_its_own_name() {
    let stray = orphan(&with(&pod("x"), &json!({"metadata": {"name": "stray"}})));
    let owned = with(&pod("x"), &json!({"metadata": {"name": "stray"}}));
    let film = two().driver_made(&stray).settled().user(1, "x").asked("patch", "pods", &owned);
    assert_eq!(step(film, 1)[0], "web pods  adopted=stray");
}

#[test]
fn a_pod_of_somebody_elses_is_told_of_when_it_is_deleted() {
    let other = json!([{"kind": "ConfigMap", "uid": "uid-other", "controller": true}]);
    let taken = with(&pod("x"), &json!({"metadata": {"name": "taken", "ownerReferences": other}}));
    for taken in [orphan(&taken), taken] {
        let film = two().driver_made(&taken).settled().user(1, "x").asked("delete", "pods", &going(&taken));
        assert_eq!(step(film, 1)[0], "- pods  deleted=taken");
    }
}

#[rstest]
#[case::the_drivers(two().user(1, "x").driver(&going(&pod("y"))))]
#[case::finished(two().driver(&going(&pod("y"))).settled().user(1, "x").foreign_deleted(&going(&pod("y"))))]
#[case::collected(two().driver(&going(&set())).settled().user(1, "x").foreign_deleted(&pod("y")))]
fn what_is_nobodys_decision(#[case] film: Film) {
    assert!(step(film, 1).iter().all(|line| line.starts_with('=')));
}

#[test]
fn what_is_left_to_chance_is_not_told() {
    let film = two().expecting(1, &[&["a"], &["b"]]).asked("delete", "pods", &going(&pod("y")));
    assert_eq!(step(film, 1), ["web pods  deleted=1", "= web 2/0 ready=0 available=0 pods=1 terminatingPods=1"]);
}

#[test]
fn the_case_says_who_lives_on() {
    let film = |sets: &[&[&str]]| {
        let film = two().expecting(1, sets).asked("delete", "pods", &going(&pod("y"))).settled().end();
        unexpected(&film).into_iter().map(|(step, what)| format!("{step}: {what}")).collect::<Vec<_>>()
    };
    assert!(film(&[&["a"]]).is_empty() && film(&[&["b"], &["a"]]).is_empty());
    assert_eq!(film(&[&["b"]]), ["step 1: the case expects b to be alive, and it is a"]);
    assert_eq!(film(&[&[]]), ["step 1: the case expects none to be alive, and it is a"]);
}

#[test]
fn pods_that_move_without_a_request_are_somebody_elses_work() {
    let steps = |film: Film| unearned(&film.settled().end());
    assert!(steps(two().user(1, "x").asked("create", "pods", &pod("z"))).is_empty());
    assert_eq!(steps(two().user(1, "x").foreign(&pod("z"))), [StepId { index: 1, part: 0 }]);
    // The test environment's Deployment controller needs no request of the subject's.
    assert!(steps(two().user(1, "x").foreign(&with(&set(), &json!({"spec": {"replicas": 1}})))).is_empty());
}

#[test]
fn events_are_counted_by_reason_and_failures_only_told() {
    let event = |name: &str, reason: &str| {
        json!({"kind": "Event", "metadata": {"name": name}, "type": "Normal", "reason": reason, "message": name, "count": 1,
            "involvedObject": {"kind": "ReplicaSet", "name": "web", "uid": "uid-set"}})
    };
    let film = |creates: u32| {
        let film = (0..creates).fold(two(), |film, n| film.foreign(&event(&format!("c{n}"), "SuccessfulCreate")));
        let film = film.foreign(&event("f1", "FailedCreate")).foreign(&event("f2", "FailedCreate"));
        text(&of(&film.end()))
    };
    let few = ["events", "        Normal FailedCreate web  ×1", "        Normal SuccessfulCreate web  ×3"];
    assert_eq!(film(3), few);
    assert_eq!(film(10), ["events  not compared: ten or more"]);
}

#[test]
fn a_controller_that_is_killed_leaves_events_unwritten() {
    let said = |effect| text(&of(&two().met("x").with_effect(effect).settled().end()));
    assert_eq!(said(Effect::Killed), ["events  not compared: a controller that is killed leaves some unwritten"]);
    assert_eq!(said(Effect::Answered), ["events  none"]);
}
