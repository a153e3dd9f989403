//! Tests whole recordings and their timelines.

mod pods;

use std::sync::Arc;

use insta::assert_snapshot;
use lockstep_recording::testing::{
    RecordingBuilder, deployment, event, owned_set, ready, revision, scaled, with_patch,
};
use lockstep_recording::{Recording, RecordingEntry, WriterRole};
use lockstep_workload::Workload;
use proptest::collection::vec;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    Decision, DecisionAction, EventLine, Invariant, InvariantBreach, KeyValue, Provenance, State, StepId, Timeline,
    TimelineEvents, TimelineStep,
};

/// The timeline of a recording, which is the same for a packed recording; judging leaves it packed.
fn of(recording: &Recording) -> Timeline {
    let timeline = Timeline::from_recording(recording);
    let mut packed = recording.clone();
    packed.pack();
    assert_eq!(Timeline::from_recording(&packed), timeline);
    let is_packed =
        |entry: &RecordingEntry| !matches!(entry, RecordingEntry::Object(version) if !version.object.is_packed());
    assert!(packed.entries.iter().all(is_packed));
    timeline
}

/// The text of a recording's timeline without the first line, which has the digest of the case.
/// Also checks that the text can be parsed.
fn text(recording: &Recording) -> String {
    let timeline = of(recording);
    let text = timeline.to_string();
    assert_eq!(Timeline::parse(&text), Ok(timeline));
    let (case, text) = text.split_once('\n').unwrap();
    assert_eq!(case, "# case: 0e201f47a9a8fab2");
    text.to_owned()
}

/// The decisions of step 1 of these entries.
fn decisions(builder: RecordingBuilder) -> Vec<String> {
    let timeline = of(&builder.settled().end());
    timeline.step(StepId { index: 1, part: 0 }).unwrap().decisions.iter().map(ToString::to_string).collect()
}

/// The breaches of step 1 of these entries.
fn breaches(builder: RecordingBuilder) -> Vec<String> {
    let timeline = of(&builder.settled().end());
    timeline.steps.iter().flat_map(|step| &step.breaches).map(ToString::to_string).collect()
}

fn web() -> Value {
    with_patch(&deployment("web", 10, "app:1"), &revision(1))
}

fn set(hash: &str, replicas: i32, available: i32) -> Value {
    with_patch(&owned_set(&web(), hash, &format!("app:{hash}"), replicas), &json!({"status": ready(available)}))
}

/// The same ReplicaSet with a size for this number of desired replicas.
fn desired(set: &Value, replicas: i32) -> Value {
    with_patch(
        set,
        &json!({"metadata": {"annotations": {"deployment.kubernetes.io/desired-replicas": replicas.to_string()}}}),
    )
}

#[test]
fn webhook_message_is_a_decision_without_time() {
    let json = r#"{"message":"a \"b\"","time":"2026-01-05T00:00:27Z"}"#;
    let builder =
        RecordingBuilder::rolled_out(1).user_step(1, "x").request("create", "webhook", 200).with_message(json);
    let builder =
        builder.request("create", "webhook", 200).with_message("plain text\n").request("create", "webhook", 0);
    let expected = [r#"webhook message={"message":"a \"b\""}"#, r#"webhook message="plain text""#];
    assert_eq!(decisions(builder), expected);
}

#[test]
fn rollout_is_a_sequence_of_resizes() {
    let web = with_patch(&web(), &json!({"status": lockstep_recording::testing::complete(10)}));
    let new = with_patch(
        &web,
        &json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}, "metadata": {"generation": 2}}),
    );
    let rs2 = owned_set(&new, "2", "app:2", 3);
    let builder = RecordingBuilder::rolled_out(10)
        .user_step(1, "set image=app:2")
        .driver_write(&new)
        .subject_write(&rs2)
        .subject_write(&with_patch(&new, &revision(2)))
        .subject_write(&set("1", 8, 10))
        .subject_write(&scaled(&rs2, 5))
        .subject_write(&event("e1", "web", "Scaled up replica set web-2 from 0 to 3", 1))
        .subject_write(&event("e2", "web", "Scaled up replica set web-2 from 3 to 5", 1))
        .subject_write(&event("e2", "web", "Scaled up replica set web-2 from 3 to 5", 2))
        .subject_write(&with_patch(&with_patch(&new, &revision(2)), &json!({"status": {"replicas": 13, "updatedReplicas": 5, "unavailableReplicas": 3, "observedGeneration": 2}})))
        .settled();
    assert_snapshot!(text(&builder.end()), @r#"
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
#[case::owned_by_another_too(
    json!({"metadata": {"ownerReferences": [{"uid": "uid-web", "controller": true}, {"uid": "boss"}]}}),
    "rs1 otherOwners=changed")]
#[case::kept_by_a_finalizer(json!({"metadata": {"finalizers": ["a/b"]}}), "rs1 finalizers=changed")]
#[case::status_is_not_a_decision(json!({"status": {"replicas": 3}}), "")]
fn decisions_about_replica_set(#[case] patch: Value, #[case] expected: &str) {
    let builder =
        RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&with_patch(&set("1", 10, 10), &patch));
    assert_eq!(decisions(builder).join("; "), expected);
}

