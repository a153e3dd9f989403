//! Whole recordings and the timelines that they become.

mod pods;

use std::sync::Arc;

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::fixture::{Film, deployment, event, owned_set, ready, revision, scaled, with};
use super::{Action, Breach, Decision, EventLine, Events, Field, Invariant, Provenance, State, Step, StepId, Timeline};
use crate::recording::{Entry, Recording, Writer};
use crate::workload::Workload;

/// A recording's timeline, which is the same where its versions are packed; judging it leaves them
/// packed.
fn of(recording: &Recording) -> Timeline {
    let timeline = Timeline::from_recording(recording);
    let mut packed = recording.clone();
    packed.pack();
    assert_eq!(Timeline::from_recording(&packed), timeline);
    let is_packed = |entry: &Entry| !matches!(entry, Entry::Object(version) if !version.object.is_packed());
    assert!(packed.entries.iter().all(is_packed));
    timeline
}

/// The text of a recording's timeline, read back on the way; without the line on the case, which is
/// always the first.
fn text(recording: &Recording) -> String {
    let timeline = of(recording);
    let text = timeline.to_string();
    assert_eq!(Timeline::parse(&text), Ok(timeline));
    let (case, text) = text.split_once('\n').unwrap();
    assert_eq!(case, "# case: 0e201f47a9a8fab2");
    text.to_owned()
}

/// The decisions of step 1 after `film`.
fn decisions(film: Film) -> Vec<String> {
    let timeline = of(&film.settled().end());
    timeline.step(StepId { index: 1, part: 0 }).unwrap().decisions.iter().map(ToString::to_string).collect()
}

/// The breaches of step 1 after `film`.
fn breaches(film: Film) -> Vec<String> {
    let timeline = of(&film.settled().end());
    timeline.steps.iter().flat_map(|step| &step.breaches).map(ToString::to_string).collect()
}

fn web() -> Value {
    with(&deployment("web", 10, "app:1"), &revision(1))
}

fn set(hash: &str, replicas: i32, available: i32) -> Value {
    with(&owned_set(&web(), hash, &format!("app:{hash}"), replicas), &json!({"status": ready(available)}))
}

/// The same ReplicaSet, with a size for this many wanted replicas.
fn desired(set: &Value, replicas: i32) -> Value {
    with(
        set,
        &json!({"metadata": {"annotations": {"deployment.kubernetes.io/desired-replicas": replicas.to_string()}}}),
    )
}

#[test]
fn a_message_to_the_webhook_is_a_decision_without_its_time() {
    let json = r#"{"message":"a \"b\"","time":"2026-01-05T00:00:27Z"}"#;
    let film = Film::rolled_out(1).user(1, "x").request("create", "webhook", 200).with_message(json);
    let film = film.request("create", "webhook", 200).with_message("plain text\n").request("create", "webhook", 0);
    let expected = [r#"webhook message={"message":"a \"b\""}"#, r#"webhook message="plain text""#];
    assert_eq!(decisions(film), expected);
}

#[test]
fn a_rollout_reads_as_a_staircase() {
    let web = with(&web(), &json!({"status": super::fixture::complete(10)}));
    let new = with(
        &web,
        &json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}, "metadata": {"generation": 2}}),
    );
    let rs2 = owned_set(&new, "2", "app:2", 3);
    let film = Film::rolled_out(10)
        .user(1, "set image=app:2")
        .driver(&new)
        .other(&rs2)
        .other(&with(&new, &revision(2)))
        .other(&set("1", 8, 10))
        .other(&scaled(&rs2, 5))
        .other(&event("e1", "web", "Scaled up replica set web-2 from 0 to 3", 1))
        .other(&event("e2", "web", "Scaled up replica set web-2 from 3 to 5", 1))
        .other(&event("e2", "web", "Scaled up replica set web-2 from 3 to 5", 2))
        .other(&with(&with(&new, &revision(2)), &json!({"status": {"replicas": 13, "updatedReplicas": 5, "unavailableReplicas": 3, "observedGeneration": 2}})))
        .settled();
    assert_snapshot!(text(&film.end()), @r#"
    given   deployment/web
            rs1 created 10  revision=1
            web revision=1
          = rs1 10/10 ready=10 available=10 revision=1 pods=0
          = web 10 updated=10 ready=10 available=10 generation=1/1 revision=1 Available=True(MinimumReplicasAvailable) Progressing=True(NewReplicaSetAvailable)
    step 1  set image=app:2
            rs2 created 3  revision=2
            rs1 10 -> 8
            rs2 3 -> 5
            web revision=2
          = rs1 8/10 ready=10 available=10 revision=1 pods=0
          = rs2 5/0 ready=0 available=0 revision=2 pods=0
          = web 13 updated=5 ready=10 available=10 unavailable=3 generation=2/2 revision=2 Available=True(MinimumReplicasAvailable) Progressing=True(incomplete)
    events
            Normal ScalingReplicaSet "Scaled up replica set rs2 from 0 to 3"  ×1
            Normal ScalingReplicaSet "Scaled up replica set rs2 from 3 to 5"  ×2
    "#);
}

