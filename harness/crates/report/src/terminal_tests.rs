//! Tests of reports as terminals of 80, 120 and 200 columns show them.

use std::time::Duration;

use insta::assert_snapshot;
use lockstep_recording::Blame;
use lockstep_recording::testing::RecordingBuilder;
use lockstep_timeline::Timeline;
use lockstep_verdict::Judgement;
use lockstep_verdict::testing::judge;

use super::tests::{blessed, recording, rerun, wrong};
use super::{TitledTimeline, common_causes, failure, list_not_conformant, side_by_side, summary, wrap};

/// Compare what a terminal shows with the snapshot of each width. No line is wider, but for the
/// commands to copy.
fn assert_shown(name: &str, shown: impl Fn(usize) -> String) {
    for width in [80, 120, 200] {
        let text = shown(width);
        let is_command = |line: &str| ["why:", "repeat:"].iter().any(|word| line.trim_start().starts_with(word));
        let too_wide = text.lines().find(|line| line.chars().count() > width && !is_command(line));
        assert_eq!(too_wide, None, "at {width} columns");
        assert_snapshot!(format!("{name}_at_{width}"), text);
    }
}

/// Both timelines, as `run` shows those of a single case.
fn timelines(actual: &Timeline, width: usize) -> String {
    let expected = blessed();
    let left = TitledTimeline { title: "upstream, recorded (kube-controller-manager v1.36.3)", timeline: &expected };
    let right = TitledTimeline { title: "ours (rollout-controller 0.1.0)", timeline: actual };
    side_by_side(left, right, width, false)
}

#[test]
fn green_case_is_shown_once() {
    assert_shown("green_case", |width| timelines(&Timeline::from_recording(&recording(12)), width));
}

#[test]
fn red_case_has_both_timelines_and_first_difference() {
    assert_shown("red_case", |width| {
        let report = wrap(&failure(&wrong(), &rerun(), false), Some(width));
        format!("{}\n{report}", timelines(&wrong().timeline, width))
    });
}

#[test]
fn broken_invariant_heads_report() {
    let judgement = judge(&recording(20), Some(&blessed()));
    assert_shown("broken_invariant", |width| wrap(&failure(&judgement, &rerun(), false), Some(width)));
}

#[test]
fn inconclusive_case_names_test_environment() {
    let builder = RecordingBuilder::rolled_out(10).user_step(1, "scale 12");
    let why = "the API server went away, and was not back when the budget of 20 s for this step had passed";
    let judgement = judge(&builder.trouble(Blame::Environment, why).aborted(), Some(&blessed()));
    assert_shown("inconclusive_case", |width| wrap(&failure(&judgement, &rerun(), false), Some(width)));
}

#[test]
fn summary_of_collection_lists_failures_and_causes() {
    let named = |name: &str, judgement: &Judgement| Judgement { case: name.to_owned(), ..judgement.clone() };
    let broken = judge(&recording(20), Some(&blessed()));
    let mut all: Vec<Judgement> =
        (0..5).map(|number| named(&format!("rolling/surge-{number}-of-a-percentage"), &broken)).collect();
    all.extend([named("scale/up", &wrong()), judge(&recording(12), Some(&blessed())), judge(&recording(12), None)]);
    let outcomes: Vec<_> = all.iter().map(Judgement::outcome).collect();
    assert_shown("collection", |width| {
        let last = summary(&outcomes, 0, Duration::from_millis(3_210), false);
        let (list, causes) = (list_not_conformant(&all, false), common_causes(&all));
        wrap(&format!("{last}\n{list}\n{causes}\n"), Some(width))
    });
}