#[rstest]
#[case::revision(json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}}), "web revision=2")]
#[case::collisions(json!({"status": {"collisionCount": 1}}), "web collisionCount=1")]
#[case::template(json!({"spec": {"template": {"x": 1}}}), "web spec.template=changed")]
#[case::replicas(json!({"spec": {"replicas": 3}}), "web spec.replicas=3")]
#[case::finalizers(json!({"metadata": {"finalizers": ["a/b"]}}), "web finalizers=changed")]
#[case::owners(json!({"metadata": {"ownerReferences": [{"uid": "boss"}]}}), "web otherOwners=changed")]
#[case::other_status_is_not_a_decision(json!({"status": {"replicas": 3}}), "")]
fn decisions_about_deployment(#[case] patch: Value, #[case] expected: &str) {
    assert_eq!(
        decisions(RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&with_patch(&web(), &patch)))
            .join("; "),
        expected
    );
}

#[rstest]
#[case::owner(json!({"metadata": {"ownerReferences": null}}), "-/rs1 created 3  revision=2 owner=none")]
#[case::not_blocking(
    json!({"metadata": {"ownerReferences": [{"uid": "uid-web", "controller": true}]}}),
    "rs2 created 3  revision=2 blockOwnerDeletion=false")]
#[case::another_owner(
    json!({"metadata": {"ownerReferences":
        [{"uid": "uid-web", "controller": true, "blockOwnerDeletion": true}, {"uid": "boss"}]}}),
    "rs2 created 3  revision=2 otherOwners=some")]
#[case::finalizers(json!({"metadata": {"finalizers": ["a/b"]}}), "rs2 created 3  revision=2 finalizers=some")]
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
fn new_replica_set_prints_deviations(#[case] patch: Value, #[case] expected: &str) {
    let new = with_patch(
        &web(),
        &json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}}),
    );
    let rs2 = with_patch(&owned_set(&new, "2", "app:2", 3), &patch);
    assert_eq!(
        decisions(RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&new).subject_write(&rs2)).join("; "),
        expected
    );
}

#[test]
fn orphan_is_adopted_under_name_of_deployment() {
    let orphan = with_patch(&set("0", 0, 0), &json!({"metadata": {"ownerReferences": null}}));
    let builder =
        RecordingBuilder::rolled_out(10).user_step(1, "apply").driver_write(&orphan).subject_write(&set("0", 0, 0));
    assert_eq!(decisions(builder), ["rs2 adopted"]);
}

#[test]
fn writes_of_driver_are_not_decisions() {
    assert!(
        decisions(RecordingBuilder::rolled_out(10).user_step(1, "scale").driver_write(&set("1", 3, 10))).is_empty()
    );
}

#[test]
fn changes_of_deployment_follow_those_of_its_replica_sets() {
    let api = deployment("api", 1, "app:1");
    let builder = RecordingBuilder::rolled_out(10)
        .user_step(1, "x")
        .subject_write(&with_patch(&web(), &revision(2)))
        .driver_write(&api)
        .subject_write(&scaled(&set("1", 10, 10), 8))
        .subject_write(&owned_set(&api, "9", "app:1", 1));
    assert_eq!(decisions(builder), ["api/rs1 created 1  revision=9", "web/rs1 10 -> 8", "web revision=2"]);
}

#[test]
fn garbage_collection_has_no_order() {
    let builder = |first: &str, second: &str| {
        RecordingBuilder::rolled_out(10)
            .subject_write(&set("2", 0, 0))
            .user_step(1, "delete deployment/web")
            .delete(&web(), WriterRole::Driver)
            .delete(&set(first, 0, 0), WriterRole::Other)
            .delete(&set(second, 0, 0), WriterRole::Other)
    };
    assert_eq!(decisions(builder("2", "1")), ["rs1 deleted", "rs2 deleted"]);
    assert_eq!(decisions(builder("1", "2")), ["rs1 deleted", "rs2 deleted"]);
}

#[test]
fn history_clean_up_keeps_its_order() {
    let builder = RecordingBuilder::rolled_out(10)
        .subject_write(&set("2", 0, 0))
        .subject_write(&set("3", 0, 0))
        .user_step(1, "x")
        .delete(&set("3", 0, 0), WriterRole::Other)
        .delete(&set("2", 0, 0), WriterRole::Other);
    assert_eq!(decisions(builder), ["rs3 deleted", "rs2 deleted"]);
}

#[test]
fn burst_is_reduced_to_net_effect() {
    let builder = RecordingBuilder::rolled_out(10)
        .burst_step(1, "together scale 12; set image=app:2")
        .subject_write(&set("2", 0, 0))
        .subject_write(&scaled(&set("1", 10, 10), 12))
        .subject_write(&scaled(&set("2", 0, 0), 3))
        .subject_write(&scaled(&set("1", 10, 10), 9))
        .subject_write(&scaled(&set("1", 10, 10), 10));
    assert_eq!(decisions(builder), ["rs2 created 3  revision=2 template=differs"]);
}

