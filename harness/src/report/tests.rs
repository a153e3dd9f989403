//! Reports as readers see them.

mod conduct;

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::junit::{Played, junit};
use super::{
    Again, Side, causes, failure, github, json as as_json, not_conformant, side_by_side, summary, table, totals,
};
use crate::outcome::Outcome;
use crate::recording::{Blame, Diagnosis, Recording};
use crate::timeline::fixture::{Film, deployment, event, owned_set, ready, revision, scaled, with};
use crate::timeline::{Provenance, Timeline};
use crate::verdict::Judgement;
use crate::verdict::fixture::judge;

fn again() -> Again {
    let repeat = "lockstep run cases/rolling/x.yaml --subject ours".to_owned();
    Again { program: "lockstep".to_owned(), repeat }
}

fn web() -> Value {
    with(&deployment("web", 10, "app:1"), &revision(1))
}

/// A scale-up to 12 in which rs1 is given this size.
fn recording(size: i32) -> Recording {
    let set = with(&owned_set(&web(), "1", "app:1", 10), &json!({"status": ready(10)}));
    Film::rolled_out(10)
        .user(1, "scale 12")
        .driver(&scaled(&web(), 12))
        .other(&scaled(&set, size))
        .settled()
        .node(2, 1, "ready 1")
        .other(&with(&scaled(&set, size), &json!({"status": ready(11)})))
        .settled()
        .end()
}

fn blessed() -> Timeline {
    let text = |text: &str| text.to_owned();
    Timeline::from_recording(&recording(12)).with_provenance(Provenance {
        name: text("upstream"),
        controller: text("kube-controller-manager v1.36.3"),
        server: text("kube-apiserver v1.36.3"),
        recordings: 5,
        seen: None,
        boots: 2,
    })
}

fn wrong() -> Judgement {
    judge(&recording(13), Some(&blessed()))
}

