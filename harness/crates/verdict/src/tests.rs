//! Tests verdicts on recordings: whose fault, and where; whether two timelines are the same, and
//! whether several recordings make one.

use lockstep_recording::testing::{
    RecordingBuilder, SOURCE, deployment, event, of_case, owned_set, ready, revision, scaled, with_patch,
};
use lockstep_recording::{Blame, Recording, RecordingEnd, Trouble, WriterRole};
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::{StepId, Timeline, TimelineLine};
use lockstep_workload::Workload;
use rstest::rstest;
use serde_json::{Value, json};

use super::compare::{BothIdle, Difference, difference};
use super::outcomes::Disagreement;
use super::{ComparisonBasis, TimelineLocation, Verdict, agree, compare, compare_live};
use crate::testing::{judge, judge_live};

fn web() -> Value {
    with_patch(&deployment("web", 10, "app:1"), &revision(1))
}

fn set(hash: &str, replicas: i32) -> Value {
    with_patch(&owned_set(&web(), hash, &format!("app:{hash}"), replicas), &json!({"status": ready(replicas)}))
}

/// Two steps; in the second, rs1 has these sizes in turn.
fn builder(sizes: &[i32]) -> RecordingBuilder {
    let builder = RecordingBuilder::rolled_out(10)
        .user_step(1, "scale 12")
        .driver_write(&scaled(&web(), 12))
        .subject_write(&scaled(&set("1", 10), 12))
        .settled();
    sizes
        .iter()
        .fold(builder.node_step(2, 1, "ready 1"), |builder, size| builder.subject_write(&scaled(&set("1", 12), *size)))
}

fn timeline(recording: &Recording) -> Timeline {
    Timeline::from_recording(recording)
}

fn blessed() -> Timeline {
    timeline(&builder(&[11]).settled().end())
}

#[rstest]
#[case::the_same(builder(&[11]).settled().end(), "conformant", "")]
#[case::another_size(builder(&[13]).settled().end(), "non-conformant", "step 2.1 divergence 6")]
#[case::nothing(builder(&[]).settled().end(), "non-conformant", "step 2.1 divergence 6")]
#[case::environment_broke_at_the_step_that_differs(builder(&[13]).trouble(Blame::Environment, "etcd").aborted(), "inconclusive", "step 2.1 trouble 6")]
#[case::environment_broke_after_a_settled_difference(
    builder(&[13]).settled().node_step(2, 2, "ready 1").trouble(Blame::Environment, "etcd").aborted(),
    "non-conformant", "step 2.1 divergence 6, step 2.2 trouble 6")]
#[case::environment_unsettled(builder(&[11]).unsettled(Blame::Environment, "probe").end(), "inconclusive", "step 2.1 unsettled 6")]
#[case::subject_unsettled(builder(&[11]).unsettled(Blame::Subject, "writes on").end(), "non-conformant", "step 2.1 unsettled 6")]
#[case::subject_left_no_pod(
    builder(&[11]).settled().node_step(2, 2, "ready 1").trouble(Blame::Subject, "no pod").aborted(),
    "non-conformant", "step 2.2 trouble 6, step 2.2 divergence 6")]
#[case::impossible_although_upstream_performed_it(
    builder(&[]).impossible("no pod").aborted(),
    "non-conformant", "step 2.1 trouble 6, step 2.1 divergence 6")]
#[case::impossible_without_proof(
    builder(&[11]).settled().node_step(2, 2, "ready 1").impossible("no pod").aborted(),
    "inconclusive", "step 2.2 trouble 6")]
#[case::subject_after_the_environment(
    builder(&[11]).trouble(Blame::Environment, "etcd").trouble(Blame::Subject, "no pod").aborted(),
    "inconclusive", "step 2.1 trouble 6")]
#[case::cut_off(builder(&[13]).settled().cut_off(), "inconclusive", "step 2.1 trouble 6")]
#[case::ended_early_without_a_reason(builder(&[11]).settled().aborted(), "inconclusive", "step 2.1 trouble 6")]
#[case::settling_not_recorded(builder(&[11]).end(), "inconclusive", "step 2.1 trouble 6")]
#[case::an_invariant(
    builder(&[11]).settled().request("update", "deployments", 200).end(),
    "non-conformant", "step 2.1 invariant 6")]
#[case::a_step_too_many(
    builder(&[11]).settled().node_step(2, 2, "ready 1").settled().end(),
    "non-conformant", "step 2.2 divergence 6")]