/// Upstream writes once, or several times.
#[test]
fn burst_in_given_is_reduced_to_net_effect() {
    let builder = |resizes: &[i32]| {
        let builder = RecordingBuilder::rolled_out(10)
            .given("set image=app:2")
            .subject_write(&set("2", 0, 0))
            .subject_write(&scaled(&set("2", 0, 0), 3));
        let mut builder = builder.settled().given("ready 3 atomic").mark_burst();
        for size in resizes {
            builder = builder.subject_write(&scaled(&set("1", 10, 10), *size));
        }
        builder
            .settled()
            .given("scale")
            .subject_write(&scaled(&set("1", 10, 10), 8))
            .subject_write(&scaled(&set("1", 10, 10), 9))
            .settled()
            .end()
    };
    let (one, several) = (text(&builder(&[7])), text(&builder(&[9, 8, 7])));
    assert_eq!(one, several);
    let lines = ["rs2 0 -> 3", "rs1 10 -> 7", "rs1 7 -> 8", "rs1 8 -> 9", "events  not compared: how a burst"];
    assert!(lines.iter().all(|line| one.contains(line)), "{one}");
}

#[test]
fn burst_without_resize_keeps_events() {
    let builder = RecordingBuilder::rolled_out(3).given("ready 3 atomic").mark_burst().settled().end();
    assert!(!text(&builder).contains("how a burst"), "{}", text(&builder));
}

#[test]
fn finds_steps_in_other_order_than_recording() {
    let builder = RecordingBuilder::rolled_out(10)
        .burst_step(1, "together")
        .subject_write(&set("2", 0, 0))
        .subject_write(&scaled(&set("1", 10, 10), 9))
        .subject_write(&scaled(&set("2", 0, 0), 3))
        .settled()
        .end();
    let names = super::NormalizedNames::of(&builder);
    let mut build = super::TimelineBuilder::of(&builder, &names);
    super::replay(&builder, &names, &mut [&mut build]);
    let orders: Vec<String> = build.finish_with_orders().1.iter().map(ToString::to_string).collect();
    assert_eq!(orders, ["step 1: the recording has another order: rs2 created 0, rs1 10 -> 9, rs2 0 -> 3"]);
}

#[test]
fn parts_of_given_are_one_block() {
    let builder = RecordingBuilder::rolled_out(1).given("ready 1").settled().given("ready 1").settled().end();
    assert!(text(&builder).starts_with("given   deployment/web; ready 1 ×2\n        rs1 created 1  revision=1\n"));
}

#[test]
fn pods_are_counted_by_replica_set() {
    let pod = |name: &str, patch: Value| {
        let owner = json!([{"uid": "uid-web-1", "controller": true}]);
        let pod = json!({"kind": "Pod", "metadata": {"name": name, "uid": name, "ownerReferences": owner}});
        with_patch(&pod, &patch)
    };
    let builder = RecordingBuilder::rolled_out(2)
        .subject_write(&pod("a", json!({})))
        .subject_write(&pod("b", json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}})))
        .subject_write(&pod("c", json!({"status": {"phase": "Failed"}})))
        .settled();
    assert!(text(&builder.end()).contains("available=2 revision=1 pods=1 terminatingPods=1\n"));
}

#[rstest]
#[case("ReplicaSetUpdated", 1, "incomplete")]
#[case("NewReplicaSetCreated", 1, "incomplete")]
#[case("NewReplicaSetAvailable", 1, "incomplete")]
#[case("NewReplicaSetAvailable", 2, "NewReplicaSetAvailable")]
#[case("ProgressDeadlineExceeded", 1, "ProgressDeadlineExceeded")]
#[case("DeploymentPaused", 1, "DeploymentPaused")]
fn progressing_reasons_in_progress_are_equivalent(
    #[case] reason: &str,
    #[case] available: i32,
    #[case] expected: &str,
) {
    let status = json!({"status": {"availableReplicas": available, "conditions": [{"type": "Progressing", "status": "True", "reason": reason}]}});
    let web = with_patch(&deployment("web", 2, "app:1"), &json!({"status": lockstep_recording::testing::complete(2)}));
    let builder =
        RecordingBuilder::rolled_out(2).subject_write(&with_patch(&with_patch(&web, &revision(1)), &status)).settled();
    assert!(text(&builder.end()).contains(&format!("Progressing=True({expected})\n")));
}

#[test]
fn events_are_compared_if_few_and_complete() {
    let builder = |many: usize| {
        (0..many).fold(RecordingBuilder::rolled_out(1), |builder, n| {
            builder.subject_write(&event(&format!("e{n}"), "web", &format!("message {n}"), 1))
        })
    };
    assert!(text(&builder(9).end()).ends_with("        Normal ScalingReplicaSet \"message 8\"  ×1\n"));
    assert!(text(&builder(10).end()).ends_with("events  not compared: ten or more\n"));
    assert!(text(&builder(2).cut_off()).ends_with("events  not compared: the recording may lack some\n"));
    assert!(text(&builder(0).end()).ends_with("events  none\n"));
    let about = |uid: &str| with_patch(&event("e", "web", "m", 1), &json!({"involvedObject": {"uid": uid}}));
    let line = |uid: &str| text(&RecordingBuilder::rolled_out(1).subject_write(&about(uid)).end());
    assert!(line("uid-web").ends_with("        Normal ScalingReplicaSet \"m\"  ×1\n"));
    assert!(line("another").ends_with("        of an unknown UID: Normal ScalingReplicaSet \"m\"  ×1\n"));
}

