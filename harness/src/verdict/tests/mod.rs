//! Verdicts over recordings: whose fault, and where; in `sameness`, whether two timelines are the
//! same.

mod sameness;

use rstest::rstest;
use serde_json::{Value, json};

use super::fixture::{judge, judge_live};
use super::{Blessing, BothIdle, Disagreement, Place, Verdict, agree, compare};
use crate::outcome::Outcome;
use crate::recording::{Blame, Recording, Trouble};
use crate::timeline::fixture::{Film, deployment, of_case, owned_set, ready, revision, scaled, with};
use crate::timeline::{StepId, Timeline};

fn web() -> Value {
    with(&deployment("web", 10, "app:1"), &revision(1))
}

fn set(hash: &str, replicas: i32) -> Value {
    with(&owned_set(&web(), hash, &format!("app:{hash}"), replicas), &json!({"status": ready(replicas)}))
}

/// Two steps; in the second, rs1 goes through these sizes.
fn film(sizes: &[i32]) -> Film {
    let film = Film::rolled_out(10)
        .user(1, "scale 12")
        .driver(&scaled(&web(), 12))
        .other(&scaled(&set("1", 10), 12))
        .settled();
    sizes.iter().fold(film.node(2, 1, "ready 1"), |film, size| film.other(&scaled(&set("1", 12), *size)))
}

fn timeline(recording: &Recording) -> Timeline {
    Timeline::from_recording(recording)
}

fn blessed() -> Timeline {
    timeline(&film(&[11]).settled().end())
}

#[rstest]
#[case::the_same(film(&[11]).settled().end(), "conformant", "")]
#[case::another_size(film(&[13]).settled().end(), "non-conformant", "step 2.1 divergence 6")]
#[case::nothing(film(&[]).settled().end(), "non-conformant", "step 2.1 divergence 6")]
#[case::environment_broke_at_the_step_that_differs(film(&[13]).trouble(Blame::Environment, "etcd").aborted(), "inconclusive", "step 2.1 trouble 6")]
#[case::environment_broke_after_a_settled_difference(
    film(&[13]).settled().node(2, 2, "ready 1").trouble(Blame::Environment, "etcd").aborted(),
    "non-conformant", "step 2.1 divergence 6, step 2.2 trouble 6")]
#[case::environment_unsettled(film(&[11]).unsettled(Blame::Environment, "probe").end(), "inconclusive", "step 2.1 unsettled 6")]
#[case::subject_unsettled(film(&[11]).unsettled(Blame::Subject, "writes on").end(), "non-conformant", "step 2.1 unsettled 6")]
#[case::subject_left_no_pod(
    film(&[11]).settled().node(2, 2, "ready 1").trouble(Blame::Subject, "no pod").aborted(),
    "non-conformant", "step 2.2 trouble 6, step 2.2 divergence 6")]
#[case::impossible_though_upstream_made_it(
    film(&[]).impossible("no pod").aborted(),
    "non-conformant", "step 2.1 trouble 6, step 2.1 divergence 6")]
#[case::impossible_for_all_that_is_known(
    film(&[11]).settled().node(2, 2, "ready 1").impossible("no pod").aborted(),
    "inconclusive", "step 2.2 trouble 6")]
#[case::subject_after_the_lab(
    film(&[11]).trouble(Blame::Environment, "etcd").trouble(Blame::Subject, "no pod").aborted(),
    "inconclusive", "step 2.1 trouble 6")]
#[case::cut_off(film(&[13]).settled().cut(), "inconclusive", "step 2.1 trouble 6")]
#[case::ended_early_without_a_word(film(&[11]).settled().aborted(), "inconclusive", "step 2.1 trouble 6")]
#[case::never_said_how_it_settled(film(&[11]).end(), "inconclusive", "step 2.1 trouble 6")]
#[case::an_invariant(
    film(&[11]).settled().request("update", "deployments", 200).end(),
    "non-conformant", "step 2.1 invariant 6")]
#[case::a_step_too_many(
    film(&[11]).settled().node(2, 2, "ready 1").settled().end(),
    "non-conformant", "step 2.2 divergence 6")]