fn verdict_names_party_and_step(#[case] recording: Recording, #[case] verdict: &str, #[case] findings: &str) {
    let judgement = judge(&recording, Some(&blessed()));
    let found: Vec<String> = judgement
        .findings
        .iter()
        .map(|finding| {
            let kind = match finding.kind {
                super::FindingKind::Divergence(_) => "divergence",
                super::FindingKind::WrittenBeside(..) | super::FindingKind::Unearned(..) => "beside",
                super::FindingKind::Unsettled(..) => "unsettled",
                super::FindingKind::Trouble(..) => "trouble",
                super::FindingKind::Breach(_) => "invariant",
                super::FindingKind::Unexpected(_) => "expect",
                super::FindingKind::OtherRun(_) => "other",
                super::FindingKind::Rule(_) => "rule",
                super::FindingKind::BothIdle => "idle",
            };
            format!("{} {kind} {}", finding.place, finding.line.unwrap_or(0))
        })
        .collect();
    assert_eq!((judgement.verdict.name(), found.join(", ").as_str()), (verdict, findings));
}

/// The same steps; the controller beside the subject decides in the second one.
fn shared(size: i32) -> RecordingBuilder {
    builder(&[]).write_beside(&scaled(&set("1", 12), size))
}

/// The Deployment with this number of pods in its status.
fn report_replicas(replicas: i32) -> Value {
    with_patch(&scaled(&web(), 12), &json!({"status": {"replicas": replicas}}))
}

#[rstest]
#[case::as_expected(shared(11), "conformant", None)]
#[case::another_size(shared(13), "inconclusive", Some("upstream"))]
#[case::the_subject_wrote_the_same(shared(13).subject_write(&scaled(&set("1", 12), 12)).subject_write(&scaled(&set("1", 12), 13)), "non-conformant", None)]
#[case::beyond_the_bound(shared(30), "inconclusive", Some("upstream"))]
#[case::status_of_the_deployment(
    builder(&[11]).write_beside(&report_replicas(7)), "inconclusive", Some("upstream"))]
#[case::status_that_the_subject_wrote_last(
    builder(&[11]).write_beside(&report_replicas(8))
        .subject_write(&report_replicas(7)), "non-conformant", None)]
#[case::beside_a_wrong_decision_of_the_subject(builder(&[13]).write_beside(&scaled(&set("1", 13), 12)), "non-conformant", None)]
fn what_the_controller_beside_wrote_is_not_the_subjects(
    #[case] recording: RecordingBuilder,
    #[case] verdict: &str,
    #[case] beside: Option<&str>,
) {
    let judgement = judge(&recording.settled().end(), Some(&blessed()));
    let name = judgement.findings.iter().find_map(|finding| match &finding.kind {
        super::FindingKind::WrittenBeside(_, name) => Some(name.as_str()),
        _ => None,
    });
    assert_eq!((judgement.verdict.name(), name), (verdict, beside), "{:?}", judgement.findings);
    assert!(judgement.beside.is_some() && judgement.metrics.written_beside == 1);
}

#[rstest]
#[case::by_the_controller_beside(shared(13), "inconclusive")]
#[case::not_at_all(builder(&[]), "non-conformant")]
fn request_that_never_came_may_have_been_decided_beside(#[case] recording: RecordingBuilder, #[case] verdict: &str) {
    let judgement = judge(&recording.settled().never_came("the subject never sent it").aborted(), Some(&blessed()));
    assert_eq!(judgement.verdict.name(), verdict, "{:?}", judgement.findings);
}

#[test]
fn bound_is_excused_where_the_controller_beside_has_resized() {
    let second = set("2", 2);
    let both =
        |first: RecordingBuilder| first.subject_write(&second).subject_write(&scaled(&second, 9)).settled().end();
    let breaches =
        |recording: &Recording| timeline(recording).steps.iter().map(|step| step.breaches.len()).sum::<usize>();
    assert_eq!(breaches(&both(builder(&[]).write_beside(&scaled(&set("1", 12), 13)))), 0);
    assert!(breaches(&both(builder(&[13]))) > 0);
}

