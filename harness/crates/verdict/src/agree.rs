//! Makes one timeline from several recordings of the same behaviour, for `lockstep bless`.

use lockstep_timeline::{StepId, Timeline, TimelineEvents, TimelineLine, TimelineStep};

use super::compare::{Difference, TimelineLocation, difference};

/// Why recordings do not make one timeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// There are no recordings.
    #[error("no recording at all; record the case first")]
    Nothing,
    /// None of them has a decision.
    #[error("no recording holds a decision; is the controller running?")]
    Idle,
    /// Two of them differ.
    #[error("recordings {first} and {second} differ at {}: {difference}", difference.place)]
    Differ {
        /// The number of the reference recording, from 1.
        first: usize,
        /// The number of the differing recording, from 1.
        second: usize,
        /// Where and how.
        difference: Box<Difference>,
    },
}

/// The timeline that all of these show. Steps that differ only in how resizes are split are joined
/// and marked.
///
/// # Errors
/// The first difference.
pub fn agree(timelines: &[Timeline]) -> Result<Timeline, Disagreement> {
    let (first, others) = timelines.split_first().ok_or(Disagreement::Nothing)?;
    if timelines.iter().all(Timeline::is_idle) {
        return Err(Disagreement::Idle);
    }
    for (at, other) in others.iter().enumerate() {
        same_steps(first, other).map_err(|difference| differ(at, difference))?;
    }
    let mut steps = Vec::new();
    for step in &first.steps {
        let rivals: Vec<&TimelineStep> = others.iter().filter_map(|other| other.step(step.id)).collect();
        steps.push(agree_step(step, &rivals).map_err(|(at, difference)| differ(at, difference))?);
    }
    let events = agree_events(timelines)?;
    Ok(Timeline { provenance: None, case: first.case.clone(), steps, events })
}

/// Recordings are numbered from 1; the first one is the reference.
fn differ(other: usize, difference: Difference) -> Disagreement {
    Disagreement::Differ { first: 1, second: other + 2, difference: Box::new(difference) }
}

/// Checks that both have the same steps with the same labels.
fn same_steps(first: &Timeline, other: &Timeline) -> Result<(), Difference> {
    let headings =
        |timeline: &Timeline| timeline.steps.iter().map(|step| (step.id, step.heading())).collect::<Vec<_>>();
    let (expected, actual) = (headings(first), headings(other));
    let Some(at) = (0..expected.len().max(actual.len())).find(|at| expected.get(*at) != actual.get(*at)) else {
        return Ok(());
    };
    let side = |all: &[(StepId, String)]| all.get(at).map(|(_, heading)| vec![TimelineLine::Heading(heading.clone())]);
    let id = expected.get(at).or(actual.get(at)).map_or(StepId::GIVEN, |(id, _)| *id);
    let (expected, actual) = (side(&expected), side(&actual));
    Err(Difference { place: TimelineLocation::Step(id), label: String::new(), expected, actual, at: 0 })
}

/// The step as all show it, or joined; otherwise the first that differs.
fn agree_step(step: &TimelineStep, other_steps: &[&TimelineStep]) -> Result<TimelineStep, (usize, Difference)> {
    if other_steps.iter().all(|other| *other == step) {
        return Ok(step.clone());
    }
    let joined = step.to_joined();
    for (at, other) in other_steps.iter().enumerate() {
        if let Some((expected, actual, line)) = difference(joined.lines(), other.to_joined().lines()) {
            let (expected, actual) = (Some(expected), Some(actual));
            let label = step.label.clone();
            return Err((at, Difference { place: TimelineLocation::Step(step.id), label, expected, actual, at: line }));
        }
    }
    Ok(joined)
}

/// If one recording has too many Events, the result has; a recording that may lack some is ignored.
fn agree_events(timelines: &[Timeline]) -> Result<TimelineEvents, Disagreement> {
    if let Some(many) = timelines.iter().find(|timeline| timeline.events.is_too_many()) {
        return Ok(many.events.clone());
    }
    let mut complete =
        timelines.iter().enumerate().filter(|(_, timeline)| matches!(timeline.events, TimelineEvents::All(_)));
    let Some((first, Timeline { events, .. })) = complete.next() else {
        return Ok(timelines[0].events.clone());
    };
    for (other, timeline) in complete {
        if let Some((expected, actual, at)) = difference(events.lines(), timeline.events.lines()) {
            let (expected, actual) = (Some(expected), Some(actual));
            let difference = Difference { place: TimelineLocation::Events, label: String::new(), expected, actual, at };
            return Err(Disagreement::Differ { first: first + 1, second: other + 1, difference: Box::new(difference) });
        }
    }
    Ok(events.clone())
}