#[rstest]
#[case::resized_and_annotated(
    json!({"spec": {"replicas": 12}, "metadata": {"annotations": {"deployment.kubernetes.io/desired-replicas": "12", "deployment.kubernetes.io/max-replicas": "15"}}}),
    "rs1 10 -> 12  desired=12 max=15")]
#[case::annotated(
    json!({"metadata": {"annotations": {"deployment.kubernetes.io/desired-replicas": "12"}}}),
    "rs1 annotated desired=12")]
#[case::revised(
    json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "3", "deployment.kubernetes.io/revision-history": "1"}}}),
    "rs1 revision=3 history=1")]
#[case::unknown_annotation_of_its_own(json!({"metadata": {"annotations": {"deployment.kubernetes.io/new": "x y"}}}), r#"rs1 annotated new="x y""#)]
#[case::users_annotation(json!({"metadata": {"annotations": {"team": "a b"}}}), r#"rs1 annotated annotations={"team":"a b"}"#)]
#[case::annotation_removed(json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": null}}}), "rs1 revision=-")]
#[case::min_ready_seconds(json!({"spec": {"minReadySeconds": 5}}), "rs1 minReadySeconds=5")]
#[case::template(json!({"spec": {"template": {"spec": {"x": 1}}}}), "rs1 template=changed")]
#[case::relabelled(json!({"metadata": {"labels": {"a": "b"}}}), r#"rs1 labels={"a":"b","app":"web","pod-template-hash":"<hash>"}"#)]
#[case::released(json!({"metadata": {"ownerReferences": null}}), "rs1 released")]
#[case::status_is_no_decision(json!({"status": {"replicas": 3}}), "")]
fn a_change_of_a_replica_set(#[case] patch: Value, #[case] expected: &str) {
    let film = Film::rolled_out(10).user(1, "x").other(&with(&set("1", 10, 10), &patch));
    assert_eq!(decisions(film).join("; "), expected);
}

#[rstest]
#[case::revision(json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}}), "web revision=2")]
#[case::collisions(json!({"status": {"collisionCount": 1}}), "web collisionCount=1")]
#[case::template(json!({"spec": {"template": {"x": 1}}}), "web spec.template=changed")]
#[case::replicas(json!({"spec": {"replicas": 3}}), "web spec.replicas=3")]
#[case::other_status_is_no_decision(json!({"status": {"replicas": 3}}), "")]
fn a_change_of_a_deployment(#[case] patch: Value, #[case] expected: &str) {
    assert_eq!(decisions(Film::rolled_out(10).user(1, "x").other(&with(&web(), &patch))).join("; "), expected);
}

#[rstest]
#[case::owner(json!({"metadata": {"ownerReferences": null}}), "-/rs1 created 3  revision=2 owner=none")]
#[case::not_blocking(
    json!({"metadata": {"ownerReferences": [{"uid": "uid-web", "controller": true}]}}),
    "rs2 created 3  revision=2 blockOwnerDeletion=false")]
#[case::name(json!({"metadata": {"name": "web-x"}}), "rs2 created 3  revision=2 name=unusual")]
#[case::labels(
    json!({"metadata": {"labels": {"app": null}}}),
    r#"rs2 created 3  revision=2 labels={"pod-template-hash":"<hash>"}"#)]
#[case::selector(
    json!({"spec": {"selector": {"matchLabels": {"pod-template-hash": null}}}}),
    r#"rs2 created 3  revision=2 selector={"app":"web"}"#)]
#[case::template(
    json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:3"}]}}}}),
    "rs2 created 3  revision=2 template=differs")]
#[case::ordinary(json!({}), "rs2 created 3  revision=2")]
fn a_new_replica_set_prints_its_deviations(#[case] patch: Value, #[case] expected: &str) {
    let new =
        with(&web(), &json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}}));
    let rs2 = with(&owned_set(&new, "2", "app:2", 3), &patch);
    assert_eq!(decisions(Film::rolled_out(10).user(1, "x").driver(&new).other(&rs2)).join("; "), expected);
}

