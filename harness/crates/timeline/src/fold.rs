//! Collapses runs of similar sub-steps for display: `step 2.4–2.249  ready 1 each: rs1 -1, rs2 +1`.
//!
//! Two sub-steps are similar if one follows the other, both have the same label, and their
//! decisions are the same for the same objects in the same order, resizes by the same number of
//! pods. This affects display only: files and comparisons have every sub-step.

use std::sync::Arc;

use super::model::{Decision, DecisionAction, KeyValue, State, Timeline, TimelineStep};
use super::text::{TextBlock, is_long, render_blocks};

/// The smallest number of sub-steps that are collapsed.
const MIN_RUN: usize = 4;

/// Splits steps into runs: at least `MIN_RUN` similar sub-steps, or a single step.
pub fn runs(steps: &[TimelineStep]) -> impl Iterator<Item = &[TimelineStep]> {
    steps.chunk_by(continues_run).flat_map(|chunk| {
        let size = if chunk.len() < MIN_RUN { 1 } else { chunk.len() };
        chunk.chunks(size)
    })
}

/// The heading of a run: `step 2.4–2.249  ready 1 each: rs1 -1, rs2 +1`; a single step has its own
/// heading.
#[must_use]
pub fn heading(run: &[TimelineStep]) -> String {
    match run {
        [] => String::new(),
        [one] => one.heading(),
        [first, .., last] => {
            let joined = if first.joined { super::text::JOINED } else { "" };
            format!("{}–{}.{}  {}{joined}", first.id, last.id.index, last.id.part, summarize(first))
        }
    }
}

/// Summarizes each step of a run: `ready 1 each: rs1 -1, rs2 +1`.
#[must_use]
pub(crate) fn summarize(first: &TimelineStep) -> String {
    let done: Vec<String> = first.decisions.iter().map(describe_change).collect();
    let done = if done.is_empty() { "nothing is decided".to_owned() } else { done.join(", ") };
    format!("{} each: {done}", first.label)
}

/// A timeline as text for display: a run is one block, with the states after it.
#[derive(Debug)]
pub struct TimelineText {
    /// The text, without the lines that only a file needs.
    pub text: String,
    /// Whether unchanged states are omitted because there are very many.
    pub is_abridged: bool,
}

impl TimelineText {
    /// The text of this timeline.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Self {
        let left_out = is_long(runs(&timeline.steps).map(states));
        let blocks = runs(&timeline.steps).map(|run| TextBlock {
            heading: heading(run),
            lines: if let [one] = run { one.lines_without_states().collect() } else { Vec::new() },
            states: states(run),
        });
        Self { text: render_blocks(blocks, left_out) + &timeline.events.to_string(), is_abridged: left_out }
    }
}

/// The states after a run.
fn states(run: &[TimelineStep]) -> &[Arc<State>] {
    run.last().map_or(&[], |last| &last.checkpoint)
}

/// Whether the second step continues a run of the first.
fn continues_run(a: &TimelineStep, b: &TimelineStep) -> bool {
    let follows = a.id.index == b.id.index && a.id.part > 0 && a.id.part + 1 == b.id.part;
    let is_plain = |step: &TimelineStep| step.injections.is_empty() && step.breaches.is_empty();
    follows
        && a.label == b.label
        && a.joined == b.joined
        && is_plain(a)
        && is_plain(b)
        && a.decisions.len() == b.decisions.len()
        && a.decisions.iter().map(decision_shape).eq(b.decisions.iter().map(decision_shape))
}

/// What two similar decisions have in common.
fn decision_shape(decision: &Decision) -> (&str, Result<i64, DecisionAction>, &[KeyValue]) {
    let action = match decision.action {
        DecisionAction::Resized { from, to } => Ok(i64::from(to) - i64::from(from)),
        other => Err(other),
    };
    (&decision.object, action, &decision.details)
}

/// `rs1 -1`; other decisions in full.
fn describe_change(decision: &Decision) -> String {
    let details: String = decision.details.iter().map(|field| format!(" {field}")).collect();
    match decision_shape(decision).1 {
        Ok(by) => format!("{} {by:+}{details}", decision.object),
        Err(_) => decision.to_string().replace("  ", " "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Timeline;
    use super::*;

    /// A rollout in sub-steps, some of which are similar.
    fn timeline() -> Timeline {
        let mut text =
            "given   deployment/web\n      = web 9 updated=9\nstep 1  set image=app:2\n        rs2 created 2\n"
                .to_owned();
        for part in 1..=8 {
            text += &format!("step 2.{part}  ready 1\n");
            // The seventh sub-step differs.
            let by = if part == 7 { 2 } else { 1 };
            text += &format!("        rs1 {} -> {}\n        rs2 {part} -> {}\n", 20 - part, 20 - part - by, part + by);
            text += &format!("      = rs1 {}/0 ready=0\n", 20 - part - by);
        }
        Timeline::parse(&(text + "events  none\n")).unwrap()
    }

    #[test]
    fn similar_sub_steps_become_one_line() {
        let timeline = timeline();
        let headings: Vec<String> = runs(&timeline.steps).map(heading).collect();
        assert_eq!(
            headings,
            [
                "given   deployment/web",
                "step 1  set image=app:2",
                "step 2.1–2.6  ready 1 each: rs1 -1, rs2 +1",
                "step 2.7  ready 1",
                "step 2.8  ready 1"
            ]
        );
        let all: Vec<&TimelineStep> = runs(&timeline.steps).flatten().collect();
        assert_eq!(all, timeline.steps.iter().collect::<Vec<_>>(), "nothing is lost");
    }

    #[test]
    fn run_is_shown_with_states_after_it() {
        let TimelineText { text, is_abridged: left_out } = TimelineText::of(&timeline());
        let expected = "given   deployment/web\n      = web 9 updated=9\nstep 1  set image=app:2\n        rs2 created 2\n\
            step 2.1–2.6  ready 1 each: rs1 -1, rs2 +1\n      = rs1 13/0 ready=0\n\
            step 2.7  ready 1\n        rs1 13 -> 11\n        rs2 7 -> 9\n      = rs1 11/0 ready=0\n\
            step 2.8  ready 1\n        rs1 12 -> 11\n        rs2 8 -> 9\n      = rs1 11/0 ready=0\nevents  none\n";
        assert_eq!((text.as_str(), left_out), (expected, false));
    }

    #[test]
    fn sub_step_with_breach_is_not_collapsed() {
        let mut timeline = timeline();
        timeline.steps[4].injections.push("held".to_owned());
        assert!(runs(&timeline.steps).all(|run| run.len() == 1));
    }
}