#[rstest]
#[case::too_many(RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("2", 4, 0)), "surge: web wants 14 pods in all, at most 13 allowed")]
#[case::as_many_as_allowed(RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("2", 3, 0)), "")]
#[case::a_user_reduced_it(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&scaled(&web(), 2)).subject_write(&scaled(&set("1", 10, 10), 9)), "")]
#[case::a_user_reduced_it_and_it_grows(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&scaled(&web(), 2)).subject_write(&set("2", 1, 0)), "")]
#[case::a_node_is_no_excuse(
    RecordingBuilder::rolled_out(10).node_step(1, 0, "x").driver_write(&scaled(&web(), 2)).subject_write(&set("2", 1, 0)),
    "surge: web wants 11 pods in all, at most 3 allowed")]
#[case::decided_before_an_operation_in_the_middle(
    RecordingBuilder::rolled_out(10).user_step(1, "x").injection("x").driver_write(&scaled(&web(), 9)).subject_write(&set("2", 3, 0)), "")]
#[case::decided_before_the_second_of_two_operations(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&web()).driver_write(&scaled(&web(), 9)).subject_write(&set("2", 3, 0)), "")]
#[case::decided_by_an_old_view(RecordingBuilder::rolled_out(10).user_step(1, "x").mark_stale().subject_write(&set("2", 4, 0)), "")]
#[case::decided_after_the_old_view_ended(
    RecordingBuilder::rolled_out(10).user_step(1, "x").mark_stale().settled().user_step(2, "y").subject_write(&set("2", 4, 0)),
    "surge: web wants 14 pods in all, at most 13 allowed")]
#[case::decided_after_the_only_operation(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&scaled(&web(), 9)).subject_write(&set("2", 3, 0)),
    "surge: web wants 13 pods in all, at most 12 allowed")]
#[case::decided_after_it_had_settled(
    RecordingBuilder::rolled_out(10).user_step(1, "x").injection("x").driver_write(&scaled(&web(), 9)).settled().user_step(2, "y").subject_write(&set("2", 3, 0)),
    "surge: web wants 13 pods in all, at most 12 allowed")]
#[case::in_the_middle_of_scaling_in_proportion(
    RecordingBuilder::rolled_out(10).driver_write(&desired(&set("1", 3, 3), 10)).driver_write(&desired(&set("2", 5, 5), 10)).settled().user_step(1, "x")
        .driver_write(&scaled(&web(), 6)).subject_write(&desired(&set("2", 7, 5), 6)),
    "")]
#[case::after_scaling_in_proportion(
    RecordingBuilder::rolled_out(10).driver_write(&desired(&set("1", 3, 3), 10)).driver_write(&desired(&set("2", 5, 5), 10)).settled().user_step(1, "x")
        .driver_write(&scaled(&web(), 6)).subject_write(&desired(&set("2", 7, 5), 6)).subject_write(&desired(&set("1", 1, 1), 6))
        .subject_write(&desired(&set("1", 3, 1), 6)),
    "surge: web wants 10 pods in all, at most 8 allowed")]
#[case::recreate_allows_none_above(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&with_patch(&web(), &json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}))).subject_write(&set("2", 1, 0)),
    "surge: web wants 11 pods in all, at most 10 allowed")]
fn surge(#[case] builder: RecordingBuilder, #[case] expected: &str) {
    assert_eq!(breaches(builder).join("; "), expected);
}

/// A status that says that the second generation is complete, after the new ReplicaSet, if there is
/// one, has reported so many pods.
#[rstest]
#[case::by_the_counters_of_the_generation_before(None, Some(0))]
#[case::before_the_last_pod(Some(9), Some(9))]
#[case::in_time(Some(10), None)]
fn completion_is_not_reported_early(#[case] available: Option<i32>, #[case] at_most: Option<i32>) {
    let template = json!({"spec": {"containers": [{"name": "app", "image": "app:2"}]}});
    let new = with_patch(&web(), &json!({"metadata": {"generation": 2}, "spec": {"template": template}}));
    let status = with_patch(
        &json!({"status": lockstep_recording::testing::complete(10)}),
        &json!({"status": {"observedGeneration": 2}}),
    );
    let mut builder = RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&new);
    if let Some(available) = available {
        // It was as large once, which is enough.
        builder = builder.subject_write(&set("2", 0, 0)).driver_write(&set("2", 10, available));
        builder = builder.driver_write(&set("2", 10, available - 1));
    }
    let expected = at_most.map(|most| {
        format!("completion: web reports 10 of 10 pods, and its ReplicaSet has reported at most {most} available")
    });
    assert_eq!(breaches(builder.subject_write(&with_patch(&new, &status))), Vec::from_iter(expected));
}