#[rstest]
#[case::it_is_not_claimed(&["status"], &[WriterRole::Beside], Verdict::Conformant)]
#[case::it_is_claimed(&[], &[WriterRole::Beside], Verdict::Inconclusive)]
#[case::the_subject_writes_it_as_well(&[], &[WriterRole::Other, WriterRole::Beside], Verdict::Conformant)]
fn claim_that_only_the_controller_beside_fulfils_is_inconclusive(
    #[case] unclaimed: &[&str],
    #[case] writers: &[WriterRole],
    #[case] verdict: Verdict,
) {
    let description =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "plural": "deployments", "unclaimed": unclaimed});
    let workload = Workload::from_json(description).unwrap();
    let of = |by: WriterRole, builder: RecordingBuilder, replicas| match by {
        WriterRole::Beside => builder.write_beside(&report_replicas(replicas)),
        _ => builder.subject_write(&report_replicas(replicas)),
    };
    let begun =
        RecordingBuilder::new().with_workload(&workload).given("deployment/web").driver_write(&report_replicas(0));
    let begun = begun.subject_write(&set("1", 12)).write_beside(&report_replicas(0));
    let recording = (1..).zip(writers).fold(begun, |builder, (count, by)| of(*by, builder, count)).settled().end();
    let judgement = judge(&recording, Some(&timeline(&recording)));
    assert_eq!(judgement.verdict, verdict, "{:?}", judgement.findings);
}

#[test]
fn case_expectation_of_pods_is_judged() {
    let pod = json!({"kind": "Pod", "metadata": {"name": "x", "uid": "x"}});
    let builder = |sets: &[&[&str]]| {
        let builder = RecordingBuilder::rolled_out(1).driver_create(&pod).pod_name("a", "x").settled();
        builder.step_expecting(1, sets).driver_write(&scaled(&web(), 1)).settled().end()
    };
    for (sets, verdict) in [
        (&[["a"].as_slice()][..], Verdict::Conformant),
        (&[[].as_slice(), &["a"]], Verdict::Conformant),
        (&[[].as_slice()], Verdict::NonConformant),
    ] {
        let recording = builder(sets);
        // The blessed timeline is the same.
        let judgement = judge(&recording, Some(&timeline(&recording)));
        assert_eq!(judgement.verdict, verdict, "{:?}", judgement.findings);
        assert!(judgement.findings.iter().all(|it| matches!(it.kind, super::FindingKind::Unexpected(_))));
    }
}

#[test]
fn unblessed_case_is_judged_by_invariants() {
    let good = judge(&builder(&[11]).settled().end(), None);
    assert_eq!((good.verdict, good.outcome()), (Verdict::Conformant, RunOutcome::Unblessed));
    let bad = judge(&builder(&[20]).settled().end(), None);
    assert_eq!((bad.verdict, bad.outcome()), (Verdict::NonConformant, RunOutcome::NonConformant));
    let broken = judge(&builder(&[11]).trouble(Blame::Environment, "etcd").aborted(), None);
    assert_eq!(broken.outcome(), RunOutcome::Inconclusive);
}

#[test]
fn invariant_that_upstream_breaks_is_not_a_finding() {
    let recording = builder(&[20]).settled().end();
    let upstream = timeline(&recording);
    assert_eq!(upstream.steps[2].breaches.len(), 1);
    assert_eq!(judge(&recording, Some(&upstream)).verdict, Verdict::Conformant);
}

#[test]
fn timeline_of_other_case_version_judges_nothing() {
    let mut other = blessed();
    other.steps[1].label = "scale 11".to_owned();
    let judgement = judge(&builder(&[13]).settled().end(), Some(&other));
    assert!(matches!(judgement.basis, ComparisonBasis::Changed(_)));
    assert_eq!(judgement.outcome(), RunOutcome::Unblessed);
}

#[test]
fn timeline_of_edited_case_judges_nothing() {
    let mut edited = builder(&[13]).settled().end();
    edited.header.source = edited.header.source.replace("scale: 12", "scale: 13");
    let judgement = judge(&edited, Some(&blessed()));
    assert_eq!((&judgement.basis, judgement.outcome()), (&ComparisonBasis::Changed(None), RunOutcome::Unblessed));

    let old = Timeline { case: None, ..blessed() };
    assert_eq!(judge(&edited, Some(&old)).outcome(), RunOutcome::NonConformant);

    let mut described = builder(&[11]).settled().end();
    described.header.source = described.header.source.replace("description: x", "# why\n\ndescription: y");
    assert_eq!(judge(&described, Some(&blessed())).outcome(), RunOutcome::Conformant);
    assert!(compare(&blessed(), &timeline(&edited)).is_ok_and(|found| found.label_mismatch.is_none()));
    assert_eq!(agree(&[blessed(), old]), Ok(blessed()));
}

#[test]
fn two_idle_runs_are_inconclusive() {
    let idle = RecordingBuilder::new().given("deployment/web").driver_write(&web()).settled().end();
    assert_eq!(compare(&timeline(&idle), &timeline(&idle)), Err(BothIdle));
    assert_eq!(judge(&idle, Some(&timeline(&idle))).verdict, Verdict::Inconclusive);
    assert_eq!(agree(&[timeline(&idle), timeline(&idle)]), Err(Disagreement::Idle));
    assert_eq!(judge(&idle, Some(&blessed())).verdict, Verdict::NonConformant);
}