#[test]
fn an_orphan_is_adopted_under_its_deployments_name() {
    let orphan = with(&set("0", 0, 0), &json!({"metadata": {"ownerReferences": null}}));
    let film = Film::rolled_out(10).user(1, "apply").driver(&orphan).other(&set("0", 0, 0));
    assert_eq!(decisions(film), ["rs2 adopted"]);
}

#[test]
fn the_drivers_own_writes_are_no_decisions() {
    assert!(decisions(Film::rolled_out(10).user(1, "scale").driver(&set("1", 3, 10))).is_empty());
}

#[test]
fn a_deployments_own_changes_follow_its_replica_sets() {
    let api = deployment("api", 1, "app:1");
    let film = Film::rolled_out(10)
        .user(1, "x")
        .other(&with(&web(), &revision(2)))
        .driver(&api)
        .other(&scaled(&set("1", 10, 10), 8))
        .other(&owned_set(&api, "9", "app:1", 1));
    assert_eq!(decisions(film), ["api/rs1 created 1  revision=9", "web/rs1 10 -> 8", "web revision=2"]);
}

#[test]
fn the_garbage_collector_has_no_order() {
    let film = |first: &str, second: &str| {
        Film::rolled_out(10)
            .other(&set("2", 0, 0))
            .user(1, "delete deployment/web")
            .deleted(&web(), Writer::Driver)
            .deleted(&set(first, 0, 0), Writer::Other)
            .deleted(&set(second, 0, 0), Writer::Other)
    };
    assert_eq!(decisions(film("2", "1")), ["rs1 deleted", "rs2 deleted"]);
    assert_eq!(decisions(film("1", "2")), ["rs1 deleted", "rs2 deleted"]);
}

#[test]
fn history_clean_up_keeps_its_order() {
    let film = Film::rolled_out(10)
        .other(&set("2", 0, 0))
        .other(&set("3", 0, 0))
        .user(1, "x")
        .deleted(&set("3", 0, 0), Writer::Other)
        .deleted(&set("2", 0, 0), Writer::Other);
    assert_eq!(decisions(film), ["rs3 deleted", "rs2 deleted"]);
}

#[test]
fn steps_together_come_to_their_net_effect() {
    let film = Film::rolled_out(10)
        .together(1, "together scale 12; set image=app:2")
        .other(&set("2", 0, 0))
        .other(&scaled(&set("1", 10, 10), 12))
        .other(&scaled(&set("2", 0, 0), 3))
        .other(&scaled(&set("1", 10, 10), 9))
        .other(&scaled(&set("1", 10, 10), 10));
    assert_eq!(decisions(film), ["rs2 created 3  revision=2 template=differs"]);
}

/// Upstream makes one write of it, or several.
#[test]
fn burst_in_given_is_compared_by_net_change_and_the_parts_around_it_are_not() {
    let film = |resizes: &[i32]| {
        let film =
            Film::rolled_out(10).given("set image=app:2").other(&set("2", 0, 0)).other(&scaled(&set("2", 0, 0), 3));
        let mut film = film.settled().given("ready 3 atomic").bursting();
        for size in resizes {
            film = film.other(&scaled(&set("1", 10, 10), *size));
        }
        film.settled()
            .given("scale")
            .other(&scaled(&set("1", 10, 10), 8))
            .other(&scaled(&set("1", 10, 10), 9))
            .settled()
            .end()
    };
    let (one, several) = (text(&film(&[7])), text(&film(&[9, 8, 7])));
    assert_eq!(one, several);
    let lines = ["rs2 0 -> 3", "rs1 10 -> 7", "rs1 7 -> 8", "rs1 8 -> 9", "events  not compared: how a burst"];
    assert!(lines.iter().all(|line| one.contains(line)), "{one}");
}

#[test]
fn burst_without_a_resize_leaves_the_events_compared() {
    let film = Film::rolled_out(3).given("ready 3 atomic").bursting().settled().end();
    assert!(!text(&film).contains("how a burst"), "{}", text(&film));
}