/// All pods are ready, and this many are available.
#[rstest]
#[case::before_the_last_pod(
    9,
    2,
    "completion: web reports NewReplicaSetAvailable for 10 pods, and its ReplicaSet has reported at most 9 available"
)]
#[case::in_time(10, 2, "")]
#[case::of_the_generation_before(9, 1, "")]
fn condition_does_not_complete_early(#[case] available: i32, #[case] observed: i64, #[case] expected: &str) {
    let template = json!({"spec": {"containers": [{"name": "app", "image": "app:2"}]}});
    let new = with_patch(&web(), &json!({"metadata": {"generation": 2}, "spec": {"template": template}}));
    let condition = json!({"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"});
    let status = json!({"status": {"observedGeneration": observed, "conditions": [condition],
        "replicas": 10, "updatedReplicas": 10, "availableReplicas": 9}});
    let builder = RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&new);
    let builder = builder.subject_write(&set("2", 0, 0)).driver_write(&set("2", 10, available));
    let found = breaches(builder.subject_write(&with_patch(&new, &status)));
    assert_eq!(found.join("; "), expected);
}

/// As when a Deployment is deleted and its ReplicaSet orphaned, and the status comes late.
#[rstest]
#[case::released(json!({"metadata": {"ownerReferences": null}}), json!({}))]
#[case::deleting(json!({}), json!({"metadata": {"deletionTimestamp": "2026-01-05T00:00:00Z"}}))]
fn completion_may_count_what_was_released(#[case] of_set: Value, #[case] of_deployment: Value) {
    let status = json!({"metadata": {"generation": 2}, "status": lockstep_recording::testing::complete(10)});
    let new = with_patch(&with_patch(&web(), &status), &of_deployment);
    let builder =
        RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&with_patch(&set("1", 10, 10), &of_set));
    let observed = with_patch(&new, &json!({"status": {"observedGeneration": 2}}));
    assert_eq!(breaches(builder.driver_write(&new).subject_write(&observed)), [""; 0]);
}

#[rstest]
#[case::down_to_the_floor(RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("1", 8, 10)), "")]
#[case::below_the_floor(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("1", 7, 10)),
    "availability: web keeps 7 pods available, at least 8 promised")]
#[case::unavailable_pods_may_be_deleted(RecordingBuilder::rolled_out(10).node_step(1, 0, "x").subject_write(&set("1", 10, 6)).subject_write(&scaled(&set("1", 10, 6), 6)), "")]
#[case::available_pods_may_not_be_deleted_below_the_bound(
    RecordingBuilder::rolled_out(10).node_step(1, 0, "x").subject_write(&set("1", 10, 6)).subject_write(&scaled(&set("1", 10, 6), 5)),
    "availability: web keeps 5 pods available, at least 8 promised")]
#[case::a_user_asked_for_more(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&scaled(&web(), 20)).subject_write(&scaled(&set("1", 10, 10), 9)), "")]
#[case::deleted_with_pods(
    RecordingBuilder::rolled_out(10).user_step(1, "x").delete(&set("1", 10, 10), WriterRole::Other),
    "availability: web keeps 0 pods available, at least 8 promised")]
#[case::more_than_allowed_are_cut_whichever_are_available(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("2", 3, 0)).user_step(2, "y").driver_write(&scaled(&web(), 8)).subject_write(&set("1", 5, 10)), "")]
#[case::more_than_allowed_are_cut_after_they_have_settled(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("2", 3, 0)).user_step(2, "y").driver_write(&with_patch(&web(), &one_at_a_time()))
        .settled().user_step(3, "pause").subject_write(&set("1", 8, 10)), "")]
#[case::as_many_as_allowed_are_not_cut(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("2", 3, 0)).subject_write(&set("1", 7, 10)),
    "availability: web keeps 7 pods available, at least 8 promised")]
#[case::a_user_sized_a_replica_set(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&set("1", 9, 10)).subject_write(&set("1", 7, 10)), "")]
#[case::cut_in_proportion_by_the_second_of_two_operations(
    RecordingBuilder::rolled_out(10).driver_write(&set("2", 3, 0)).settled().user_step(1, "x").driver_write(&web()).driver_write(&scaled(&web(), 9))
        .subject_write(&set("1", 6, 10)),
    "")]
#[case::an_autoscaler_scaled(
    RecordingBuilder::rolled_out(10).node_step(1, 0, "x").foreign_write(&scaled(&web(), 20)).subject_write(&scaled(&set("1", 10, 10), 9)), "")]
#[case::recreate_promises_nothing(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&with_patch(&web(), &json!({"spec": {"strategy": {"type": "Recreate"}}}))).subject_write(&set("1", 0, 10)), "")]
fn availability(#[case] builder: RecordingBuilder, #[case] expected: &str) {
    assert_eq!(breaches(builder).join("; "), expected);
}

#[rstest]
#[case::a_second_set_for_one_template(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&owned_set(&web(), "2", "app:1", 0)),
    "one-template: rs2 has the template of rs1")]
#[case::a_set_for_empty_resources_of_the_pod(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&with_patch(
        &owned_set(&web(), "2", "app:1", 0), &json!({"spec": {"template": {"spec": {"resources": {}}}}}))),
    "")]
#[case::a_set_for_empty_labels_of_nodes(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&with_patch(
        &owned_set(&web(), "2", "app:1", 0), &json!({"spec": {"template": {"spec": {"nodeSelector": {}}}}}))),
    "one-template: rs2 has the template of rs1")]