#[test]
fn live_run_is_not_blamed_for_other_test_environment() {
    let other = builder(&[11]).trouble(Blame::Environment, "etcd").aborted();
    assert_eq!(judge_live(&builder(&[13]).settled().end(), &other).verdict, Verdict::Inconclusive);
    let earlier = RecordingBuilder::rolled_out(10).user_step(1, "scale 12").settled().end();
    assert_eq!(judge_live(&earlier, &other).verdict, Verdict::NonConformant);
}

/// A step that cannot be performed is the subject's fault only if the other run got through it.
#[rstest]
#[case::made(builder(&[11]).settled().node_step(2, 2, "ready 1").settled().end(), Verdict::NonConformant)]
#[case::broke_there(
    builder(&[11]).settled().node_step(2, 2, "ready 1").trouble(Blame::Environment, "etcd").aborted(),
    Verdict::Inconclusive
)]
#[case::never_came_there(builder(&[11]).settled().end(), Verdict::Inconclusive)]
#[case::broke_later(
    builder(&[11]).settled().node_step(2, 2, "ready 1").settled().node_step(2, 3, "ready 1").trouble(Blame::Environment, "etcd").aborted(),
    Verdict::NonConformant
)]
#[case::was_in_trouble_before(
    builder(&[11]).unsettled(Blame::Subject, "writes on").node_step(2, 2, "ready 1").settled().end(),
    Verdict::Inconclusive
)]
fn impossible_step_is_compared_with_other_run(#[case] other: Recording, #[case] verdict: Verdict) {
    let stuck = builder(&[11]).settled().node_step(2, 2, "ready 1").impossible("no pod").aborted();
    assert_eq!(judge_live(&stuck, &other).verdict, verdict);
}

/// A step that is missing after the end of an incomplete run says nothing; one that is missing
/// before it does.
#[test]
fn missing_step_counts_before_the_end_of_the_run() {
    let step = |builder: RecordingBuilder, index: u32, part: u32| builder.node_step(index, part, "ready 1");
    let blessed = step(step(builder(&[11]).settled(), 2, 2).settled(), 3, 1).settled();
    let blessed = timeline(&step(blessed, 3, 2).settled().end());
    let ended = step(builder(&[11]).settled(), 3, 1).settled().trouble(Blame::Subject, "it ended").aborted();
    let judgement = judge(&ended, Some(&blessed));
    let missing = |finding: &&super::VerdictFinding| matches!(finding.kind, super::FindingKind::Divergence(_));
    let places: Vec<_> =
        judgement.findings.iter().filter(missing).map(|finding| (finding.place, finding.line)).collect();
    // Its line is that of the step's first sub-step.
    assert_eq!(places, [(TimelineLocation::Step(StepId { index: 2, part: 2 }), Some(6))]);
    let ended = builder(&[11]).settled().trouble(Blame::Subject, "it ended").aborted();
    assert!(!judge(&ended, Some(&blessed)).findings.iter().any(|finding| missing(&finding)));
}

/// A recording in which the Deployment controller never has to change the ReplicaSet again.
fn untouched() -> RecordingBuilder {
    RecordingBuilder::new().given("deployment/web").driver_write(&web()).driver_write(&set("1", 10)).settled()
}

fn first_trouble(recording: &Recording) -> String {
    let judgement = judge(recording, Some(&timeline(recording)));
    let finding = judgement.findings.first();
    let why = finding.map(|finding| match &finding.kind {
        super::FindingKind::Trouble(trouble) if trouble.blame == Blame::Environment => {
            format!("{} {}", finding.place, trouble.why.split(':').next().unwrap())
        }
        other => format!("{other:?}"),
    });
    format!("{} {}", judgement.verdict.name(), why.unwrap_or_default()).trim_end().to_owned()
}

/// Without a golden timeline, the case itself may ask for what the server refuses.
#[rstest]
#[case::again_and_again(&[422, 422], None, RunOutcome::Inconclusive)]
#[case::again_and_again_where_upstream_settles(&[422, 422], Some(blessed()), RunOutcome::NonConformant)]
#[case::once(&[422], None, RunOutcome::NonConformant)]
#[case::until_it_went_through(&[422, 422, 200], None, RunOutcome::NonConformant)]
#[case::by_conflicts(&[409, 409], None, RunOutcome::NonConformant)]
fn refused_subject_is_blamed_if_upstream_settles(
    #[case] answers: &[u16],
    #[case] golden: Option<Timeline>,
    #[case] outcome: RunOutcome,
) {
    let builder = answers.iter().fold(builder(&[11]), |builder, status| {
        builder.request("update", "replicasets", *status).with_message("metadata.annotations: Too long")
    });
    let judgement = judge(&builder.unsettled(Blame::Subject, "settled in the wrong state").aborted(), golden.as_ref());
    assert_eq!(judgement.outcome(), outcome);
    let why = format!("{:?}", judgement.findings);
    let is_named = why.contains("the API server refuses to update replicasets x, 422: metadata.annotations: Too long");
    assert_eq!(is_named, outcome == RunOutcome::Inconclusive, "{why}");
}

