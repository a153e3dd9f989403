//! Whether two timelines are the same, and whether several recordings make one.

use rstest::rstest;

use super::{blessed, film, timeline};
use crate::recording::{Blame, End, Recording};
use crate::timeline::fixture::{Film, SOURCE, event};
use crate::timeline::{Line, StepId, Timeline};
use crate::verdict::compare::{Difference, difference};
use crate::verdict::fixture::{judge, judge_live};
use crate::verdict::{Place, Verdict, agree, compare, compare_live};

#[test]
fn split_resizes_are_joined_only_where_upstream_splits_them() {
    let whole = film(&[8]).settled().end();
    let split = film(&[10, 8]).settled().end();
    let strict = compare(&timeline(&whole), &timeline(&split)).unwrap();
    assert_eq!(strict.first().unwrap().place, Place::Step(StepId { index: 2, part: 1 }));

    let agreed = agree(&[timeline(&whole), timeline(&split)]).unwrap();
    assert!(agreed.step(StepId { index: 2, part: 1 }).unwrap().joined);
    assert!(!agreed.step(StepId { index: 1, part: 0 }).unwrap().joined);
    for recording in [&whole, &split] {
        assert_eq!(judge(recording, Some(&agreed)).verdict, Verdict::Conformant);
    }
    let back_and_forth = film(&[7, 8]).settled().end();
    assert_eq!(judge(&back_and_forth, Some(&agreed)).verdict, Verdict::NonConformant);
}

#[test]
fn live_runs_note_what_is_only_split_differently() {
    let (whole, split) = (film(&[8]).settled().end(), film(&[10, 8]).settled().end());
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
fn a_difference_in_words(#[case] expected: &[&str], #[case] actual: &[&str], #[case] said: &str) {
    let lines = |all: &[&str]| all.iter().map(|line| Line::Heading((*line).to_owned())).collect();
    let (expected, actual, at) = difference(lines(expected), lines(actual)).unwrap();
    let (expected, actual) = (Some(expected), Some(actual));
    let difference = Difference { place: Place::Events, label: String::new(), expected, actual, at };
    assert_eq!(difference.to_string(), said);
}

#[rstest]
#[case::nothing(vec![], "no recording at all; record the case first")]
#[case::another_size(vec![vec![11], vec![11], vec![13]], "recordings 1 and 3 differ at step 2.1: rs1 12 -> 13 instead of rs1 12 -> 11")]
#[case::nothing_done(vec![vec![11], vec![]], "recordings 1 and 2 differ at step 2.1: = rs1 12/10 ready=10 available=10 revision=1 pods=0 instead of rs1 12 -> 11")]
fn disagreement_names_both(#[case] sizes: Vec<Vec<i32>>, #[case] expected: &str) {
    let timelines: Vec<Timeline> = sizes.iter().map(|sizes| timeline(&film(sizes).settled().end())).collect();
    assert_eq!(agree(&timelines).unwrap_err().to_string(), expected);
}

/// The same rollout, with these messages.
fn told(messages: &[&str]) -> Recording {
    let tell =
        |film: Film, (number, message): (usize, &&str)| film.other(&event(&format!("e{number}"), "web", message, 1));
    messages.iter().enumerate().fold(film(&[11]), tell).settled().end()
}

/// As if the test environment could not tell whether it had seen all Events.
fn perhaps_not_all(recording: Recording) -> Recording {
    let end = recording.end.map(|end| End { events_complete: false, ..end });
    Recording { end, ..recording }
}

const TEN: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

#[rstest]
#[case::the_same(told(&["a"]), told(&["a"]), true)]
#[case::another(told(&["a"]), told(&["b"]), false)]
#[case::one_more(told(&["a"]), told(&["a", "b"]), false)]
#[case::too_many_where_few_were_expected(told(&["a"]), told(&TEN), false)]
#[case::few_where_too_many_were_expected(told(&TEN), told(&["b"]), true)]
#[case::perhaps_not_all(told(&["a"]), perhaps_not_all(told(&["b"])), true)]
fn events_are_compared_where_all_are_known(#[case] expected: Recording, #[case] actual: Recording, #[case] same: bool) {
    let comparison = compare(&timeline(&expected), &timeline(&actual)).unwrap();
    assert_eq!(comparison.is_same(), same);
    assert_eq!(comparison.first().map(|first| first.place), (!same).then_some(Place::Events));
}

#[rstest]
#[case::words_of_each("v1.29.15", "v1.36.3", true)]
#[case::the_older_words_in_a_newer_version("v1.36.3", "v1.37.0", false)]
#[case::the_newer_words_in_an_older_version("v1.15.5", "v1.29.15", false)]
fn versions_are_compared_in_the_words_of_the_older(#[case] older: &str, #[case] newer: &str, #[case] same: bool) {
    let by = |version: &str, sizes: &str| {
        let mut recording = told(&[&format!("Scaled up replica set web-1 {sizes}")]);
        recording.header.subject.program = "kube-controller-manager".to_owned();
        recording.header.subject.version = version.to_owned();
        recording
    };
    let (one, two) = (by(older, "to 5 from 3"), by(newer, "from 3 to 5"));
    for (subject, other) in [(&one, &two), (&two, &one)] {
        assert_eq!(judge_live(subject, other).verdict == Verdict::Conformant, same);
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
    let (one, two) = (ruled(film(&[11]).settled().end()), ruled(film(sizes).settled().end()));
    let judgement = judge_live(&two, &one);
    assert_eq!((judgement.verdict, judgement.comparison), (verdict, None), "{:?}", judgement.findings);
}

#[test]
fn events_say_nothing_where_the_lab_broke() {
    let broke = film(&[11]).other(&event("e", "web", "a", 1)).unsettled(Blame::Environment, "probe").end();
    assert_eq!(judge(&broke, Some(&timeline(&told(&["b"])))).verdict, Verdict::Inconclusive);
    assert_eq!(judge_live(&told(&["b"]), &broke).verdict, Verdict::Inconclusive);
}

/// One went on for a step more; whichever comes first, it is that step.
#[test]
fn disagreement_on_how_many_steps_there_were() {
    let longer = timeline(&film(&[11]).settled().node(2, 2, "ready 1").settled().end());
    let expected = [
        "recordings 1 and 2 differ at step 2.2: the step was not expected",
        "recordings 1 and 2 differ at step 2.2: the step was never made",
    ];
    let said = |first: Timeline, other: Timeline| agree(&[first, other]).unwrap_err().to_string();
    assert_eq!([said(blessed(), longer.clone()), said(longer, blessed())], expected);
}

/// The first may lack some, so it is the others who disagree, and they are called by their places
/// among all.
#[test]
fn disagreement_on_events_names_both() {
    let timelines = [&perhaps_not_all(told(&["a"])), &told(&["a"]), &told(&["b"])].map(timeline);
    let said = agree(&timelines).unwrap_err().to_string();
    assert!(said.starts_with("recordings 2 and 3 differ at events: "), "{said}");
    assert_eq!(agree(&timelines[..2]).unwrap().events, timelines[1].events);
}

#[test]
fn recordings_that_are_the_same_agree() {
    assert_eq!(agree(&[blessed(), blessed(), blessed()]), Ok(blessed()));
}