fn verdicts(#[case] recording: Recording, #[case] verdict: &str, #[case] findings: &str) {
    let judgement = judge(&recording, Some(&blessed()));
    let found: Vec<String> = judgement
        .findings
        .iter()
        .map(|finding| {
            let kind = match finding.what {
                super::What::Divergence(_) => "divergence",
                super::What::Unsettled(..) => "unsettled",
                super::What::Trouble(..) => "trouble",
                super::What::Breach(_) => "invariant",
                super::What::Unexpected(_) => "expect",
                super::What::OtherRun(_) => "other",
                super::What::Rule(_) => "rule",
                super::What::BothIdle => "idle",
            };
            format!("{} {kind} {}", finding.place, finding.line.unwrap_or(0))
        })
        .collect();
    assert_eq!((judgement.verdict.name(), found.join(", ").as_str()), (verdict, findings));
}

#[test]
fn a_case_that_says_who_lives_on_is_held_to_it() {
    let pod = json!({"kind": "Pod", "metadata": {"name": "x", "uid": "x"}});
    let film = |sets: &[&[&str]]| {
        let film = Film::rolled_out(1).driver_made(&pod).named("a", "x").settled();
        film.expecting(1, sets).driver(&scaled(&web(), 1)).settled().end()
    };
    for (sets, verdict) in [
        (&[["a"].as_slice()][..], Verdict::Conformant),
        (&[[].as_slice(), &["a"]], Verdict::Conformant),
        (&[[].as_slice()], Verdict::NonConformant),
    ] {
        let recording = film(sets);
        // Whatever is blessed says the same.
        let judgement = judge(&recording, Some(&timeline(&recording)));
        assert_eq!(judgement.verdict, verdict, "{:?}", judgement.findings);
        assert!(judgement.findings.iter().all(|it| matches!(it.what, super::What::Unexpected(_))));
    }
}

#[test]
fn an_unblessed_case_is_judged_by_the_invariants() {
    let good = judge(&film(&[11]).settled().end(), None);
    assert_eq!((good.verdict, good.outcome()), (Verdict::Conformant, Outcome::Unblessed));
    let bad = judge(&film(&[20]).settled().end(), None);
    assert_eq!((bad.verdict, bad.outcome()), (Verdict::NonConformant, Outcome::NonConformant));
    let broken = judge(&film(&[11]).trouble(Blame::Environment, "etcd").aborted(), None);
    assert_eq!(broken.outcome(), Outcome::Inconclusive);
}

#[test]
fn an_invariant_that_upstream_breaks_is_no_finding() {
    let recording = film(&[20]).settled().end();
    let upstream = timeline(&recording);
    assert_eq!(upstream.steps[2].breaches.len(), 1);
    assert_eq!(judge(&recording, Some(&upstream)).verdict, Verdict::Conformant);
}

#[test]
fn a_timeline_of_another_version_of_the_case_judges_nothing() {
    let mut other = blessed();
    other.steps[1].label = "scale 11".to_owned();
    let judgement = judge(&film(&[13]).settled().end(), Some(&other));
    assert!(matches!(judgement.blessing, Blessing::Changed(_)));
    assert_eq!(judgement.outcome(), Outcome::Unblessed);
}

#[test]
fn a_timeline_of_an_edited_case_judges_nothing() {
    let mut edited = film(&[13]).settled().end();
    edited.header.source = edited.header.source.replace("scale: 12", "scale: 13");
    let judgement = judge(&edited, Some(&blessed()));
    assert_eq!((&judgement.blessing, judgement.outcome()), (&Blessing::Changed(None), Outcome::Unblessed));

    let old = Timeline { case: None, ..blessed() };
    assert_eq!(judge(&edited, Some(&old)).outcome(), Outcome::NonConformant);

    let mut described = film(&[11]).settled().end();
    described.header.source = described.header.source.replace("description: x", "# why\n\ndescription: y");
    assert_eq!(judge(&described, Some(&blessed())).outcome(), Outcome::Conformant);
    assert!(compare(&blessed(), &timeline(&edited)).is_ok_and(|found| found.relabelled.is_none()));
    assert_eq!(agree(&[blessed(), old]), Ok(blessed()));
}