/// A server never refuses writes of the probe, so a subject that has not served the probe is at
/// fault, whatever the case asks for.
#[test]
fn refused_subject_that_did_not_serve_the_probe_is_blamed() {
    let trouble = Trouble { probe_unserved: true, ..Trouble::new(Blame::Subject, "stayed in the wrong state") };
    let builder = builder(&[11]).request("create", "replicasets", 422).request("create", "replicasets", 422);
    let judgement = judge(&builder.unsettled_by(trouble).aborted(), None);
    assert_eq!(judgement.outcome(), RunOutcome::NonConformant);
}

const ELSES: &str = "inconclusive step 1 decisions were made here, but not by the subject";

#[rstest]
#[case::resized(untouched().user_step(1, "x").foreign_write(&scaled(&set("1", 10), 12)), ELSES)]
#[case::created(untouched().user_step(1, "x").foreign_write(&set("2", 0)), ELSES)]
#[case::annotated(untouched().user_step(1, "x").foreign_write(&with_patch(&set("1", 10), &revision(2))), ELSES)]
#[case::released(
    untouched().user_step(1, "x").foreign_write(&with_patch(&set("1", 10), &json!({"metadata": {"ownerReferences": null}}))), ELSES)]
#[case::deleted(untouched().driver_write(&set("2", 0)).user_step(1, "x").foreign_delete(&set("2", 0)), ELSES)]
#[case::beside_work_of_the_subjects_on_the_deployment(
    untouched().user_step(1, "x").foreign_write(&set("2", 0)).subject_write(&with_patch(&web(), &revision(2))), ELSES)]
#[case::the_subject_was_refused(untouched().user_step(1, "x").foreign_write(&set("2", 0)).request("create", "replicasets", 409), ELSES)]
#[case::the_subject_only_looked(untouched().user_step(1, "x").foreign_write(&set("2", 0)).request("list", "replicasets", 200), ELSES)]
#[case::the_subject_looked_and_was_killed(
    untouched().subject_write(&set("2", 0)).user_step(1, "x").foreign_write(&scaled(&set("1", 10), 12)).request("list", "replicasets", 0), ELSES)]
#[case::the_subject_was_killed_before_its_answer(
    untouched().subject_write(&set("2", 0)).user_step(1, "x").foreign_write(&scaled(&set("1", 10), 12)).request("update", "replicasets", 0), "conformant")]
#[case::the_subject_was_at_work_before(
    untouched().subject_write(&set("2", 0)).user_step(1, "x").foreign_write(&scaled(&set("1", 10), 12)), ELSES)]
#[case::the_subject_did_it(untouched().user_step(1, "x").foreign_write(&set("2", 0)).request("create", "replicasets", 201), "conformant")]
#[case::the_subject_resized_by_scale(
    untouched().user_step(1, "x").foreign_write(&scaled(&set("1", 10), 12)).request("patch", "replicasets", 200).of_subresource("scale"),
    "conformant"
)]
#[case::the_garbage_collector_did_it(
    untouched().subject_write(&with_patch(&web(), &revision(2))).user_step(1, "delete").delete(&web(), WriterRole::Driver)
        .foreign_delete(&set("1", 10)), "conformant")]
#[case::the_garbage_collector_ended_it(
    untouched().subject_write(&set("2", 0)).driver_write(&with_patch(&set("2", 0), &json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}})))
        .user_step(1, "x").foreign_delete(&set("2", 0)), "conformant")]
#[case::status_is_the_replica_set_controllers(
    untouched().subject_write(&set("2", 0)).user_step(1, "x").foreign_write(&with_patch(&set("1", 10), &json!({"status": ready(3)}))), "conformant")]
fn work_of_other_controllers_is_inconclusive(#[case] builder: RecordingBuilder, #[case] expected: &str) {
    assert_eq!(first_trouble(&builder.settled().end()), expected);
}