#[case::revision_falls_below_a_replica_sets(
    RecordingBuilder::rolled_out(10).subject_write(&set("3", 0, 0)).subject_write(&with_patch(&web(), &revision(3))).user_step(1, "x").subject_write(&with_patch(&web(), &revision(2))),
    "revision: web went from revision 3 to 2, and one of its ReplicaSets has 3")]
#[case::revision_falls_by_an_old_view(
    RecordingBuilder::rolled_out(10).subject_write(&set("3", 0, 0)).subject_write(&with_patch(&web(), &revision(3))).user_step(1, "x").mark_stale().subject_write(&with_patch(&web(), &revision(2))),
    "")]
#[case::a_user_deleted_the_highest(
    RecordingBuilder::rolled_out(10).subject_write(&set("3", 0, 0)).subject_write(&with_patch(&web(), &revision(3))).user_step(1, "x")
        .delete(&set("3", 0, 0), WriterRole::Driver).subject_write(&with_patch(&web(), &revision(2))),
    "")]
#[case::nothing_follows_the_largest(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&largest()).subject_write(&with_patch(&web(), &json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": ""}}}))),
    "")]
#[case::a_user_wrote_no_number(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&with_patch(&web(), &json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "first"}}}))),
    "")]
#[case::revision_goes(
    RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&deployment("web", 10, "app:1")),
    "revision: web lost its revision 1")]
#[case::revision_rises(RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&with_patch(&web(), &revision(2))), "")]
#[case::object_of_another_owner(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&strangers(3)).subject_write(&strangers(4)),
    "ownership: -/rs1 3 -> 4: it belongs to another owner")]
#[case::object_without_owner(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&nobodys(3)).subject_write(&nobodys(4)),
    "ownership: -/rs1 3 -> 4: it has no owner")]
#[case::status_of_another_owners_object(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&nobodys(3)).subject_write(&with_patch(&nobodys(3), &json!({"status": ready(3)}))), "")]
#[case::new_set_while_paused(
    RecordingBuilder::rolled_out(10).driver_write(&paused()).user_step(1, "x").subject_write(&set("2", 0, 0)),
    "paused: rs2 created while web is paused")]
#[case::resumed_for_a_moment(
    RecordingBuilder::rolled_out(10).driver_write(&paused()).user_step(1, "x").driver_write(&web()).driver_write(&paused()).subject_write(&set("2", 0, 0)), "")]
#[case::paused_at_the_same_moment(
    RecordingBuilder::rolled_out(10).user_step(1, "x").driver_write(&paused()).subject_write(&set("2", 0, 0)), "")]
fn other_invariants(#[case] builder: RecordingBuilder, #[case] expected: &str) {
    assert_eq!(breaches(builder).join("; "), expected);
}

#[test]
fn invariant_that_workload_does_not_promise_is_not_judged() {
    let description = |paths: Value| json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs", "paths": paths});
    let judged = |paths: Value| {
        let mut recording =
            RecordingBuilder::rolled_out(10).user_step(1, "x").subject_write(&set("2", 4, 0)).settled().end();
        recording.header.workload = Some(Box::new(Workload::from_json(description(paths)).unwrap()));
        Timeline::from_recording(&recording).steps.pop().unwrap().breaches.len()
    };
    assert_eq!(judged(json!({})), 1);
    assert_eq!(judged(json!({"/spec/strategy/rollingUpdate/maxSurge": null})), 0);
}

fn largest() -> Value {
    let annotations = json!({"deployment.kubernetes.io/revision": i64::MAX.to_string()});
    with_patch(&set("1", 10, 10), &json!({"metadata": {"annotations": annotations}}))
}

fn strangers(replicas: i32) -> Value {
    with_patch(
        &set("7", replicas, 0),
        &json!({"metadata": {"ownerReferences": [{"uid": "rollout", "controller": true}]}}),
    )
}

fn nobodys(replicas: i32) -> Value {
    with_patch(&set("7", replicas, 0), &json!({"metadata": {"ownerReferences": null}}))
}

fn one_at_a_time() -> Value {
    json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}}})
}

fn paused() -> Value {
    with_patch(&web(), &json!({"spec": {"paused": true}}))
}

/// A change counts if the subject has written the object, and not only its status.
#[rstest]
#[case::replicas(&json!({"spec": {"replicas": 7}}), "", &["spec: spec.replicas of web changed by the controller"])]
#[case::labels(&json!({"metadata": {"labels": {"a": "b"}}, "spec": {"minReadySeconds": 7}}), "",
    &["spec: metadata.labels and spec.minReadySeconds of web changed by the controller"])]