#[test]
fn two_that_do_nothing_prove_nothing() {
    let idle = Film::new().given("deployment/web").driver(&web()).settled().end();
    assert_eq!(compare(&timeline(&idle), &timeline(&idle)), Err(BothIdle));
    assert_eq!(judge(&idle, Some(&timeline(&idle))).verdict, Verdict::Inconclusive);
    assert_eq!(agree(&[timeline(&idle), timeline(&idle)]), Err(Disagreement::Idle));
    assert_eq!(judge(&idle, Some(&blessed())).verdict, Verdict::NonConformant);
}

#[test]
fn a_live_run_is_not_blamed_for_the_others_lab() {
    let other = film(&[11]).trouble(Blame::Environment, "etcd").aborted();
    assert_eq!(judge_live(&film(&[13]).settled().end(), &other).verdict, Verdict::Inconclusive);
    let earlier = Film::rolled_out(10).user(1, "scale 12").settled().end();
    assert_eq!(judge_live(&earlier, &other).verdict, Verdict::NonConformant);
}

/// A step that cannot be made is the subject's fault only where the other run made it and came
/// through it.
#[rstest]
#[case::made(film(&[11]).settled().node(2, 2, "ready 1").settled().end(), Verdict::NonConformant)]
#[case::broke_there(
    film(&[11]).settled().node(2, 2, "ready 1").trouble(Blame::Environment, "etcd").aborted(),
    Verdict::Inconclusive
)]
#[case::never_came_there(film(&[11]).settled().end(), Verdict::Inconclusive)]
#[case::broke_later(
    film(&[11]).settled().node(2, 2, "ready 1").settled().node(2, 3, "ready 1").trouble(Blame::Environment, "etcd").aborted(),
    Verdict::NonConformant
)]
#[case::was_in_trouble_before(
    film(&[11]).unsettled(Blame::Subject, "writes on").node(2, 2, "ready 1").settled().end(),
    Verdict::Inconclusive
)]
fn an_impossible_step_beside_another_run(#[case] other: Recording, #[case] verdict: Verdict) {
    let stuck = film(&[11]).settled().node(2, 2, "ready 1").impossible("no pod").aborted();
    assert_eq!(judge_live(&stuck, &other).verdict, verdict);
}

/// What is missing after the end of a run that ended early says nothing; what is missing before it
/// does.
#[test]
fn a_missing_step_counts_up_to_where_the_run_ended() {
    let step = |film: Film, index: u32, part: u32| film.node(index, part, "ready 1");
    let blessed = step(step(film(&[11]).settled(), 2, 2).settled(), 3, 1).settled();
    let blessed = timeline(&step(blessed, 3, 2).settled().end());
    let ended = step(film(&[11]).settled(), 3, 1).settled().trouble(Blame::Subject, "it ended").aborted();
    let judgement = judge(&ended, Some(&blessed));
    let missing = |finding: &&super::Finding| matches!(finding.what, super::What::Divergence(_));
    let places: Vec<_> =
        judgement.findings.iter().filter(missing).map(|finding| (finding.place, finding.line)).collect();
    // Its line is that of the step's first part.
    assert_eq!(places, [(Place::Step(StepId { index: 2, part: 2 }), Some(6))]);
    let ended = film(&[11]).settled().trouble(Blame::Subject, "it ended").aborted();
    assert!(!judge(&ended, Some(&blessed)).findings.iter().any(|finding| missing(&finding)));
}

/// A recording of a ReplicaSet that its Deployment controller never has to touch again.
fn untouched() -> Film {
    Film::new().given("deployment/web").driver(&web()).driver(&set("1", 10)).settled()
}

fn first_trouble(recording: &Recording) -> String {
    let judgement = judge(recording, Some(&timeline(recording)));
    let finding = judgement.findings.first();
    let why = finding.map(|finding| match &finding.what {
        super::What::Trouble(trouble) if trouble.blame == Blame::Environment => {
            format!("{} {}", finding.place, trouble.why.split(':').next().unwrap())
        }
        other => format!("{other:?}"),
    });
    format!("{} {}", judgement.verdict.name(), why.unwrap_or_default()).trim_end().to_owned()
}