#[test]
fn nothing_is_evidence_after_work_of_another_controller() {
    let recording = builder(&[]).foreign_write(&scaled(&set("1", 12), 13)).settled().end();
    let judgement = judge(&recording, Some(&blessed()));
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(judgement.findings.len(), 1);
    assert_eq!((judgement.findings[0].line, judgement.findings[0].label.as_str()), (Some(6), "ready 1"));
    assert_eq!(judge_live(&builder(&[11]).settled().end(), &recording).verdict, Verdict::Inconclusive);
}

#[test]
fn subject_that_wrote_nothing_is_never_conformant() {
    let silent = |builder: RecordingBuilder| builder.foreign_write(&with_patch(&web(), &revision(2))).settled().end();
    let expected =
        "inconclusive events the subject wrote nothing; another controller did the work, or there was nothing to do";
    assert_eq!(first_trouble(&silent(untouched().user_step(1, "x"))), expected);
    assert_eq!(first_trouble(&silent(untouched().user_step(1, "x").request("create", "events", 201))), expected);
    assert_eq!(first_trouble(&silent(untouched().user_step(1, "x").request("update", "deployments", 409))), expected);
    assert_eq!(
        first_trouble(&silent(untouched().user_step(1, "x").request("update", "deployments", 200))),
        "conformant"
    );
    assert_eq!(judge(&silent(untouched().user_step(1, "x")), None).outcome(), RunOutcome::Inconclusive);
}

#[test]
fn rules_can_be_the_only_expectation() {
    let rules = "expectation: rules\nrules: {always: [\"replicaSets[0].spec.replicas <= 12\"]}\n";
    let judged = |builder: RecordingBuilder| judge(&of_case(rules, builder.end()), None);
    assert_eq!(judged(builder(&[11]).settled()).outcome(), RunOutcome::Conformant);
    let stuck = judge(&of_case(rules, builder(&[11]).impossible("there is no pod").aborted()), None);
    assert_eq!(stuck.outcome(), RunOutcome::NonConformant);
    // The rules do not say how many writes it takes.
    let unwritten = judge(&of_case(rules, builder(&[11]).never_came("it never made write 9").aborted()), None);
    assert_eq!(unwritten.outcome(), RunOutcome::Inconclusive);
    let broke = judge(&of_case(rules, builder(&[11]).unsettled(Blame::Environment, "x").aborted()), None);
    assert_eq!(broke.outcome(), RunOutcome::Inconclusive);
    // Nor which decisions it takes, and how a step is refused.
    let decided = "set: {image: 'app:2'}\n    during: {decision: rs1 9 -> 8, do: [{scale: 5}]}";
    for step in [decided, "undo: {toRevision: 99}\n    refused: {message: nope}"] {
        let mut recording = of_case(rules, builder(&[11]).impossible("there is no such thing").aborted());
        recording.header.source = recording.header.source.replace("ready: {pods: all}", step);
        assert_eq!(judge(&recording, None).outcome(), RunOutcome::Inconclusive, "{step}");
    }
}

/// Only a completed run has an end to which `finally` applies.
#[test]
fn finally_is_not_evaluated_on_incomplete_run() {
    let rules = "rules: {finally: [\"replicaSets[0].spec.replicas == 99\"]}\n";
    let asked = |recording: Recording| {
        let judgement = judge(&of_case(rules, recording), Some(&blessed()));
        judgement.findings.iter().any(|finding| matches!(finding.kind, super::FindingKind::Rule(_)))
    };
    assert!(asked(builder(&[11]).settled().end()));
    assert!(!asked(builder(&[11]).settled().trouble(Blame::Subject, "it ended").aborted()));
}

/// Before the first step there is no line to refer to.
#[test]
fn trouble_before_first_step_has_no_line() {
    let judgement = judge(&RecordingBuilder::new().trouble(Blame::Environment, "etcd").aborted(), Some(&blessed()));
    assert_eq!(judgement.findings.first().map(|finding| finding.line), Some(None));
}

#[test]
fn split_resizes_are_joined_only_if_upstream_splits_them() {
    let whole = builder(&[8]).settled().end();
    let split = builder(&[10, 8]).settled().end();
    let strict = compare(&timeline(&whole), &timeline(&split)).unwrap();
    assert_eq!(strict.first().unwrap().place, TimelineLocation::Step(StepId { index: 2, part: 1 }));

    let agreed = agree(&[timeline(&whole), timeline(&split)]).unwrap();
    assert!(agreed.step(StepId { index: 2, part: 1 }).unwrap().joined);
    assert!(!agreed.step(StepId { index: 1, part: 0 }).unwrap().joined);
    for recording in [&whole, &split] {
        assert_eq!(judge(recording, Some(&agreed)).verdict, Verdict::Conformant);
    }
    let back_and_forth = builder(&[7, 8]).settled().end();
    assert_eq!(judge(&back_and_forth, Some(&agreed)).verdict, Verdict::NonConformant);
}