#[test]
fn a_failure_shows_the_first_wrong_step() {
    assert_snapshot!(failure(&wrong(), &again(), false), @r#"
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
fn a_broken_lab_is_named() {
    let film = Film::rolled_out(10).user(1, "scale 12").trouble(Blame::Environment, "the API server went away");
    assert_snapshot!(failure(&judge(&film.aborted(), Some(&blessed())), &again(), false), @r#"
    INCONCLUSIVE  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      step 1  scale 12
      cases/rolling/x.yaml:5  |    - scale: 12

      the test environment failed: the API server went away

      repeat: lockstep run cases/rolling/x.yaml --subject ours
    "#);
}

#[test]
fn a_broken_invariant_is_explained() {
    assert_snapshot!(failure(&judge(&recording(20), None), &again(), false), @r#"
    NON-CONFORMANT  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      step 1  scale 12
      cases/rolling/x.yaml:5  |    - scale: 12

      invariant `surge` broken: web wants 20 pods in all, at most 15 allowed
      the invariant: all ReplicaSets together want at most replicas + maxSurge pods

              rs1 10 -> 20
            ! surge: web wants 20 pods in all, at most 15 allowed
            = rs1 20/10 ready=10 available=10 revision=1 pods=0
            = web 0 updated=0 ready=0 available=0 generation=0/1 revision=1

      why:    lockstep explain cases/rolling/x.yaml
      repeat: lockstep run cases/rolling/x.yaml --subject ours
    "#);
}

#[test]
fn an_unblessed_case_says_what_to_do() {
    assert_snapshot!(failure(&judge(&recording(12), None), &again(), false), @"
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

      repeat: lockstep run cases/rolling/x.yaml --subject ours
    ");
}

#[test]
fn a_changed_case_says_what_to_do() {
    let mut blessed = blessed();
    blessed.case = Some("0123456789abcdef".to_owned());
    assert_snapshot!(failure(&judge(&recording(12), Some(&blessed)), &again(), false), @"
    CHANGED  rolling/x  ours (rollout-controller 0.1.0) on control-plane (kube-apiserver v1.36.3)

      the case has changed since it was blessed; bless it again
      record it from upstream: lockstep bless cases/rolling/x.yaml

      repeat: lockstep run cases/rolling/x.yaml --subject ours
    ");
}

#[test]
fn a_table_has_a_row_a_case_and_a_column_a_subject() {
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
fn totals_count_areas_and_requests_for_each_subject() {
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
fn a_summary_counts_outcomes() {
    let took = Duration::from_millis(3210);
    let outcomes = [Outcome::Conformant, Outcome::Conformant, Outcome::NonConformant];
    assert_eq!(summary(&outcomes, took, false), "3 cases in 3.2 s: 2 conformant, 1 non-conformant");
    assert_eq!(summary(&[], took, false), "no case selected");
}

#[test]
fn two_columns_mark_the_first_difference() {
    let (left, right) = (blessed(), Timeline::from_recording(&recording(13)));
    let (left, right) = (Side { title: "upstream", timeline: &left }, Side { title: "ours", timeline: &right });
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
fn columns_fit_the_width() {
    let timeline = blessed();
    let side = Side { title: "upstream", timeline: &timeline };
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
fn colour_comes_only_when_asked_for() {
    assert!(!failure(&wrong(), &again(), false).contains('\u{1b}'));
    assert!(failure(&wrong(), &again(), true).contains('\u{1b}'));
}

#[test]
fn what_the_server_refused_is_told() {
    let film = Film::rolled_out(10).user(1, "scale 12").request("update", "replicasets", 403);
    let film = film.refused("get", "leases", "there").refused("get", "leases", "there").refused("list", "pods", "");
    let judgement = judge(&film.unsettled(Blame::Subject, "nothing was done").aborted(), Some(&blessed()));
    let told = failure(&judgement, &again(), false);
    let line = "  the API server refused the subject (401, 403): get leases in there (2×), list pods in all namespaces (1×), \
                update replicasets (1×)\n";
    assert!(told.contains(line), "{told}");
    let metrics = &serde_json::from_str::<Value>(&as_json(&judgement)).unwrap()["metrics"];
    assert_eq!(metrics["refused"]["get leases in there"], 2);
    // What is not about the case is none of its costs.
    assert_eq!((&metrics["requests"], &metrics["errors"]), (&json!({"update": 5}), &json!(1)));
}

#[test]
fn reports_name_definitions_whose_rules_were_not_evaluated() {
    let mut recording = recording(13);
    recording.header.unevaluated = vec!["things.example.com".to_owned()];
    let judgement = judge(&recording, Some(&blessed()));
    let text = failure(&judgement, &again(), false);
    assert!(text.contains("accepts objects that break those of things.example.com\n"), "{text}");
    let json = serde_json::from_str::<Value>(&as_json(&judgement)).unwrap();
    assert_eq!(json["unevaluated"], json!(["things.example.com"]));
}

/// Every text of a recording may be hostile: none of it acts on a terminal, in a job that reads
/// along, or on a page.
#[test]
fn nothing_in_a_recording_acts_where_it_is_shown() {
    const EVIL: &str = "\u{1b}[2J\u{9b}31m\u{202e}\n::error file=x::<script>##[error]";
    let name = |size| {
        let named = owned_set(&with(&web(), &json!({"metadata": {"name": EVIL}})), EVIL, EVIL, 10);
        scaled(&with(&named, &json!({"metadata": {"annotations": {EVIL: EVIL}}})), size)
    };
    let film = Film::rolled_out(10).user(1, EVIL).driver(&scaled(&web(), 12)).other(&name(13));
    let film = film.met(EVIL).refused(EVIL, EVIL, EVIL).other(&event("e", EVIL, EVIL, 1));
    let mut recording = film.trouble(Blame::Subject, EVIL).aborted();
    let header = &mut recording.header;
    header.source = format!("{EVIL}\n").repeat(9);
    for text in [&mut header.case, &mut header.path, &mut header.subject.name, &mut header.cluster.version] {
        EVIL.clone_into(text);
    }
    let judgement = judge(&recording, Some(&blessed()));
    let side = |timeline| Side { title: "x", timeline };
    let none = Again::default();
    let frames = crate::course::Frames::of(&recording);
    let shown = [
        failure(&judgement, &none, false),
        super::headline(&judgement),
        as_json(&judgement),
        judgement.timeline.to_string(),
        side_by_side(side(&judgement.timeline), side(&blessed()), 160, false),
        table(std::slice::from_ref(&judgement), false),
        github::annotated(&judgement, &none).unwrap(),
        super::page::page(
            "x",
            &[super::page::Sheet {
                judgement: &judgement,
                expected: None,
                again: &none,
                took: None,
                frames: Some(&frames),
            }],
        ),
        junit(&[Played { judgement: &judgement, again: &none, took: Duration::ZERO }]),
    ];
    for text in shown {
        let acts = |letter| crate::plain::acts(letter) && !matches!(letter, '\n' | '\t');
        assert!(!text.contains(acts), "{text:?}");
        let commands = text.lines().filter(|line| line.trim().starts_with("::")).count();
        // The annotation itself is one.
        assert_eq!(commands, usize::from(text.starts_with("::error file=")), "{text}");
    }
}

/// A subject that did nothing wrong is not conformant as long as nothing says what is right.
#[test]
fn what_is_unblessed_is_called_so_everywhere() {
    let mut changed = blessed();
    changed.case = Some("0123456789abcdef".to_owned());
    for (judgement, why) in [
        (judge(&recording(12), None), "it has no golden timeline"),
        (judge(&recording(12), Some(&changed)), "the case has changed since it was blessed"),
    ] {
        let again = again();
        let xml = junit(&[Played { judgement: &judgement, again: &again, took: Duration::ZERO }]);
        assert!(xml.contains(&format!("<error message=\"unblessed: {why}\" type=\"unblessed\">")), "{xml}");
        let value: Value = serde_json::from_str(&as_json(&judgement)).unwrap();
        assert_eq!((&value["verdict"], &value["outcome"]), (&json!("unblessed"), &json!("unblessed")));
        let told = github::Told { judgement: &judgement, again: &again };
        let page = github::job_summary(1, &[told], None);
        assert!(page.contains("1 of 2 not conformant") && page.contains("| ours | unblessed |"), "{page}");
        let note = github::annotated(&judgement, &again).unwrap();
        assert!(note.contains(&format!("rolling/x%3A unblessed%3A {why}")), "{note}");
        for said in [xml, value.to_string(), page, note, not_conformant([&judgement], false)] {
            assert!(!said.replace("not conformant", "").contains("conformant"), "{said}");
        }
    }
}

#[test]
fn a_run_ends_with_what_was_not_conformant() {
    let good = judge(&recording(12), Some(&blessed()));
    let all = [wrong(), good.clone(), judge(&recording(12), None), wrong()];
    assert_snapshot!(not_conformant(&all, false), @r"
    not conformant:
      non-conformant  rolling/x: step 1 (scale 12): rs1 10 -> 13 instead of rs1 10 -> 12 (2×)
      unblessed       rolling/x: it has no golden timeline
    ");
    assert_eq!(not_conformant([&good], false), "");
}

#[test]
fn failures_that_differ_in_numbers_alone_have_nothing_in_common() {
    let of = |number: usize| Judgement { case: format!("rolling/{number}"), ..wrong() };
    let all: Vec<Judgement> = (0..5).map(of).collect();
    assert_eq!(causes(&all), "");
}