#[test]
fn report_has_the_recordings_order_where_the_timeline_has_another() {
    let film = Film::rolled_out(10)
        .together(1, "together")
        .other(&set("2", 0, 0))
        .other(&scaled(&set("1", 10, 10), 9))
        .other(&scaled(&set("2", 0, 0), 3))
        .settled()
        .end();
    let names = super::Names::of(&film);
    let mut build = super::Build::of(&film, &names);
    super::replay(&film, &names, &mut [&mut build]);
    let orders: Vec<String> = build.finish_with_orders().1.iter().map(ToString::to_string).collect();
    assert_eq!(orders, ["step 1: the recording has another order: rs2 created 0, rs1 10 -> 9, rs2 0 -> 3"]);
}

#[test]
fn given_is_one_block() {
    let film = Film::rolled_out(1).given("ready 1").settled().given("ready 1").settled().end();
    assert!(text(&film).starts_with("given   deployment/web; ready 1 ×2\n        rs1 created 1  revision=1\n"));
}

#[test]
fn pods_are_counted_by_their_replica_set() {
    let pod = |name: &str, patch: Value| {
        let owner = json!([{"uid": "uid-web-1", "controller": true}]);
        let pod = json!({"kind": "Pod", "metadata": {"name": name, "uid": name, "ownerReferences": owner}});
        with(&pod, &patch)
    };
    let film = Film::rolled_out(2)
        .other(&pod("a", json!({})))
        .other(&pod("b", json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}})))
        .other(&pod("c", json!({"status": {"phase": "Failed"}})))
        .settled();
    assert!(text(&film.end()).contains("available=2 revision=1 pods=1 terminatingPods=1\n"));
}

#[rstest]
#[case("ReplicaSetUpdated", 1, "incomplete")]
#[case("NewReplicaSetCreated", 1, "incomplete")]
#[case("NewReplicaSetAvailable", 1, "incomplete")]
#[case("NewReplicaSetAvailable", 2, "NewReplicaSetAvailable")]
#[case("ProgressDeadlineExceeded", 1, "ProgressDeadlineExceeded")]
#[case("DeploymentPaused", 1, "DeploymentPaused")]
fn progressing_on_its_way_is_one_class(#[case] reason: &str, #[case] available: i32, #[case] expected: &str) {
    let status = json!({"status": {"availableReplicas": available, "conditions": [{"type": "Progressing", "status": "True", "reason": reason}]}});
    let web = with(&deployment("web", 2, "app:1"), &json!({"status": super::fixture::complete(2)}));
    let film = Film::rolled_out(2).other(&with(&with(&web, &revision(1)), &status)).settled();
    assert!(text(&film.end()).contains(&format!("Progressing=True({expected})\n")));
}

#[test]
fn events_are_compared_only_if_few_and_complete() {
    let film = |many: usize| {
        (0..many).fold(Film::rolled_out(1), |film, n| {
            film.other(&event(&format!("e{n}"), "web", &format!("message {n}"), 1))
        })
    };
    assert!(text(&film(9).end()).ends_with("        Normal ScalingReplicaSet \"message 8\"  ×1\n"));
    assert!(text(&film(10).end()).ends_with("events  not compared: ten or more\n"));
    assert!(text(&film(2).cut()).ends_with("events  not compared: the recording may lack some\n"));
    assert!(text(&film(0).end()).ends_with("events  none\n"));
}

#[rstest]
#[case::too_many(Film::rolled_out(10).user(1, "x").other(&set("2", 4, 0)), "surge: web wants 14 pods in all, at most 13 allowed")]
#[case::as_many_as_allowed(Film::rolled_out(10).user(1, "x").other(&set("2", 3, 0)), "")]
#[case::a_user_shrank_it(
    Film::rolled_out(10).user(1, "x").driver(&scaled(&web(), 2)).other(&scaled(&set("1", 10, 10), 9)), "")]
#[case::a_user_shrank_it_and_it_grows(
    Film::rolled_out(10).user(1, "x").driver(&scaled(&web(), 2)).other(&set("2", 1, 0)), "")]
#[case::a_node_is_no_excuse(
    Film::rolled_out(10).node(1, 0, "x").driver(&scaled(&web(), 2)).other(&set("2", 1, 0)),
    "surge: web wants 11 pods in all, at most 3 allowed")]
#[case::decided_before_an_operation_in_the_middle(
    Film::rolled_out(10).user(1, "x").met("x").driver(&scaled(&web(), 9)).other(&set("2", 3, 0)), "")]
#[case::decided_before_the_second_of_two_operations(
    Film::rolled_out(10).user(1, "x").driver(&web()).driver(&scaled(&web(), 9)).other(&set("2", 3, 0)), "")]
