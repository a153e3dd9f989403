//! Runs of like sub-steps, for people: `step 2.4–2.249  ready 1 each: rs1 -1, rs2 +1`.
//!
//! Two sub-steps are alike if one follows the other, both are called the same, and the same was
//! done to the same objects in the same order, a resize by the same number of pods. Only what is
//! shown is folded: files and comparisons have every sub-step.

use std::sync::Arc;

use super::model::{Action, Decision, Field, State, Step, Timeline};
use super::text::{Block, is_long, written};

/// As many sub-steps as make a run; fewer are shown one by one.
const FEWEST: usize = 4;

/// Steps in a row: a run of at least `FEWEST` like sub-steps, or a single step.
pub fn runs(steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    steps.chunk_by(alike).flat_map(|chunk| {
        let size = if chunk.len() < FEWEST { 1 } else { chunk.len() };
        chunk.chunks(size)
    })
}

/// The line that opens a run: `step 2.4–2.249  ready 1 each: rs1 -1, rs2 +1`; of a single step its
/// own.
#[must_use]
pub fn heading(run: &[Step]) -> String {
    match run {
        [] => String::new(),
        [one] => one.heading(),
        [first, .., last] => {
            let joined = if first.joined { super::text::JOINED } else { "" };
            format!("{}–{}.{}  {}{joined}", first.id, last.id.index, last.id.part, each(first))
        }
    }
}

/// What each step of a run is and does: `ready 1 each: rs1 -1, rs2 +1`.
#[must_use]
pub fn each(first: &Step) -> String {
    let done: Vec<String> = first.decisions.iter().map(change).collect();
    let done = if done.is_empty() { "nothing is decided".to_owned() } else { done.join(", ") };
    format!("{} each: {done}", first.label)
}

/// A timeline as text for people: a run is one block, with the states that it leaves.
#[derive(Debug)]
pub struct Shown {
    /// The text, without the lines that only a file needs.
    pub text: String,
    /// Whether states that a step leaves as they were are left out, because there are very many.
    pub left_out: bool,
}

impl Shown {
    /// Of this timeline.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Self {
        let left_out = is_long(runs(&timeline.steps).map(states));
        let blocks = runs(&timeline.steps).map(|run| Block {
            heading: heading(run),
            happened: if let [one] = run { one.lines_without_states().collect() } else { Vec::new() },
            states: states(run),
        });
        Self { text: written(blocks, left_out) + &timeline.events.to_string(), left_out }
    }
}

/// The states that a run leaves.
fn states(run: &[Step]) -> &[Arc<State>] {
    run.last().map_or(&[], |last| &last.checkpoint)
}

/// Whether the second continues a run of the first.
fn alike(a: &Step, b: &Step) -> bool {
    let follows = a.id.index == b.id.index && a.id.part > 0 && a.id.part + 1 == b.id.part;
    let is_plain = |step: &Step| step.meetings.is_empty() && step.breaches.is_empty();
    follows
        && a.label == b.label
        && a.joined == b.joined
        && is_plain(a)
        && is_plain(b)
        && a.decisions.len() == b.decisions.len()
        && a.decisions.iter().map(shape).eq(b.decisions.iter().map(shape))
}

/// What two like decisions have in common.
fn shape(decision: &Decision) -> (&str, Result<i64, Action>, &[Field]) {
    let action = match decision.action {
        Action::Resized { from, to } => Ok(i64::from(to) - i64::from(from)),
        other => Err(other),
    };
    (&decision.object, action, &decision.details)
}

/// `rs1 -1`; of another decision all of it.
fn change(decision: &Decision) -> String {
    let details: String = decision.details.iter().map(|field| format!(" {field}")).collect();
    match shape(decision).1 {
        Ok(by) => format!("{} {by:+}{details}", decision.object),
        Err(_) => decision.to_string().replace("  ", " "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Timeline;
    use super::*;

    /// A rollout of sub-steps, some of which are alike.
    fn timeline() -> Timeline {
        let mut text =
            "given   deployment/web\n      = web 9 updated=9\nstep 1  set image=app:2\n        rs2 created 2\n"
                .to_owned();
        for part in 1..=8 {
            text += &format!("step 2.{part}  ready 1\n");
            // The seventh is another one.
            let by = if part == 7 { 2 } else { 1 };
            text += &format!("        rs1 {} -> {}\n        rs2 {part} -> {}\n", 20 - part, 20 - part - by, part + by);
            text += &format!("      = rs1 {}/0 ready=0\n", 20 - part - by);
        }
        Timeline::parse(&(text + "events  none\n")).unwrap()
    }

    #[test]
    fn like_sub_steps_are_one_line_and_the_rest_stay() {
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
        let all: Vec<&Step> = runs(&timeline.steps).flatten().collect();
        assert_eq!(all, timeline.steps.iter().collect::<Vec<_>>(), "nothing is lost");
    }

    #[test]
    fn a_run_is_shown_with_what_it_leaves() {
        let Shown { text, left_out } = Shown::of(&timeline());
        let expected = "given   deployment/web\n      = web 9 updated=9\nstep 1  set image=app:2\n        rs2 created 2\n\
            step 2.1–2.6  ready 1 each: rs1 -1, rs2 +1\n      = rs1 13/0 ready=0\n\
            step 2.7  ready 1\n        rs1 13 -> 11\n        rs2 7 -> 9\n      = rs1 11/0 ready=0\n\
            step 2.8  ready 1\n        rs1 12 -> 11\n        rs2 8 -> 9\n      = rs1 11/0 ready=0\nevents  none\n";
        assert_eq!((text.as_str(), left_out), (expected, false));
    }

    #[test]
    fn a_sub_step_with_a_breach_stands_alone() {
        let mut timeline = timeline();
        timeline.steps[4].meetings.push("held".to_owned());
        assert!(runs(&timeline.steps).all(|run| run.len() == 1));
    }
}
