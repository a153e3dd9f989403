//! Tests of complete reports.

use std::time::Duration;

use insta::assert_snapshot;
use lockstep_recording::testing::{
    RecordingBuilder, deployment, event, of_case, owned_set, ready, revision, scaled, with_patch,
};
use lockstep_recording::{Blame, Diagnosis, Recording};
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::{Provenance, Timeline};
use lockstep_verdict::Judgement;
use lockstep_verdict::testing::judge;
use rstest::rstest;
use serde_json::{Value, json};

use super::junit::{TimedJudgement, junit};
use super::page::page_of_run;
use super::{
    RerunCommands, TitledTimeline, common_causes, ends_between_json, failure, github, headline, json as as_json,
    list_not_conformant, side_by_side, summary, table, totals,
};

pub(super) fn rerun() -> RerunCommands {
    let repeat = "lockstep run cases/rolling/x.yaml --subject ours".to_owned();
    RerunCommands { program: "lockstep".to_owned(), repeat }
}

fn web() -> Value {
    with_patch(&deployment("web", 10, "app:1"), &revision(1))
}

/// A scale-up to 12 in which rs1 is given this size.
pub(super) fn recording(size: i32) -> Recording {
    let set = with_patch(&owned_set(&web(), "1", "app:1", 10), &json!({"status": ready(10)}));
    RecordingBuilder::rolled_out(10)
        .user_step(1, "scale 12")
        .driver_write(&scaled(&web(), 12))
        .subject_write(&scaled(&set, size))
        .settled()
        .node_step(2, 1, "ready 1")
        .subject_write(&with_patch(&scaled(&set, size), &json!({"status": ready(11)})))
        .settled()
        .end()
}

pub(super) fn blessed() -> Timeline {
    let text = |text: &str| text.to_owned();
    Timeline::from_recording(&recording(12)).with_provenance(Provenance {
        name: text("upstream"),
        controller: text("kube-controller-manager v1.36.3"),
        server: text("kube-apiserver v1.36.3"),
        recordings: 5,
        times_seen: None,
        boots: 2,
    })
}

pub(super) fn wrong() -> Judgement {
    judge(&recording(13), Some(&blessed()))
}

