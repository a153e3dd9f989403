//! Where two timelines differ.
//!
//! Steps are paired by their ids, and within a step decisions and checkpoint are compared line by
//! line: typed lines, each of which is printed as it is, so that what a reader sees is what was
//! judged. Broken invariants are left to `judge`: they are no expectation.

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter};

use crate::timeline::{Events, Line, Step, StepId, Timeline};

/// What two timelines come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Every difference, in the order of the steps; events last.
    pub differences: Vec<Difference>,
    /// Steps that are the same only once successive resizes of one ReplicaSet are joined. A note,
    /// not a difference.
    pub joined: Vec<StepId>,
    /// The first step whose label differs: the timelines belong to two versions of the case.
    pub relabelled: Option<Relabelled>,
}

/// A step that the two timelines call by different names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relabelled {
    /// Which step.
    pub step: StepId,
    /// Its label in the expected timeline.
    pub expected: String,
    /// Its label in the actual one.
    pub actual: String,
}

/// One step, or the events, in which two timelines differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub place: Place,
    /// What the step does; empty for events.
    pub label: String,
    /// All the lines that were expected; `None` if the step was not expected at all.
    pub expected: Option<Vec<Line>>,
    /// All the lines that there are; `None` if the step was never made.
    pub actual: Option<Vec<Line>>,
    /// The first line that differs, from 0; the number of lines of the shorter side if it just
    /// ends.
    pub at: usize,
}

/// Where in a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At a step.
    Step(StepId),
    /// In the events at the end.
    Events,
}

/// Neither timeline holds a decision: that two did nothing proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither controller made a decision, so there is nothing to compare")]
pub struct BothIdle;

/// Compare with a golden timeline: resizes are joined where the expected timeline is marked so.
///
/// # Errors
/// [`BothIdle`].
pub fn compare(expected: &Timeline, actual: &Timeline) -> Result<Comparison, BothIdle> {
    compare_by(expected, actual, |expected, actual, _| {
        let join = expected.joined;
        difference(lines(expected, join), lines(actual, join))
    })
}

/// Compare two live runs: strictly; steps that differ only in how a resize was split are noted as
/// joined.
///
/// # Errors
/// [`BothIdle`].
pub fn compare_live(expected: &Timeline, actual: &Timeline) -> Result<Comparison, BothIdle> {
    compare_by(expected, actual, |expected, actual, joined| {
        let strict = difference(lines(expected, false), lines(actual, false))?;
        if difference(lines(expected, true), lines(actual, true)).is_some() {
            return Some(strict);
        }
        joined.push(expected.id);
        None
    })
}

/// What differs in a step: both sides' lines, and the first that differs.
type Lines = (Vec<Line>, Vec<Line>, usize);

fn compare_by(
    expected: &Timeline,
    actual: &Timeline,
    differ: impl Fn(&Step, &Step, &mut Vec<StepId>) -> Option<Lines>,
) -> Result<Comparison, BothIdle> {
    if expected.is_idle() && actual.is_idle() {
        return Err(BothIdle);
    }
    let mut comparison = Comparison::default();
    let ids: BTreeSet<StepId> = expected.steps.iter().chain(&actual.steps).map(|step| step.id).collect();
    for id in ids {
        let whole = |step: &Step| Some(lines(step, false));
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
            place: Place::Step(id),
            label: label.clone(),
            expected,
            actual,
            at,
        }));
    }
    comparison.differences.extend(events(&expected.events, &actual.events));
    Ok(comparison)
}

/// The lines of a step that are compared.
fn lines(step: &Step, join: bool) -> Vec<Line> {
    let step = if join { step.to_joined() } else { step.clone() };
    Step { breaches: Vec::new(), ..step }.lines()
}

/// Both sides and the first line that differs, if any does.
pub(super) fn difference(expected: Vec<Line>, actual: Vec<Line>) -> Option<Lines> {
    if expected == actual {
        return None;
    }
    let at = expected.iter().zip(&actual).take_while(|(a, b)| a == b).count();
    Some((expected, actual, at))
}

/// Events are compared where both sides have all of theirs; too many where few were expected differ
/// as well.
fn events(expected: &Events, actual: &Events) -> Option<Difference> {
    match (expected, actual) {
        (Events::NotCompared(_), _) => return None,
        (Events::All(_), Events::NotCompared(_)) if !actual.too_many() => return None,
        (Events::All(_), _) => {}
    }
    let (expected, actual, at) = difference(expected.lines(), actual.lines())?;
    let (expected, actual) = (Some(expected), Some(actual));
    Some(Difference { place: Place::Events, label: String::new(), expected, actual, at })
}

impl Comparison {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.differences.is_empty() && self.relabelled.is_none()
    }

    /// The first difference.
    #[must_use]
    pub fn first(&self) -> Option<&Difference> {
        self.differences.first()
    }

    /// `given` is named by its parts, whose number is the subject's doing; the other steps by the
    /// case alone.
    fn note_label(&mut self, expected: &Step, actual: &Step) {
        let differs = expected.label != actual.label && expected.id != StepId::GIVEN;
        if differs && self.relabelled.is_none() {
            let (was, is) = (expected.label.clone(), actual.label.clone());
            self.relabelled = Some(Relabelled { step: expected.id, expected: was, actual: is });
        }
    }
}

impl Difference {
    /// The first expected line that differs; `None` where nothing more was expected.
    #[must_use]
    pub fn expected_line(&self) -> Option<&Line> {
        self.expected.as_ref()?.get(self.at)
    }

    /// The line that stands in its place; `None` where nothing more came.
    #[must_use]
    pub fn actual_line(&self) -> Option<&Line> {
        self.actual.as_ref()?.get(self.at)
    }
}

impl Difference {
    /// Whether the line that came is one too many, and the expected one comes after it.
    #[must_use]
    pub fn is_inserted(&self) -> bool {
        self.comes_later(&self.actual, &self.expected)
    }

    /// Whether the expected line is left out, and the one that came was expected after it.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.comes_later(&self.expected, &self.actual)
    }

    /// Whether the line of the others comes later in these, and the line of these no more in the
    /// others.
    fn comes_later(&self, these: &Option<Vec<Line>>, others: &Option<Vec<Line>>) -> bool {
        let (Some(these), Some(others)) = (these, others) else { return false };
        let rest = |lines: &[Line], line: Option<&Line>| {
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

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Step(id) => id.fmt(f),
            Self::Events => f.write_str("events"),
        }
    }
}
