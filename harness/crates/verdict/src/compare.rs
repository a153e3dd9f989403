//! Finds the differences between two timelines.
//!
//! Steps are paired by id, and the decisions and the checkpoint of a step are compared line by
//! line. Lines are typed and printed as they are, so a reader sees exactly what was compared.
//! Broken invariants are left to `judge`: they are not part of an expectation.

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use lockstep_timeline::{KeyValue, State, StepId, Timeline, TimelineEvents, TimelineLine, TimelineStep};

/// The differences between two timelines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimelineComparison {
    /// All differences, in the order of the steps; Events last.
    pub differences: Vec<Difference>,
    /// Steps that are equal only after successive resizes of one ReplicaSet are joined. A note, not
    /// a difference.
    pub joined: Vec<StepId>,
    /// The first step whose label differs: the timelines are of two versions of the case.
    pub label_mismatch: Option<LabelMismatch>,
}

/// A step with different labels in the two timelines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelMismatch {
    /// The step, which both timelines have.
    pub step: StepId,
    /// Its label in the expected timeline.
    pub expected: String,
    /// Its label in the actual one.
    pub actual: String,
}

/// A step, or the Events, in which two timelines differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub place: TimelineLocation,
    /// The label of the step; empty for Events.
    pub label: String,
    /// All expected lines; `None` if the step was not expected.
    pub expected: Option<Vec<TimelineLine>>,
    /// All actual lines; `None` if the step was not performed.
    pub actual: Option<Vec<TimelineLine>>,
    /// The first line that differs, from 0; the number of lines of the shorter side if the longer
    /// one continues.
    pub at: usize,
}

/// A location in a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimelineLocation {
    /// A step; that of `given` has the index 0.
    Step(StepId),
    /// The Events at the end.
    Events,
}

/// Neither timeline has a decision: that two controllers did nothing proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither controller made a decision, so there is nothing to compare")]
pub struct BothIdle;

/// Compares with a golden timeline: resizes are joined in steps that are marked so.
///
/// # Errors
/// `BothIdle`.
pub fn compare(expected: &Timeline, actual: &Timeline) -> Result<TimelineComparison, BothIdle> {
    compare_by(expected, actual, |expected, actual, _| {
        let join = expected.joined;
        difference(lines(expected, join), lines(actual, join))
    })
}

/// Compares two live runs strictly; steps that differ only in how a resize is split are noted as
/// joined.
///
/// # Errors
/// `BothIdle`.
pub fn compare_live(expected: &Timeline, actual: &Timeline) -> Result<TimelineComparison, BothIdle> {
    compare_by(expected, actual, |expected, actual, joined| {
        let strict = difference(lines(expected, false), lines(actual, false))?;
        if difference(lines(expected, true), lines(actual, true)).is_some() {
            return Some(strict);
        }
        joined.push(expected.id);
        None
    })
}

/// The lines of both sides, and the index of the first that differs.
type Lines = (Vec<TimelineLine>, Vec<TimelineLine>, usize);

fn compare_by(
    expected: &Timeline,
    actual: &Timeline,
    differ: impl Fn(&TimelineStep, &TimelineStep, &mut Vec<StepId>) -> Option<Lines>,
) -> Result<TimelineComparison, BothIdle> {
    if expected.is_idle() && actual.is_idle() {
        return Err(BothIdle);
    }
    let mut comparison = TimelineComparison::default();
    let ids: BTreeSet<StepId> = expected.steps.iter().chain(&actual.steps).map(|step| step.id).collect();
    for id in ids {
        let whole = |step: &TimelineStep| Some(lines(step, false));
        let (label, sides) = match (expected.step(id), actual.step(id)) {
            (Some(expected), Some(actual)) => {
                comparison.note_label(expected, actual);
                let differs = differ(expected, actual, &mut comparison.joined);
                (&actual.label, differs.map(|(expected, actual, at)| (Some(expected), Some(actual), at)))
            }
            (Some(expected), None) => (&expected.label, Some((whole(expected), None, 0))),
            (None, Some(actual)) => (&actual.label, Some((None, whole(actual), 0))),
            (None, None) => continue,
        };
        comparison.differences.extend(sides.map(|(expected, actual, at)| Difference {
            place: TimelineLocation::Step(id),
            label: label.clone(),
            expected,
            actual,
            at,
        }));
    }
    comparison.differences.extend(events(&expected.events, &actual.events));
    // A ReplicaSet has its number from the whole play. One that is never adopted, where it should
    // be, differs in its name from the beginning on: the step that should adopt it comes first.
    let differs = |difference: &Difference| !difference.is_in_names_of_orphans();
    if let Some(first) = comparison.differences.iter().position(differs) {
        comparison.differences.drain(..first);
    }
    Ok(comparison)
}