#[case::template(&json!({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}), "", &[])]
#[case::annotation(&json!({"metadata": {"annotations": {"a": "b"}}}), "", &[])]
#[case::status_alone(&json!({"spec": {"replicas": 7}}), "status", &[])]
fn controller_leaves_the_spec_alone(#[case] change: &Value, #[case] subresource: &str, #[case] broken: &[&str]) {
    let changed = with_patch(&web(), change);
    let builder = || RecordingBuilder::rolled_out(10).subject_write(&web()).settled().user_step(1, "x");
    let after = builder().foreign_write(&changed).request("patch", "deployments", 200).about("web");
    assert_eq!(breaches(after.of_subresource(subresource)), broken);
    let before = builder().request("patch", "deployments", 200).about("web").of_subresource(subresource);
    assert_eq!(breaches(before.foreign_write(&changed)), broken);
    assert_eq!(breaches(builder().foreign_write(&changed)), [""; 0], "no request of the subject");
    let written = builder().foreign_write(&changed).request("patch", "deployments", 200).about("web");
    let mut recording = written.settled().end();
    recording.header.source += "# HorizontalPodAutoscaler\n";
    assert!(of(&recording).steps.iter().all(|step| step.breaches.is_empty()), "it may be the autoscaler's");
}

#[test]
fn controller_resumes_only_what_it_has_paused() {
    let write = |builder: RecordingBuilder, object: &Value| {
        builder.foreign_write(object).request("patch", "deployments", 200).about("web")
    };
    let builder = || RecordingBuilder::rolled_out(10).subject_write(&web()).settled().user_step(1, "x");
    assert_eq!(breaches(write(write(builder(), &paused()), &web())), [""; 0]);
    let resumed_by_user = write(builder(), &paused()).driver_write(&web());
    assert_eq!(breaches(write(resumed_by_user, &paused())), [""; 0], "it may pause again");
    let of_user = breaches(write(builder().driver_write(&paused()), &web()));
    assert_eq!(of_user, ["spec: spec.paused of web changed by the controller"]);
}

#[test]
fn writes_after_the_end_break_silence() {
    let builder = || RecordingBuilder::rolled_out(1).user_step(1, "x").settled();
    let last = |builder: RecordingBuilder| Timeline::from_recording(&builder.end()).steps.pop().unwrap().breaches;
    assert_eq!(last(builder().request("create", "events", 201).request("update", "replicasets", 409)), []);
    let detail = "update replicasets after the last step".to_owned();
    assert_eq!(
        last(builder().request("update", "replicasets", 200)),
        [InvariantBreach { invariant: Invariant::Silence, detail }]
    );
}

/// Ready pods become available in time, and a deadline passes: a controller must report both.
#[rstest]
#[case::nothing(&json!({"spec": {"minReadySeconds": 30}, "status": {"availableReplicas": 9}}), false)]
#[case::available(&json!({"spec": {"minReadySeconds": 30}, "status": {"availableReplicas": 10}}), true)]
#[case::available_at_once(&json!({"status": {"availableReplicas": 10}}), false)]
#[case::another_pod(&json!({"spec": {"minReadySeconds": 30}, "status": {"availableReplicas": 10, "readyReplicas": 9}}), false)]
#[case::late(&json!({"status": {"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]}}), true)]
fn status_that_only_time_changes_may_be_written_after_the_end(#[case] change: &Value, #[case] is_timely: bool) {
    let before = with_patch(&web(), &json!({"status": {"readyReplicas": 10, "availableReplicas": 9}}));
    let builder = RecordingBuilder::rolled_out(10).subject_write(&before).user_step(1, "x").settled();
    let end = builder.subject_write(&with_patch(&before, change)).request("update", "deployments", 200).end();
    let breaches = Timeline::from_recording(&end).steps.pop().expect("a step").breaches;
    assert_eq!(breaches.is_empty(), is_timely, "{breaches:?}");
}

#[test]
fn refused_pods_may_be_retried_after_the_end() {
    let refused = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]);
    let set = with_patch(&set("2", 1, 0), &json!({"status": {"conditions": refused}}));
    let builder = RecordingBuilder::rolled_out(10).subject_write(&set).user_step(1, "x").settled();
    let end = builder.subject_write(&set).request("create", "pods", 201).end();
    let breaches = Timeline::from_recording(&end).steps.pop().expect("a step").breaches;
    assert!(breaches.is_empty(), "{breaches:?}");
}

/// A Recreate that learned late that its pods had finished continues when upstream syncs again.
#[rstest]
#[case::at_the_deadline("2026-01-05T00:01:00Z", true)]
#[case::before_it("2026-01-05T00:00:59Z", false)]
fn replica_set_after_deadline_is_not_judged(#[case] created: &str, #[case] is_timely: bool) {
    let progressing = json!([{"type": "Progressing", "lastUpdateTime": "2026-01-05T00:00:00Z"}]);
    let web =
        with_patch(&web(), &json!({"spec": {"progressDeadlineSeconds": 60}, "status": {"conditions": progressing}}));
    let builder = RecordingBuilder::rolled_out(10).subject_write(&web).user_step(1, "x").settled();
    let new = with_patch(&set("2", 1, 0), &json!({"metadata": {"creationTimestamp": created}}));
    let breaches = Timeline::from_recording(&builder.foreign_create(&new).request("create", "replicasets", 201).end());
    let breaches = breaches.steps.last().map(|step| step.breaches.len());
    assert_eq!(breaches == Some(0), is_timely, "{breaches:?}");
}