/// Without a golden timeline the case itself may ask for what the server refuses.
#[rstest]
#[case::again_and_again(&[422, 422], None, Outcome::Inconclusive)]
#[case::again_and_again_where_upstream_settles(&[422, 422], Some(blessed()), Outcome::NonConformant)]
#[case::once(&[422], None, Outcome::NonConformant)]
#[case::until_it_went_through(&[422, 422, 200], None, Outcome::NonConformant)]
#[case::by_conflicts(&[409, 409], None, Outcome::NonConformant)]
fn a_subject_whose_writes_the_server_refuses_is_blamed_where_upstream_settles(
    #[case] answers: &[u16],
    #[case] golden: Option<Timeline>,
    #[case] outcome: Outcome,
) {
    let film = answers.iter().fold(film(&[11]), |film, status| {
        film.request("update", "replicasets", *status).with_message("metadata.annotations: Too long")
    });
    let judgement = judge(&film.unsettled(Blame::Subject, "settled in the wrong state").aborted(), golden.as_ref());
    assert_eq!(judgement.outcome(), outcome);
    let why = format!("{:?}", judgement.findings);
    let is_named = why.contains("the API server refuses to update replicasets x, 422: metadata.annotations: Too long");
    assert_eq!(is_named, outcome == Outcome::Inconclusive, "{why}");
}

/// A server refuses nothing of the probe, so a subject that has not served that is at fault
/// whatever the case asks for.
#[test]
fn a_refused_subject_that_has_not_served_the_probe_is_blamed() {
    let trouble = Trouble { probe_unserved: true, ..Trouble::new(Blame::Subject, "stayed in the wrong state") };
    let film = film(&[11]).request("create", "replicasets", 422).request("create", "replicasets", 422);
    let judgement = judge(&film.unsettled_by(trouble).aborted(), None);
    assert_eq!(judgement.outcome(), Outcome::NonConformant);
}

const ELSES: &str = "inconclusive step 1 decisions were made here, but not by the subject";

#[rstest]
#[case::resized(untouched().user(1, "x").foreign(&scaled(&set("1", 10), 12)), ELSES)]
#[case::created(untouched().user(1, "x").foreign(&set("2", 0)), ELSES)]
#[case::annotated(untouched().user(1, "x").foreign(&with(&set("1", 10), &revision(2))), ELSES)]
#[case::released(
    untouched().user(1, "x").foreign(&with(&set("1", 10), &json!({"metadata": {"ownerReferences": null}}))), ELSES)]
#[case::deleted(untouched().driver(&set("2", 0)).user(1, "x").foreign_deleted(&set("2", 0)), ELSES)]
#[case::beside_work_of_the_subjects_on_the_deployment(
    untouched().user(1, "x").foreign(&set("2", 0)).other(&with(&web(), &revision(2))), ELSES)]
#[case::the_subject_was_refused(untouched().user(1, "x").foreign(&set("2", 0)).request("create", "replicasets", 409), ELSES)]
#[case::the_subject_only_looked(untouched().user(1, "x").foreign(&set("2", 0)).request("list", "replicasets", 200), ELSES)]
#[case::the_subject_looked_and_was_killed(
    untouched().other(&set("2", 0)).user(1, "x").foreign(&scaled(&set("1", 10), 12)).request("list", "replicasets", 0), ELSES)]
#[case::the_subject_was_killed_before_its_answer(
    untouched().other(&set("2", 0)).user(1, "x").foreign(&scaled(&set("1", 10), 12)).request("update", "replicasets", 0), "conformant")]
#[case::the_subject_was_at_work_before(
    untouched().other(&set("2", 0)).user(1, "x").foreign(&scaled(&set("1", 10), 12)), ELSES)]
#[case::the_subject_did_it(untouched().user(1, "x").foreign(&set("2", 0)).request("create", "replicasets", 201), "conformant")]
#[case::the_garbage_collector_did_it(
    untouched().other(&with(&web(), &revision(2))).user(1, "delete").deleted(&web(), crate::recording::Writer::Driver)
        .foreign_deleted(&set("1", 10)), "conformant")]
#[case::the_garbage_collector_ended_it(
    untouched().other(&set("2", 0)).driver(&with(&set("2", 0), &json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}})))
        .user(1, "x").foreign_deleted(&set("2", 0)), "conformant")]
#[case::status_is_the_replica_set_controllers(
    untouched().other(&set("2", 0)).user(1, "x").foreign(&with(&set("1", 10), &json!({"status": ready(3)}))), "conformant")]
fn the_work_of_others_is_no_credit(#[case] film: Film, #[case] expected: &str) {
    assert_eq!(first_trouble(&film.settled().end()), expected);
}