#[test]
fn live_runs_note_differently_split_resizes() {
    let (whole, split) = (builder(&[8]).settled().end(), builder(&[10, 8]).settled().end());
    let comparison = compare_live(&timeline(&whole), &timeline(&split)).unwrap();
    assert!(comparison.is_same());
    assert_eq!(comparison.joined, [StepId { index: 2, part: 1 }]);
    assert_eq!(judge_live(&split, &whole).verdict, Verdict::Conformant);
}

#[rstest]
#[case::another(&["a", "b"], &["a", "x"], "x instead of b")]
#[case::one_too_many(&["a", "b"], &["x", "a", "b"], "x was not expected")]
#[case::one_too_many_at_the_end(&["a"], &["a", "b"], "b was not expected")]
#[case::one_too_few(&["a", "b"], &["a"], "b is missing")]
#[case::another_order(&["a", "b"], &["b", "a"], "b instead of a")]
fn difference_in_words(#[case] expected: &[&str], #[case] actual: &[&str], #[case] words: &str) {
    let lines = |all: &[&str]| all.iter().map(|line| TimelineLine::Heading((*line).to_owned())).collect();
    let (expected, actual, at) = difference(lines(expected), lines(actual)).unwrap();
    let (expected, actual) = (Some(expected), Some(actual));
    let difference = Difference { place: TimelineLocation::Events, label: String::new(), expected, actual, at };
    assert_eq!(difference.to_string(), words);
}

#[rstest]
#[case::nothing(vec![], "no recording at all; record the case first")]
#[case::another_size(vec![vec![11], vec![11], vec![13]], "recordings 1 and 3 differ at step 2.1: rs1 12 -> 13 instead of rs1 12 -> 11")]
#[case::nothing_done(vec![vec![11], vec![]], "recordings 1 and 2 differ at step 2.1: = rs1 12/10 ready=10 available=10 revision=1 pods=0 instead of rs1 12 -> 11")]
fn disagreement_names_both(#[case] sizes: Vec<Vec<i32>>, #[case] expected: &str) {
    let timelines: Vec<Timeline> = sizes.iter().map(|sizes| timeline(&builder(sizes).settled().end())).collect();
    assert_eq!(agree(&timelines).unwrap_err().to_string(), expected);
}

/// The same rollout with these messages.
fn with_messages(messages: &[&str]) -> Recording {
    let event_of = |builder: RecordingBuilder, (number, message): (usize, &&str)| {
        builder.subject_write(&event(&format!("e{number}"), "web", message, 1))
    };
    messages.iter().enumerate().fold(builder(&[11]), event_of).settled().end()
}

/// As if the test environment did not know whether it had received all Events.
fn perhaps_not_all(recording: Recording) -> Recording {
    let end = recording.end.map(|end| RecordingEnd { events_complete: false, ..end });
    Recording { end, ..recording }
}

const TEN: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

#[rstest]
#[case::the_same(with_messages(&["a"]), with_messages(&["a"]), true)]
#[case::another(with_messages(&["a"]), with_messages(&["b"]), false)]
#[case::one_more(with_messages(&["a"]), with_messages(&["a", "b"]), false)]
#[case::too_many_where_few_were_expected(with_messages(&["a"]), with_messages(&TEN), false)]
#[case::few_where_too_many_were_expected(with_messages(&TEN), with_messages(&["b"]), true)]
#[case::perhaps_not_all(with_messages(&["a"]), perhaps_not_all(with_messages(&["b"])), true)]
fn events_are_compared_if_all_are_known(#[case] expected: Recording, #[case] actual: Recording, #[case] is_same: bool) {
    let comparison = compare(&timeline(&expected), &timeline(&actual)).unwrap();
    assert_eq!(comparison.is_same(), is_same);
    assert_eq!(comparison.first().map(|first| first.place), (!is_same).then_some(TimelineLocation::Events));
}

/// A play in which the Deployment adopts an orphan, if there is `adopted`, of so many replicas.
fn with_orphan(adopted: Option<i32>) -> RecordingBuilder {
    let orphan = with_patch(&set("0", 0), &json!({"metadata": {"ownerReferences": null}}));
    let builder = RecordingBuilder::rolled_out(10).user_step(1, "apply").driver_write(&orphan).settled();
    let builder = builder.user_step(2, "relabel").driver_write(&scaled(&web(), 10));
    adopted.into_iter().fold(builder, |builder, replicas| builder.subject_write(&set("0", replicas)))
}