#[test]
fn failure_shows_first_wrong_step() {
    assert_snapshot!(failure(&wrong(), &rerun(), false), @r#"
    NON-CONFORMANT  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      step 1  scale 12
      cases/rolling/x.yaml:5  |    - scale: 12

      -         rs1 10 -> 12
      +         rs1 10 -> 13
      -       = rs1 12/10 ready=10 available=10 revision=1 pods=0
      +       = rs1 13/10 ready=10 available=10 revision=1 pods=0
                ^ 13/10 instead of 12/10
              = web 0 updated=0 ready=0 available=0 generation=0/1 revision=1

      - expected: kube-controller-manager v1.36.3 on kube-apiserver v1.36.3
      + happened: ours (rollout-controller 0.1.0)

      expected, settled
        rs1  ██████████░░      12 wanted, 10 available
        web           │     ┃  12 of at most 15; 10 available, at least 9 must be

      happened, settled
        rs1  ██████████░░░     13 wanted, 10 available
        web           │     ┃  13 of at most 15; 10 available, at least 9 must be

      one later step differs as well

      why:    lockstep explain cases/rolling/x.yaml
      repeat: lockstep run cases/rolling/x.yaml --subject ours
    "#);
}

#[test]
fn failure_names_broken_test_environment() {
    let builder = RecordingBuilder::rolled_out(10)
        .user_step(1, "scale 12")
        .trouble(Blame::Environment, "the API server went away");
    assert_snapshot!(failure(&judge(&builder.aborted(), Some(&blessed())), &rerun(), false), @r#"
    INCONCLUSIVE  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      step 1  scale 12
      cases/rolling/x.yaml:5  |    - scale: 12

      no verdict: the API server went away

      repeat: lockstep run cases/rolling/x.yaml --subject ours
    "#);
}

#[test]
fn failure_explains_broken_invariant() {
    assert_snapshot!(failure(&judge(&recording(20), None), &rerun(), false), @r#"
    NON-CONFORMANT  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      invariant `surge` broken: web wants 20 pods in all, at most 15 allowed
      the invariant: all ReplicaSets together want at most replicas + maxSurge pods

      step 1  scale 12
      cases/rolling/x.yaml:5  |    - scale: 12

              rs1 10 -> 20
            ! surge: web wants 20 pods in all, at most 15 allowed
            = rs1 20/10 ready=10 available=10 revision=1 pods=0
            = web 0 updated=0 ready=0 available=0 generation=0/1 revision=1

      why:    lockstep explain cases/rolling/x.yaml
      repeat: lockstep run cases/rolling/x.yaml --subject ours
    "#);
}

#[test]
fn unblessed_case_says_what_to_do() {
    assert_snapshot!(failure(&judge(&recording(12), None), &rerun(), false), @"
    UNBLESSED  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      what ours (rollout-controller 0.1.0) did:

        given   deployment/web
                rs1 created 10  revision=1
                web revision=1
              = rs1 10/10 ready=10 available=10 revision=1 pods=0
              = web 10 updated=10 ready=10 available=10 generation=1/1 revision=1 Available=True(MinimumReplicasAvailable) Progressing=True(NewReplicaSetAvailable)
        step 1  scale 12
                rs1 10 -> 12
              = rs1 12/10 ready=10 available=10 revision=1 pods=0
              = web 0 updated=0 ready=0 available=0 generation=0/1 revision=1
        step 2.1  ready 1
              = rs1 12/11 ready=11 available=11 revision=1 pods=0
              = web 0 updated=0 ready=0 available=0 generation=0/1 revision=1
        events  none

      no invariant was broken, but there is no golden timeline to compare with
      record one from upstream: lockstep bless cases/rolling/x.yaml
      or see upstream's first, in virtual time: lockstep bless cases/rolling/x.yaml --preview
      or judge it without upstream: `expectation: rules`, and what must hold under `rules:`

      repeat: lockstep run cases/rolling/x.yaml --subject ours
    ");
}

#[test]
fn changed_case_says_what_to_do() {
    let mut blessed = blessed();
    blessed.case = Some("0123456789abcdef".to_owned());
    assert_snapshot!(failure(&judge(&recording(12), Some(&blessed)), &rerun(), false), @"
    CHANGED  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      the case has changed since it was blessed; bless it again
      record it from upstream: lockstep bless cases/rolling/x.yaml

      repeat: lockstep run cases/rolling/x.yaml --subject ours
    ");
}

#[test]
fn table_has_row_per_case_and_column_per_subject() {
    let mut upstream = judge(&recording(12), Some(&blessed()));
    upstream.subject.name = "upstream".to_owned();
    let mut other = upstream.clone();
    other.case = "undo/previous".to_owned();
    assert_snapshot!(table(&[upstream, wrong(), other], false), @"
    case           upstream        ours
    rolling/x      conformant      non-conformant
        ours: step 1 (scale 12): rs1 10 -> 13 instead of rs1 10 -> 12
    undo/previous  conformant      -
    ");
}

#[test]
fn totals_count_areas_and_requests_per_subject() {
    let mut upstream = judge(&recording(12), Some(&blessed()));
    upstream.subject.name = "upstream".to_owned();
    upstream.metrics.requests = [("create".to_owned(), 1), ("update".to_owned(), 12)].into();
    upstream.metrics.conflicts = 3;
    let mut other = upstream.clone();
    other.case = "undo/previous".to_owned();
    other.metrics.requests = [("update".to_owned(), 3)].into();
    assert_snapshot!(totals(&[upstream.clone(), wrong(), other], false), @"
    conformant  upstream  ours
    rolling     1 of 1    0 of 1
    undo        1 of 1    0 of 0

    requests (a case)  upstream  ours
    create             1 (0.5)   0 (0.0)
    update             15 (7.5)  6 (6.0)
    conflicts          6 (3.0)   0 (0.0)
    other errors       0 (0.0)   0 (0.0)
    ");
    assert_eq!(totals(&[upstream, wrong()], false), "", "one case speaks for itself");
}

#[test]
fn summary_counts_outcomes() {
    let took = Duration::from_millis(3210);
    let outcomes = [RunOutcome::Conformant, RunOutcome::Conformant, RunOutcome::NonConformant];
    assert_eq!(summary(&outcomes, 0, took, false), "3 cases in 3.2 s: 2 conformant, 1 non-conformant");
    assert_eq!(summary(&[], 0, took, false), "no case selected");
}

#[test]
fn end_of_the_subject_between_two_cases_is_not_counted_as_a_case() {
    let took = Duration::from_millis(3210);
    let between = |times: usize| summary(&[RunOutcome::Conformant; 3], times, took, false);
    let ended = "3 cases in 3.2 s: 3 conformant; the subject ended between two cases";
    assert_eq!(between(1), format!("{ended} once, which is non-conformant"));
    assert_eq!(between(2), format!("{ended} 2 times, which is non-conformant"));
}

#[test]
fn every_report_of_a_run_shows_that_the_subject_ended_between_two_cases() {
    let ended = "the subject ended between two cases once, which is non-conformant";
    let xml = junit(&[], 1, None);
    assert!(xml.contains("tests=\"1\" skipped=\"0\" failures=\"1\"") && xml.contains(ended), "{xml}");
    let summary = github::job_summary(3, &[], 1, None);
    assert_eq!(summary, format!("### Lockstep: 3 conformant; {ended}\n"));
    assert_eq!(github::ends_between_annotation(1).unwrap(), format!("::error title=the subject ended::{ended}"));
    let page = page_of_run("run", &[], 1, None);
    assert!(page.contains(ended), "{page}");
    let line = format!("{{\"endedBetween\":1,\"error\":\"{ended}\",\"exitCode\":1}}");
    assert_eq!(ends_between_json(1).unwrap(), line);
    let nothing = [junit(&[], 0, None), github::job_summary(3, &[], 0, None), page_of_run("run", &[], 0, None)];
    assert!(nothing.iter().all(|text| !text.contains("between two cases")), "{nothing:?}");
}

#[test]
fn side_by_side_marks_first_difference() {
    let (left, right) = (blessed(), Timeline::from_recording(&recording(13)));
    let (left, right) =
        (TitledTimeline { title: "upstream", timeline: &left }, TitledTimeline { title: "ours", timeline: &right });
    assert_snapshot!(side_by_side(left, right, 120, false), @"
    upstream                                                     ours
    ───────────────────────────────────────────────────────────┬───────────────────────────────────────────────────────────
    given   deployment/web                                     │ given   deployment/web
            rs1 created 10  revision=1                         │         rs1 created 10  revision=1
            web revision=1                                     │         web revision=1
          = rs1 10/10 ready=10 available=10 revision=1 pods=0  │       = rs1 10/10 ready=10 available=10 revision=1 pods=0
          = web 10 updated=10 ready=10 available=10            │       = web 10 updated=10 ready=10 available=10
              generation=1/1 revision=1                        │           generation=1/1 revision=1
              Available=True(MinimumReplicasAvailable)         │           Available=True(MinimumReplicasAvailable)
              Progressing=True(NewReplicaSetAvailable)         │           Progressing=True(NewReplicaSetAvailable)
    step 1  scale 12                                           │ step 1  scale 12
                                              first difference ▼
            rs1 10 -> 12                                       ≠         rs1 10 -> 13
          = rs1 12/10 ready=10 available=10 revision=1 pods=0  ≠       = rs1 13/10 ready=10 available=10 revision=1 pods=0
          = web 0 updated=0 ready=0 available=0 generation=0/1 │       = web 0 updated=0 ready=0 available=0 generation=0/1
              revision=1                                       │           revision=1
    step 2.1  ready 1                                          │ step 2.1  ready 1
          = rs1 12/11 ready=11 available=11 revision=1 pods=0  ≠       = rs1 13/11 ready=11 available=11 revision=1 pods=0
          = web 0 updated=0 ready=0 available=0 generation=0/1 │       = web 0 updated=0 ready=0 available=0 generation=0/1
              revision=1                                       │           revision=1
    events  none                                               │ events  none
    ");
    let narrow = side_by_side(left, right, 80, false);
    assert!(narrow.contains("▼ first difference\n-         rs1 10 -> 12\n+         rs1 10 -> 13\n"), "{narrow}");
    assert!(side_by_side(left, left, 80, false).ends_with("no difference\n"));
}

#[test]
fn side_by_side_fits_width() {
    let timeline = blessed();
    let side = TitledTimeline { title: "upstream", timeline: &timeline };
    for width in [120, 121, 150, 200, 300] {
        let text = side_by_side(side, side, width, false);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
    }
}

#[test]
fn json_is_one_object_on_one_line() {
    let line = as_json(&wrong());
    assert!(!line.contains('\n'));
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["verdict"], "non-conformant");
    assert_eq!(value["findings"][0]["place"], "step 1");
    assert_eq!(value["findings"][0]["line"], 5);
    assert_eq!(value["findings"][0]["message"], "rs1 10 -> 13 instead of rs1 10 -> 12");
}

#[test]
fn colour_is_used_only_on_request() {
    assert!(!failure(&wrong(), &rerun(), false).contains('\u{1b}'));
    assert!(failure(&wrong(), &rerun(), true).contains('\u{1b}'));
}

#[test]
fn failure_lists_refused_requests() {
    let builder = RecordingBuilder::rolled_out(10).user_step(1, "scale 12").request("update", "replicasets", 403);
    let builder = builder
        .refused_request("get", "leases", "there")
        .refused_request("get", "leases", "there")
        .refused_request("list", "pods", "");
    let judgement = judge(&builder.unsettled(Blame::Subject, "nothing was done").aborted(), Some(&blessed()));
    let text = failure(&judgement, &rerun(), false);
    let line = "  the API server refused the subject (401, 403): get leases in there (2×), list pods in all namespaces (1×), \
                update replicasets (1×)\n";
    assert!(text.contains(line), "{text}");
    let metrics = &serde_json::from_str::<Value>(&as_json(&judgement)).unwrap()["metrics"];
    assert_eq!(metrics["refused"]["get leases in there"], 2);
    // Requests that are not about the case are not in its metrics.
    assert_eq!((&metrics["requests"], &metrics["errors"]), (&json!({"update": 5}), &json!(1)));
}

#[test]
fn reports_name_definitions_whose_rules_were_not_evaluated() {
    let mut recording = recording(13);
    recording.header.unevaluated = vec!["things.example.com".to_owned()];
    let judgement = judge(&recording, Some(&blessed()));
    let text = failure(&judgement, &rerun(), false);
    assert!(text.contains("accepts objects that break those of things.example.com\n"), "{text}");
    let json = serde_json::from_str::<Value>(&as_json(&judgement)).unwrap();
    assert_eq!(json["unevaluated"], json!(["things.example.com"]));
}

/// Every text of a recording may be hostile: none may act on a terminal, in a CI job or on a page.
#[test]
fn hostile_texts_of_recording_are_harmless_in_reports() {
    const EVIL: &str = "\u{1b}[2J\u{9b}31m\u{202e}\n::error file=x::<script>##[error]";
    let name = |size| {
        let named = owned_set(&with_patch(&web(), &json!({"metadata": {"name": EVIL}})), EVIL, EVIL, 10);
        scaled(&with_patch(&named, &json!({"metadata": {"annotations": {EVIL: EVIL}}})), size)
    };
    let builder =
        RecordingBuilder::rolled_out(10).user_step(1, EVIL).driver_write(&scaled(&web(), 12)).subject_write(&name(13));
    let builder = builder.injection(EVIL).refused_request(EVIL, EVIL, EVIL).subject_write(&event("e", EVIL, EVIL, 1));
    let mut recording = builder.trouble(Blame::Subject, EVIL).aborted();
    let header = &mut recording.header;
    header.source = format!("{EVIL}\n").repeat(9);
    for text in [&mut header.case, &mut header.path, &mut header.subject.name, &mut header.cluster.version] {
        EVIL.clone_into(text);
    }
    let judgement = judge(&recording, Some(&blessed()));
    let side = |timeline| TitledTimeline { title: "x", timeline };
    let none = RerunCommands::default();
    let frames = lockstep_verdict::series::RecordingTrace::of(&recording);
    let shown = [
        failure(&judgement, &none, false),
        headline(&judgement),
        as_json(&judgement),
        judgement.timeline.to_string(),
        side_by_side(side(&judgement.timeline), side(&blessed()), 160, false),
        table(std::slice::from_ref(&judgement), false),
        github::case_annotation(&judgement, &none).unwrap(),
        super::page::page(
            "x",
            &[super::page::CaseSection {
                judgement: &judgement,
                expected: None,
                rerun: &none,
                took: None,
                frames: Some(&frames),
            }],
        ),
        junit(&[TimedJudgement { judgement: &judgement, rerun: &none, took: Duration::ZERO }], 0, None),
    ];
    for text in shown {
        let acts = |letter| lockstep_support::sanitize::is_unprintable(letter) && !matches!(letter, '\n' | '\t');
        assert!(!text.contains(acts), "{text:?}");
        let commands = text.lines().filter(|line| line.trim().starts_with("::")).count();
        // The annotation itself is one command.
        assert_eq!(commands, usize::from(text.starts_with("::error file=")), "{text}");
    }
}

/// Without a golden timeline a subject is never reported as conformant.
#[test]
fn every_report_calls_unblessed_case_unblessed() {
    let mut changed = blessed();
    changed.case = Some("0123456789abcdef".to_owned());
    for (judgement, why) in [
        (judge(&recording(12), None), "it has no golden timeline"),
        (judge(&recording(12), Some(&changed)), "the case has changed since it was blessed"),
    ] {
        let rerun = rerun();
        let xml = junit(&[TimedJudgement { judgement: &judgement, rerun: &rerun, took: Duration::ZERO }], 0, None);
        assert!(xml.contains(&format!("<error message=\"unblessed: {why}\" type=\"unblessed\">")), "{xml}");
        let value: Value = serde_json::from_str(&as_json(&judgement)).unwrap();
        assert_eq!((&value["verdict"], &value["outcome"]), (&json!("unblessed"), &json!("unblessed")));
        let judged = github::JudgedCase { judgement: &judgement, rerun: &rerun };
        let page = github::job_summary(1, &[judged], 0, None);
        assert!(page.contains("1 of 2 not conformant") && page.contains("| ours | unblessed |"), "{page}");
        let note = github::case_annotation(&judgement, &rerun).unwrap();
        assert!(note.contains(&format!("rolling/x%3A unblessed%3A {why}")), "{note}");
        for said in [xml, value.to_string(), page, note, list_not_conformant([&judgement], false)] {
            assert!(!said.replace("not conformant", "").contains("conformant"), "{said}");
        }
    }
}

#[test]
fn run_ends_with_list_of_not_conformant_cases() {
    let good = judge(&recording(12), Some(&blessed()));
    let all = [wrong(), good.clone(), judge(&recording(12), None), wrong()];
    assert_snapshot!(list_not_conformant(&all, false), @r"
    not conformant:
      non-conformant  rolling/x: step 1 (scale 12): rs1 10 -> 13 instead of rs1 10 -> 12 (2×)
      unblessed       rolling/x: it has no golden timeline
    ");
    assert_eq!(list_not_conformant([&good], false), "");
}

#[test]
fn failures_that_differ_only_in_numbers_have_no_common_cause() {
    let of = |number: usize| Judgement { case: format!("rolling/{number}"), ..wrong() };
    let all: Vec<Judgement> = (0..5).map(of).collect();
    assert_eq!(common_causes(&all), "");
}

#[rstest]
#[case::that_hold("rules: {always: [\"replicaSets[0].spec.replicas <= 12\"]}\n", RunOutcome::Conformant, "")]
#[case::that_do_not(
    "rules: {always: [\"replicaSets[0].spec.replicas <= 11\"]}\n",
    RunOutcome::NonConformant,
    "step 1 (scale 12): rule `always:"
)]
#[case::that_cannot_be_evaluated(
    "rules: {finally: [\"deployment.metadata.labels['tier'] == 'front'\"]}\n",
    RunOutcome::BadInput,
    "cannot be evaluated once it had settled: No such key: tier"
)]
#[case::that_cannot_be_evaluated_and_one_that_does_not_hold(
    "rules: {finally: [\"deployment.metadata.labels['tier'] == 'front'\", \"replicaSets.size() == 9\"]}\n",
    RunOutcome::NonConformant,
    "replicaSets.size() == 9"
)]
fn rules_are_judged_beside_a_timeline(#[case] rules: &str, #[case] outcome: RunOutcome, #[case] expected: &str) {
    let judgement = judge(&of_case(rules, recording(12)), Some(&blessed()));
    let message = headline(&judgement);
    assert_eq!(judgement.outcome(), outcome, "{message}");
    assert!(message.contains(expected), "{message}");
}

/// The report of a subject that did nothing, with this diagnosis.
fn idle(builder: RecordingBuilder, diagnosis: Diagnosis) -> String {
    let mut recording = builder.unsettled(Blame::Subject, "did nothing: web has no ReplicaSet").aborted();
    if let Some(end) = &mut recording.end {
        end.diagnosis = Some(diagnosis);
    }
    let judgement = judge(&recording, Some(&blessed()));
    let lines: Value = serde_json::from_str(&as_json(&judgement)).unwrap();
    assert!(lines["diagnosis"]["requests"].is_u64() && lines["metrics"]["refusals"].is_array());
    failure(&judgement, &rerun(), false)
}

#[test]
fn failure_shows_requests_refusals_and_output() {
    let asks = |builder: RecordingBuilder| {
        builder.request("create", "replicasets", 422).with_message("spec.selector: \u{1b}Required value")
    };
    let builder = (0..3).fold(RecordingBuilder::rolled_out(10).user_step(1, "scale 12"), |builder, _| asks(builder));
    let output = Some(vec!["Traceback".to_owned(), "ValueError: \u{7}".to_owned()]);
    let said = idle(
        builder.request("get", "deployments", 200),
        Diagnosis { requests: 9, connections: 1, output, ..Diagnosis::default() },
    );
    let lines = [
        "  its requests about this case: create 422 (3×); get 200; update 200 (4×)",
        "  the API server refused, the latest last:",
        r"    422 create replicasets x (3×): spec.selector: \x1bRequired value",
        "  it printed:",
        "    | Traceback",
        r"    | ValueError: \x07",
    ];
    assert!(said.contains(&lines.join("\n")), "{said}");
}

#[test]
fn failure_explains_missing_requests() {
    let builder = || {
        RecordingBuilder::new()
            .given("deployment/web")
            .driver_write(&deployment("web", 10, "app:1"))
            .user_step(1, "scale 12")
    };
    let said = |diagnosis| idle(builder(), diagnosis);
    let none = said(Diagnosis { output: Some(Vec::new()), ..Diagnosis::default() });
    assert!(none.contains("never made a single request, and opened no connection: does it read $KUBECONFIG"), "{none}");
    assert!(none.contains("it printed nothing since it was started"), "{none}");
    let handshake = Some("received fatal alert: UnknownCA".to_owned());
    let unsecured = said(Diagnosis { connections: 7, unsecured: 7, handshake, ..Diagnosis::default() });
    let why = "7 of its 7 connections broke off in the TLS handshake, last with \"received fatal alert: UnknownCA\"";
    assert!(unsecured.contains(why) && unsecured.contains("does it trust the CA of its kubeconfig"), "{unsecured}");
    let silent = said(Diagnosis { connections: 2, ..Diagnosis::default() });
    assert!(silent.contains("never made a single request on its 2 connections: does it speak HTTP?"), "{silent}");
    let elsewhere = said(Diagnosis { requests: 5, connections: 1, ..Diagnosis::default() });
    assert!(elsewhere.contains("no request about this case's namespace, and 5 about others or all"), "{elsewhere}");
}