#[test]
fn nothing_is_evidence_once_another_controller_is_at_work() {
    let recording = film(&[]).foreign(&scaled(&set("1", 12), 13)).settled().end();
    let judgement = judge(&recording, Some(&blessed()));
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(judgement.findings.len(), 1);
    assert_eq!((judgement.findings[0].line, judgement.findings[0].label.as_str()), (Some(6), "ready 1"));
    assert_eq!(judge_live(&film(&[11]).settled().end(), &recording).verdict, Verdict::Inconclusive);
}

#[test]
fn a_subject_that_wrote_nothing_is_never_conformant() {
    let silent = |film: Film| film.foreign(&with(&web(), &revision(2))).settled().end();
    let expected = "inconclusive events the subject wrote nothing; another controller did the work";
    assert_eq!(first_trouble(&silent(untouched().user(1, "x"))), expected);
    assert_eq!(first_trouble(&silent(untouched().user(1, "x").request("create", "events", 201))), expected);
    assert_eq!(first_trouble(&silent(untouched().user(1, "x").request("update", "deployments", 409))), expected);
    assert_eq!(first_trouble(&silent(untouched().user(1, "x").request("update", "deployments", 200))), "conformant");
    assert_eq!(judge(&silent(untouched().user(1, "x")), None).outcome(), Outcome::Inconclusive);
}

#[rstest]
#[case::that_hold("rules: {always: [\"replicaSets[0].spec.replicas <= 12\"]}\n", Outcome::Conformant, "")]
#[case::that_do_not(
    "rules: {always: [\"replicaSets[0].spec.replicas <= 11\"]}\n",
    Outcome::NonConformant,
    "step 1 (scale 12): rule `always:"
)]
#[case::that_cannot_be_evaluated(
    "rules: {finally: [\"deployment.metadata.labels['tier'] == 'front'\"]}\n",
    Outcome::BadInput,
    "cannot be evaluated once it had settled: No such key: tier"
)]
#[case::that_cannot_be_evaluated_and_one_that_does_not_hold(
    "rules: {finally: [\"deployment.metadata.labels['tier'] == 'front'\", \"replicaSets.size() == 9\"]}\n",
    Outcome::NonConformant,
    "replicaSets.size() == 9"
)]
fn rules_count_beside_a_timeline(#[case] rules: &str, #[case] outcome: Outcome, #[case] said: &str) {
    let judgement = judge(&of_case(rules, film(&[11]).settled().end()), Some(&blessed()));
    let message = crate::report::headline(&judgement);
    assert_eq!(judgement.outcome(), outcome, "{message}");
    assert!(message.contains(said), "{message}");
}

#[test]
fn rules_alone_can_be_what_is_expected() {
    let rules = "expectation: rules\nrules: {always: [\"replicaSets[0].spec.replicas <= 12\"]}\n";
    let judged = |film: Film| judge(&of_case(rules, film.end()), None);
    assert_eq!(judged(film(&[11]).settled()).outcome(), Outcome::Conformant);
    let stuck = judge(&of_case(rules, film(&[11]).impossible("there is no pod").aborted()), None);
    assert_eq!(stuck.outcome(), Outcome::NonConformant);
    let broke = judge(&of_case(rules, film(&[11]).unsettled(Blame::Environment, "x").aborted()), None);
    assert_eq!(broke.outcome(), Outcome::Inconclusive);
}

/// What holds in the end can only be asked of a run that came to it.
#[test]
fn rules_of_the_end_are_not_asked_of_a_run_that_ended_early() {
    let rules = "rules: {finally: [\"replicaSets[0].spec.replicas == 99\"]}\n";
    let asked = |recording: Recording| {
        let judgement = judge(&of_case(rules, recording), Some(&blessed()));
        judgement.findings.iter().any(|finding| matches!(finding.what, super::What::Rule(_)))
    };
    assert!(asked(film(&[11]).settled().end()));
    assert!(!asked(film(&[11]).settled().trouble(Blame::Subject, "it ended").aborted()));
}

/// Before the first step there is no line to point at.
#[test]
fn trouble_before_the_first_step_has_no_line() {
    let judgement = judge(&Film::new().trouble(Blame::Environment, "etcd").aborted(), Some(&blessed()));
    assert_eq!(judgement.findings.first().map(|finding| finding.line), Some(None));
}