#[case::decided_by_an_old_view(Film::rolled_out(10).user(1, "x").stale().other(&set("2", 4, 0)), "")]
#[case::decided_after_the_old_view_was_gone(
    Film::rolled_out(10).user(1, "x").stale().settled().user(2, "y").other(&set("2", 4, 0)),
    "surge: web wants 14 pods in all, at most 13 allowed")]
#[case::decided_after_the_only_operation(
    Film::rolled_out(10).user(1, "x").driver(&scaled(&web(), 9)).other(&set("2", 3, 0)),
    "surge: web wants 13 pods in all, at most 12 allowed")]
#[case::decided_after_it_had_settled(
    Film::rolled_out(10).user(1, "x").met("x").driver(&scaled(&web(), 9)).settled().user(2, "y").other(&set("2", 3, 0)),
    "surge: web wants 13 pods in all, at most 12 allowed")]
#[case::in_the_middle_of_scaling_in_proportion(
    Film::rolled_out(10).driver(&desired(&set("1", 3, 3), 10)).driver(&desired(&set("2", 5, 5), 10)).settled().user(1, "x")
        .driver(&scaled(&web(), 6)).other(&desired(&set("2", 7, 5), 6)),
    "")]
#[case::after_scaling_in_proportion(
    Film::rolled_out(10).driver(&desired(&set("1", 3, 3), 10)).driver(&desired(&set("2", 5, 5), 10)).settled().user(1, "x")
        .driver(&scaled(&web(), 6)).other(&desired(&set("2", 7, 5), 6)).other(&desired(&set("1", 1, 1), 6))
        .other(&desired(&set("1", 3, 1), 6)),
    "surge: web wants 10 pods in all, at most 8 allowed")]
#[case::recreate_allows_none_above(
    Film::rolled_out(10).user(1, "x").driver(&with(&web(), &json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}))).other(&set("2", 1, 0)),
    "surge: web wants 11 pods in all, at most 10 allowed")]
fn surge(#[case] film: Film, #[case] expected: &str) {
    assert_eq!(breaches(film).join("; "), expected);
}

#[rstest]
#[case::down_to_the_floor(Film::rolled_out(10).user(1, "x").other(&set("1", 8, 10)), "")]
#[case::below_the_floor(
    Film::rolled_out(10).user(1, "x").other(&set("1", 7, 10)),
    "availability: web keeps 7 pods available, at least 8 promised")]
#[case::unhealthy_ones_may_go(Film::rolled_out(10).node(1, 0, "x").other(&set("1", 10, 6)).other(&scaled(&set("1", 10, 6), 6)), "")]
#[case::but_not_healthy_ones_when_below_already(
    Film::rolled_out(10).node(1, 0, "x").other(&set("1", 10, 6)).other(&scaled(&set("1", 10, 6), 5)),
    "availability: web keeps 5 pods available, at least 8 promised")]
#[case::a_user_asked_for_more(
    Film::rolled_out(10).user(1, "x").driver(&scaled(&web(), 20)).other(&scaled(&set("1", 10, 10), 9)), "")]
#[case::deleted_with_pods(
    Film::rolled_out(10).user(1, "x").deleted(&set("1", 10, 10), Writer::Other),
    "availability: web keeps 0 pods available, at least 8 promised")]
#[case::more_than_allowed_are_cut_whichever_are_available(
    Film::rolled_out(10).user(1, "x").other(&set("2", 3, 0)).user(2, "y").driver(&scaled(&web(), 8)).other(&set("1", 5, 10)), "")]
#[case::more_than_allowed_are_cut_after_they_have_settled(
    Film::rolled_out(10).user(1, "x").other(&set("2", 3, 0)).user(2, "y").driver(&with(&web(), &one_at_a_time()))
        .settled().user(3, "pause").other(&set("1", 8, 10)), "")]
#[case::as_many_as_allowed_are_not_cut(
    Film::rolled_out(10).user(1, "x").other(&set("2", 3, 0)).other(&set("1", 7, 10)),
    "availability: web keeps 7 pods available, at least 8 promised")]
#[case::a_user_sized_a_replica_set(
    Film::rolled_out(10).user(1, "x").driver(&set("1", 9, 10)).other(&set("1", 7, 10)), "")]
#[case::cut_in_proportion_by_the_second_of_two_operations(
    Film::rolled_out(10).driver(&set("2", 3, 0)).settled().user(1, "x").driver(&web()).driver(&scaled(&web(), 9))
        .other(&set("1", 6, 10)),
    "")]