#[rstest]
#[case("        rs1 10 -> 8", 1, "nothing stands above it")]
#[case("step one  x", 1, "neither `given`, `step N` nor `events`: `step one`")]
#[case("step 1  x\n        rs1 created many", 2, "`many` is not a number of replicas")]
#[case("step 1  x\n      ! gravity: x", 2, "no invariant `gravity`")]
#[case("step 1  x\n      = rs1", 2, "a checkpoint without numbers")]
#[case("given\nstep 2.2  x\n\nstep 2.1  x", 4, "step 2.1 cannot follow step 2.2")]
#[case("step 1  x\nevents\ngiven", 3, "a heading after `events`, with which a timeline ends")]
fn refuses_malformed_timeline(#[case] text: &str, #[case] line: usize, #[case] why: &str) {
    let error = Timeline::parse(text).unwrap_err();
    assert_eq!((error.line, error.why.as_str()), (line, why));
}

fn field() -> impl Strategy<Value = KeyValue> {
    ("[a-z.]{1,12}", any::<String>()).prop_map(|(key, value)| KeyValue::new(&key, &value))
}

fn action() -> impl Strategy<Value = DecisionAction> {
    prop_oneof![
        any::<i32>().prop_map(DecisionAction::Created),
        any::<(i32, i32)>().prop_map(|(from, to)| DecisionAction::Resized { from, to }),
        Just(DecisionAction::Deleted),
        Just(DecisionAction::Adopted),
        Just(DecisionAction::Released),
        Just(DecisionAction::Annotated),
        Just(DecisionAction::Changed),
        Just(DecisionAction::Pods),
    ]
}

fn step() -> impl Strategy<Value = TimelineStep> {
    let object = || "(web/)?rs[1-9]|-/rs1|web";
    let decision = (object(), action(), vec(field(), 0..4)).prop_map(|(object, action, details)| Decision {
        object,
        action,
        details,
    });
    let state = (object(), "[0-9]{1,3}(/[0-9]{1,3})?", vec(field(), 0..4))
        .prop_map(|(object, size, fields)| Arc::new(State { object, size, fields }));
    let breach = (0..Invariant::ALL.len(), "[a-z0-9]([a-z0-9:> -]{0,20}[a-z0-9])?")
        .prop_map(|(invariant, detail)| InvariantBreach { invariant: Invariant::ALL[invariant], detail });
    let label = "([a-z=:0-9]+( [a-z=:;0-9]+){0,3})?";
    let meetings = vec("rs1 5 -> 4 held: scale [0-9]", 0..2);
    (any::<(u32, u32)>(), label, any::<bool>(), meetings, vec(decision, 0..4), vec(breach, 0..2), vec(state, 0..3))
        .prop_map(|((index, part), label, joined, meetings, decisions, breaches, checkpoint)| {
            let id = if index == 0 { StepId::GIVEN } else { StepId { index, part } };
            TimelineStep { id, label, joined, injections: meetings, decisions, breaches, checkpoint }
        })
}

fn timeline() -> impl Strategy<Value = Timeline> {
    let event = ("Normal [A-Z][a-z]+ \"[a-z ×]*\"", any::<u64>()).prop_map(|(text, count)| EventLine { text, count });
    let events = prop_oneof![
        vec(event, 0..3).prop_map(TimelineEvents::All),
        "[a-z]+( [a-z]+)*".prop_map(TimelineEvents::NotCompared)
    ];
    let provenance = ("[a-z]+", "[a-z-]+ v[0-9.]+[0-9]", "[a-z-]+ v[0-9.]+[0-9]", 1..9u32, 1..9u32);
    let provenance = (provenance, proptest::option::of(1..9u32)).prop_map(
        |((name, controller, server, recordings, boots), seen)| Provenance {
            name,
            controller,
            server,
            recordings,
            times_seen: seen,
            boots,
        },
    );
    let case = proptest::option::of("[0-9a-f]{16}");
    (proptest::option::of(provenance), case, vec(step(), 0..4), events).prop_map(
        |(provenance, case, mut steps, events)| {
            steps.sort_by_key(|step| step.id);
            steps.dedup_by_key(|step| step.id);
            Timeline { provenance, case, steps, events }
        },
    )
}

proptest! {
    #[test]
    fn timeline_text_round_trips(timeline in timeline()) {
        prop_assert_eq!(Timeline::parse(&timeline.to_string()), Ok(timeline));
    }

    #[test]
    fn joining_is_idempotent_and_keeps_the_ends(steps in vec(0..5i32, 2..8)) {
        let decisions: Vec<Decision> = steps
            .windows(2)
            .map(|pair| Decision { object: "rs1".to_owned(), action: DecisionAction::Resized { from: pair[0], to: pair[1] }, details: vec![] })
            .collect();
        let joined = crate::order::join_resizes(&decisions);
        prop_assert_eq!(crate::order::join_resizes(&joined), joined.clone());
        let ends = |all: &[Decision]| match (all.first().unwrap().action, all.last().unwrap().action) {
            (DecisionAction::Resized { from, .. }, DecisionAction::Resized { to, .. }) => (from, to),
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(ends(&joined), ends(&decisions));
    }
}

#[test]
fn abridged_timeline_has_changes_only() {
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
    assert_eq!(long.to_abridged_text(), text(false, 4_000));
    let usual = Timeline::parse(&text(true, 40)).unwrap();
    assert!(!usual.is_long());
    assert_eq!(usual.to_abridged_text(), text(true, 40));
}
