//! Tests whether two timelines are the same, and whether several recordings make one.

use lockstep_recording::testing::{RecordingBuilder, SOURCE, event};
use lockstep_recording::{Blame, Recording, RecordingEnd};
use lockstep_timeline::{StepId, Timeline, TimelineLine};
use rstest::rstest;

use super::{blessed, builder, timeline};
use crate::compare::{Difference, difference};
use crate::testing::{judge, judge_live};
use crate::{TimelineLocation, Verdict, agree, compare, compare_live};

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