#[case::an_autoscaler_scaled(
    Film::rolled_out(10).node(1, 0, "x").foreign(&scaled(&web(), 20)).other(&scaled(&set("1", 10, 10), 9)), "")]
#[case::recreate_promises_nothing(
    Film::rolled_out(10).user(1, "x").driver(&with(&web(), &json!({"spec": {"strategy": {"type": "Recreate"}}}))).other(&set("1", 0, 10)), "")]
fn availability(#[case] film: Film, #[case] expected: &str) {
    assert_eq!(breaches(film).join("; "), expected);
}

#[rstest]
#[case::a_second_set_for_one_template(
    Film::rolled_out(10).user(1, "x").other(&owned_set(&web(), "2", "app:1", 0)),
    "one-template: rs2 has the template of rs1")]
#[case::revision_falls_below_a_replica_sets(
    Film::rolled_out(10).other(&set("3", 0, 0)).other(&with(&web(), &revision(3))).user(1, "x").other(&with(&web(), &revision(2))),
    "revision: web went from revision 3 to 2, and one of its ReplicaSets has 3")]
#[case::revision_falls_by_an_old_view(
    Film::rolled_out(10).other(&set("3", 0, 0)).other(&with(&web(), &revision(3))).user(1, "x").stale().other(&with(&web(), &revision(2))),
    "")]
#[case::a_user_deleted_the_highest(
    Film::rolled_out(10).other(&set("3", 0, 0)).other(&with(&web(), &revision(3))).user(1, "x")
        .deleted(&set("3", 0, 0), Writer::Driver).other(&with(&web(), &revision(2))),
    "")]
#[case::nothing_follows_the_largest(
    Film::rolled_out(10).user(1, "x").driver(&largest()).other(&with(&web(), &json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": ""}}}))),
    "")]
#[case::a_user_wrote_no_number(
    Film::rolled_out(10).user(1, "x").other(&with(&web(), &json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "first"}}}))),
    "")]
#[case::revision_goes(
    Film::rolled_out(10).user(1, "x").other(&deployment("web", 10, "app:1")),
    "revision: web lost its revision 1")]
#[case::revision_rises(Film::rolled_out(10).user(1, "x").other(&with(&web(), &revision(2))), "")]
#[case::somebody_elses(
    Film::rolled_out(10).user(1, "x").driver(&strangers(3)).other(&strangers(4)),
    "ownership: -/rs1 3 -> 4: it belongs to another owner")]
#[case::nobodys(
    Film::rolled_out(10).user(1, "x").driver(&nobodys(3)).other(&nobodys(4)),
    "ownership: -/rs1 3 -> 4: it has no owner")]
#[case::status_of_anybodys(
    Film::rolled_out(10).user(1, "x").driver(&nobodys(3)).other(&with(&nobodys(3), &json!({"status": ready(3)}))), "")]
#[case::new_set_while_paused(
    Film::rolled_out(10).driver(&paused()).user(1, "x").other(&set("2", 0, 0)),
    "paused: rs2 created while web is paused")]
#[case::resumed_for_a_moment(
    Film::rolled_out(10).driver(&paused()).user(1, "x").driver(&web()).driver(&paused()).other(&set("2", 0, 0)), "")]
#[case::paused_at_the_same_moment(
    Film::rolled_out(10).user(1, "x").driver(&paused()).other(&set("2", 0, 0)), "")]
fn the_other_invariants(#[case] film: Film, #[case] expected: &str) {
    assert_eq!(breaches(film).join("; "), expected);
}

#[test]
fn an_invariant_that_a_workload_does_not_promise_is_not_judged() {
    let description = |paths: Value| json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs", "paths": paths});
    let judged = |paths: Value| {
        let mut recording = Film::rolled_out(10).user(1, "x").other(&set("2", 4, 0)).settled().end();
        recording.header.workload = Some(Box::new(Workload::from_json(description(paths)).unwrap()));
        Timeline::from_recording(&recording).steps.pop().unwrap().breaches.len()
    };
    assert_eq!(judged(json!({})), 1);
    assert_eq!(judged(json!({"/spec/strategy/rollingUpdate/maxSurge": null})), 0);
}

fn largest() -> Value {
    let annotations = json!({"deployment.kubernetes.io/revision": i64::MAX.to_string()});
    with(&set("1", 10, 10), &json!({"metadata": {"annotations": annotations}}))
}

fn strangers(replicas: i32) -> Value {
    with(&set("7", replicas, 0), &json!({"metadata": {"ownerReferences": [{"uid": "rollout", "controller": true}]}}))
}