/// An orphan has its number from the adoption, wherever that is in the play.
#[test]
fn missing_adoption_is_reported_at_the_step_that_should_adopt() {
    let golden = timeline(&with_orphan(Some(0)).settled().end());
    let judgement = judge(&with_orphan(None).settled().end(), Some(&golden));
    let difference = judgement.headline().map(|finding| finding.place.to_string());
    assert_eq!((difference.as_deref(), judgement.verdict), (Some("step 2"), Verdict::NonConformant));
    let unfinished = with_orphan(None).trouble(Blame::Environment, "the API server went away").aborted();
    assert_eq!(judge(&unfinished, Some(&golden)).verdict, Verdict::Inconclusive);
    assert_eq!(judge(&with_orphan(Some(0)).settled().end(), Some(&golden)).verdict, Verdict::Conformant);
}

#[rstest]
#[case::words_of_each("v1.29.15", "v1.36.3", true)]
#[case::the_older_words_in_a_newer_version("v1.36.3", "v1.37.0", false)]
#[case::the_newer_words_in_an_older_version("v1.15.5", "v1.29.15", false)]
fn versions_are_compared_in_the_older_wording(#[case] older: &str, #[case] newer: &str, #[case] is_same: bool) {
    let by = |version: &str, sizes: &str| {
        let mut recording = with_messages(&[&format!("Scaled up replica set web-1 {sizes}")]);
        recording.header.subject.program = "kube-controller-manager".to_owned();
        recording.header.subject.version = version.to_owned();
        recording
    };
    let (one, two) = (by(older, "to 5 from 3"), by(newer, "from 3 to 5"));
    for (subject, other) in [(&one, &two), (&two, &one)] {
        assert_eq!(judge_live(subject, other).verdict == Verdict::Conformant, is_same);
    }
}

/// What upstream leaves to chance may differ between two runs; the rules hold in each.
#[rstest]
#[case::other_decisions(&[12], "replicaSets.size() > 0", Verdict::Conformant)]
#[case::a_broken_rule(&[11], "replicaSets.size() > 9", Verdict::NonConformant)]
fn case_that_expects_rules_alone_is_not_compared(#[case] sizes: &[i32], #[case] rule: &str, #[case] verdict: Verdict) {
    let ruled = |mut recording: Recording| {
        let source = format!("{SOURCE}expectation: rules\nrules: {{finally: [\"{rule}\"]}}\n");
        recording.header.source = source;
        recording
    };
    let (one, two) = (ruled(builder(&[11]).settled().end()), ruled(builder(sizes).settled().end()));
    let judgement = judge_live(&two, &one);
    assert_eq!((judgement.verdict, judgement.comparison), (verdict, None), "{:?}", judgement.findings);
}

#[test]
fn events_are_not_compared_if_test_environment_failed() {
    let broke = builder(&[11]).subject_write(&event("e", "web", "a", 1)).unsettled(Blame::Environment, "probe").end();
    assert_eq!(judge(&broke, Some(&timeline(&with_messages(&["b"])))).verdict, Verdict::Inconclusive);
    assert_eq!(judge_live(&with_messages(&["b"]), &broke).verdict, Verdict::Inconclusive);
}

/// One has a further step; in either order, that step is the difference.
#[test]
fn disagreement_on_how_many_steps_there_were() {
    let longer = timeline(&builder(&[11]).settled().node_step(2, 2, "ready 1").settled().end());
    let expected = [
        "recordings 1 and 2 differ at step 2.2: the step was not expected",
        "recordings 1 and 2 differ at step 2.2: the step was never made",
    ];
    let said = |first: Timeline, second: Timeline| agree(&[first, second]).unwrap_err().to_string();
    assert_eq!([said(blessed(), longer.clone()), said(longer, blessed())], expected);
}

/// The first recording may lack some Events, so the others disagree; they keep their numbers.
#[test]
fn disagreement_on_events_names_both() {
    let timelines =
        [&perhaps_not_all(with_messages(&["a"])), &with_messages(&["a"]), &with_messages(&["b"])].map(timeline);
    let said = agree(&timelines).unwrap_err().to_string();
    assert!(said.starts_with("recordings 2 and 3 differ at events: "), "{said}");
    assert_eq!(agree(&timelines[..2]).unwrap().events, timelines[1].events);
}

#[test]
fn equivalent_recordings_agree() {
    assert_eq!(agree(&[blessed(), blessed(), blessed()]), Ok(blessed()));
}