/// The lines with one name for all ReplicaSets that no Deployment controls at the time.
fn without_names_of_orphans(lines: &[TimelineLine]) -> Vec<TimelineLine> {
    let is_owner = |field: &KeyValue| field.key == "owner";
    let rename = |line: &TimelineLine| match line.state() {
        Some(state) if state.object.starts_with("-/") || state.fields.iter().any(is_owner) => {
            let fields = state.fields.iter().filter(|field| !is_owner(field)).cloned().collect();
            TimelineLine::State(Arc::new(State { object: "-".to_owned(), fields, ..state.clone() }))
        }
        _ => line.clone(),
    };
    let mut lines: Vec<_> = lines.iter().map(rename).collect();
    lines.sort();
    lines
}

/// The lines of a step that are compared.
fn lines(step: &TimelineStep, join: bool) -> Vec<TimelineLine> {
    let step = if join { step.to_joined() } else { step.clone() };
    TimelineStep { breaches: Vec::new(), ..step }.lines()
}

/// Both sides, and the index of the first line that differs, if any does.
pub(super) fn difference(expected: Vec<TimelineLine>, actual: Vec<TimelineLine>) -> Option<Lines> {
    if expected == actual {
        return None;
    }
    let at = expected.iter().zip(&actual).take_while(|(a, b)| a == b).count();
    Some((expected, actual, at))
}

/// Events are compared if both sides are complete; too many Events where few were expected are a
/// difference, too.
fn events(expected: &TimelineEvents, actual: &TimelineEvents) -> Option<Difference> {
    match (expected, actual) {
        (TimelineEvents::NotCompared(_), _) => return None,
        (TimelineEvents::All(_), TimelineEvents::NotCompared(_)) if !actual.is_too_many() => return None,
        (TimelineEvents::All(_), _) => {}
    }
    let (expected, actual, at) = difference(expected.lines(), actual.lines())?;
    let (expected, actual) = (Some(expected), Some(actual));
    Some(Difference { place: TimelineLocation::Events, label: String::new(), expected, actual, at })
}

impl TimelineComparison {
    /// Whether there is no difference.
    #[must_use]
    pub(crate) fn is_same(&self) -> bool {
        self.differences.is_empty() && self.label_mismatch.is_none()
    }

    #[must_use]
    pub(crate) fn first(&self) -> Option<&Difference> {
        self.differences.first()
    }

    /// The label of `given` depends on the number of its sub-steps, and so on the subject; other
    /// labels depend on the case alone.
    fn note_label(&mut self, expected: &TimelineStep, actual: &TimelineStep) {
        let differs = expected.label != actual.label && expected.id != StepId::GIVEN;
        if differs && self.label_mismatch.is_none() {
            let (was, is) = (expected.label.clone(), actual.label.clone());
            self.label_mismatch = Some(LabelMismatch { step: expected.id, expected: was, actual: is });
        }
    }
}

impl Difference {
    /// Whether the two sides only call ReplicaSets by other names that no Deployment controls.
    fn is_in_names_of_orphans(&self) -> bool {
        let (Some(expected), Some(actual)) = (&self.expected, &self.actual) else { return false };
        without_names_of_orphans(expected) == without_names_of_orphans(actual)
    }

    /// The first expected line that differs; `None` if no further line was expected.
    #[must_use]
    pub fn expected_line(&self) -> Option<&TimelineLine> {
        self.expected.as_ref()?.get(self.at)
    }

    /// The actual line in its place; `None` if there is none.
    #[must_use]
    pub fn actual_line(&self) -> Option<&TimelineLine> {
        self.actual.as_ref()?.get(self.at)
    }
}

impl Difference {
    /// Whether the actual line is an additional one, and the expected line follows it.
    #[must_use]
    pub fn is_inserted(&self) -> bool {
        self.comes_later(&self.actual, &self.expected)
    }

    /// Whether the expected line is missing, and the actual line was expected after it.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.comes_later(&self.expected, &self.actual)
    }

    /// Whether the first differing line of `others` appears later in `these`, and not the other way
    /// round.
    fn comes_later(&self, these: &Option<Vec<TimelineLine>>, others: &Option<Vec<TimelineLine>>) -> bool {
        let (Some(these), Some(others)) = (these, others) else { return false };
        let rest = |lines: &[TimelineLine], line: Option<&TimelineLine>| {
            line.is_some_and(|line| lines.iter().skip(self.at).any(|it| it == line))
        };
        rest(these, others.get(self.at)) && !rest(others, these.get(self.at))
    }
}

impl Display for Difference {
    /// `rs2 7 -> 9 instead of rs2 7 -> 8`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match (self.expected_line(), self.actual_line(), &self.expected, &self.actual) {
            (_, _, _, None) => f.write_str("the step was never made"),
            (_, _, None, _) => f.write_str("the step was not expected"),
            (Some(_), Some(actual), ..) if self.is_inserted() => write!(f, "{actual} was not expected"),
            (Some(expected), Some(_), ..) if self.is_left_out() => write!(f, "{expected} is missing"),
            (Some(expected), Some(actual), ..) => write!(f, "{actual} instead of {expected}"),
            (Some(expected), None, ..) => write!(f, "{expected} is missing"),
            (None, Some(actual), ..) => write!(f, "{actual} was not expected"),
            (None, None, ..) => f.write_str("nothing differs"),
        }
    }
}

impl Display for TimelineLocation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Step(id) => id.fmt(f),
            Self::Events => f.write_str("events"),
        }
    }
}