fn nobodys(replicas: i32) -> Value {
    with(&set("7", replicas, 0), &json!({"metadata": {"ownerReferences": null}}))
}

fn one_at_a_time() -> Value {
    json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}}})
}

fn paused() -> Value {
    with(&web(), &json!({"spec": {"paused": true}}))
}

#[test]
fn writes_after_the_end_break_the_silence() {
    let film = || Film::rolled_out(1).user(1, "x").settled();
    let last = |film: Film| Timeline::from_recording(&film.end()).steps.pop().unwrap().breaches;
    assert_eq!(last(film().request("create", "events", 201).request("update", "replicasets", 409)), []);
    let detail = "update replicasets after the last step".to_owned();
    assert_eq!(last(film().request("update", "replicasets", 200)), [Breach { invariant: Invariant::Silence, detail }]);
}

/// Pods that are ready become available in time, and a deadline passes: a controller has to say so.
#[rstest]
#[case::nothing(&json!({"spec": {"minReadySeconds": 30}, "status": {"availableReplicas": 9}}), false)]
#[case::available(&json!({"spec": {"minReadySeconds": 30}, "status": {"availableReplicas": 10}}), true)]
#[case::available_at_once(&json!({"status": {"availableReplicas": 10}}), false)]
#[case::another_pod(&json!({"spec": {"minReadySeconds": 30}, "status": {"availableReplicas": 10, "readyReplicas": 9}}), false)]
#[case::late(&json!({"status": {"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]}}), true)]
fn what_time_brings_is_reported_after_the_end(#[case] change: &Value, #[case] is_timely: bool) {
    let before = with(&web(), &json!({"status": {"readyReplicas": 10, "availableReplicas": 9}}));
    let film = Film::rolled_out(10).other(&before).user(1, "x").settled();
    let end = film.other(&with(&before, change)).request("update", "deployments", 200).end();
    let breaches = Timeline::from_recording(&end).steps.pop().expect("a step").breaches;
    assert_eq!(breaches.is_empty(), is_timely, "{breaches:?}");
}

#[test]
fn pods_that_were_refused_are_tried_again_after_the_end() {
    let refused = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]);
    let set = with(&set("2", 1, 0), &json!({"status": {"conditions": refused}}));
    let film = Film::rolled_out(10).other(&set).user(1, "x").settled();
    let end = film.other(&set).request("create", "pods", 201).end();
    let breaches = Timeline::from_recording(&end).steps.pop().expect("a step").breaches;
    assert!(breaches.is_empty(), "{breaches:?}");
}

/// A Recreate that learned late of its pods' end goes on when upstream looks again.
#[rstest]
#[case::at_the_deadline("2026-01-05T00:01:00Z", true)]
#[case::before_it("2026-01-05T00:00:59Z", false)]
fn what_a_deadline_brings_is_not_judged(#[case] created: &str, #[case] is_timely: bool) {
    let progressing = json!([{"type": "Progressing", "lastUpdateTime": "2026-01-05T00:00:00Z"}]);
    let web = with(&web(), &json!({"spec": {"progressDeadlineSeconds": 60}, "status": {"conditions": progressing}}));
    let film = Film::rolled_out(10).other(&web).user(1, "x").settled();
    let new = with(&set("2", 1, 0), &json!({"metadata": {"creationTimestamp": created}}));
    let breaches = Timeline::from_recording(&film.other_made(&new).request("create", "replicasets", 201).end());
    let breaches = breaches.steps.last().map(|step| step.breaches.len());
    assert_eq!(breaches == Some(0), is_timely, "{breaches:?}");
}

#[rstest]
#[case("        rs1 10 -> 8", 1, "nothing stands above it")]
#[case("step one  x", 1, "neither `given`, `step N` nor `events`: `step one`")]
#[case("step 1  x\n        rs1 created many", 2, "`many` is not a number of replicas")]
#[case("step 1  x\n      ! gravity: x", 2, "no invariant `gravity`")]
#[case("step 1  x\n      = rs1", 2, "a checkpoint without numbers")]
fn a_file_that_nobody_wrote_is_refused(#[case] text: &str, #[case] line: usize, #[case] why: &str) {
    let error = Timeline::parse(text).unwrap_err();
    assert_eq!((error.line, error.why.as_str()), (line, why));
}

fn field() -> impl Strategy<Value = Field> {
    ("[a-z.]{1,12}", any::<String>()).prop_map(|(key, value)| Field::new(&key, &value))
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        any::<i32>().prop_map(Action::Created),
        any::<(i32, i32)>().prop_map(|(from, to)| Action::Resized { from, to }),
        Just(Action::Deleted),
        Just(Action::Adopted),
        Just(Action::Released),
        Just(Action::Annotated),
        Just(Action::Changed),
        Just(Action::Pods),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let object = || "(web/)?rs[1-9]|-/rs1|web";
    let decision = (object(), action(), vec(field(), 0..4)).prop_map(|(object, action, details)| Decision {
        object,
        action,
        details,
    });
    let state = (object(), "[0-9]{1,3}(/[0-9]{1,3})?", vec(field(), 0..4))
        .prop_map(|(object, size, fields)| Arc::new(State { object, size, fields }));
    let breach = (0..Invariant::ALL.len(), "[a-z0-9]([a-z0-9:> -]{0,20}[a-z0-9])?")
        .prop_map(|(invariant, detail)| Breach { invariant: Invariant::ALL[invariant], detail });
    let label = "([a-z=:0-9]+( [a-z=:;0-9]+){0,3})?";
    let meetings = vec("rs1 5 -> 4 held: scale [0-9]", 0..2);
    (any::<(u32, u32)>(), label, any::<bool>(), meetings, vec(decision, 0..4), vec(breach, 0..2), vec(state, 0..3))
        .prop_map(|((index, part), label, joined, meetings, decisions, breaches, checkpoint)| {
            let id = if index == 0 { StepId::GIVEN } else { StepId { index, part } };
            Step { id, label, joined, meetings, decisions, breaches, checkpoint }
        })
}

fn timeline() -> impl Strategy<Value = Timeline> {
    let event = ("Normal [A-Z][a-z]+ \"[a-z ×]*\"", any::<u64>()).prop_map(|(text, count)| EventLine { text, count });
    let events = prop_oneof![vec(event, 0..3).prop_map(Events::All), "[a-z]+( [a-z]+)*".prop_map(Events::NotCompared)];
    let provenance = ("[a-z]+", "[a-z-]+ v[0-9.]+[0-9]", "[a-z-]+ v[0-9.]+[0-9]", 1..9u32, 1..9u32);
    let provenance = (provenance, proptest::option::of(1..9u32)).prop_map(
        |((name, controller, server, recordings, boots), seen)| Provenance {
            name,
            controller,
            server,
            recordings,
            seen,
            boots,
        },
    );
    let case = proptest::option::of("[0-9a-f]{16}");
    (proptest::option::of(provenance), case, vec(step(), 0..4), events)
        .prop_map(|(provenance, case, steps, events)| Timeline { provenance, case, steps, events })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(timeline in timeline()) {
        prop_assert_eq!(Timeline::parse(&timeline.to_string()), Ok(timeline));
    }

    #[test]
    fn joining_is_idempotent_and_keeps_the_ends(steps in vec(0..5i32, 2..8)) {
        let decisions: Vec<Decision> = steps
            .windows(2)
            .map(|pair| Decision { object: "rs1".to_owned(), action: Action::Resized { from: pair[0], to: pair[1] }, details: vec![] })
            .collect();
        let joined = super::joined(&decisions);
        prop_assert_eq!(super::joined(&joined), joined.clone());
        let ends = |all: &[Decision]| match (all.first().unwrap().action, all.last().unwrap().action) {
            (Action::Resized { from, .. }, Action::Resized { to, .. }) => (from, to),
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(ends(&joined), ends(&decisions));
    }
}

#[test]
fn a_long_timeline_in_short_has_what_changed() {
    let states = |web7: u32, last: u32| -> String {
        (1..=last).map(|at| format!("      = web{at} {}\n", if at == 7 { web7 } else { 0 })).collect()
    };
    let text = |all: bool, last: u32| {
        let rest = |web7, until| if all { states(web7, until) } else { format!("      = web7 {web7}\n") };
        let gone = if all { String::new() } else { format!("      ~ web{last} is gone\n") };
        format!(
            "given   x\n{}step 1  y\n{}{gone}step 2  z\n{}events  none\n",
            states(1, last),
            rest(2, last - 1),
            if all { states(2, last - 1) } else { String::new() }
        )
    };
    let long = Timeline::parse(&text(true, 4_000)).unwrap();
    assert!(long.is_long());
    assert_eq!(long.in_short(), text(false, 4_000));
    let usual = Timeline::parse(&text(true, 40)).unwrap();
    assert!(!usual.is_long());
    assert_eq!(usual.in_short(), text(true, 40));
}
