//! Groups recordings of one case by outcome, and makes one timeline of each, for `lockstep bless`.

use std::cmp::Reverse;

use lockstep_timeline::{GoldenOutcomes, StepId, Timeline, TimelineEvents, TimelineLine, TimelineStep};

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

/// The outcomes of these recordings, the most frequent first, each with the number of its
/// recordings. Equally frequent ones are in the order of their first recording.
///
/// # Errors
/// There are no recordings, or none of them has a decision.
pub fn outcomes(timelines: &[Timeline]) -> Result<Vec<(Timeline, u32)>, Disagreement> {
    let mut groups: Vec<Vec<Timeline>> = Vec::new();
    for timeline in timelines {
        let same = groups.iter_mut().find(|group| {
            let together: Vec<_> = group.iter().chain([timeline]).cloned().collect();
            agree(&together).is_ok()
        });
        match same {
            Some(group) => group.push(timeline.clone()),
            None => groups.push(vec![timeline.clone()]),
        }
    }
    if groups.is_empty() {
        return Err(Disagreement::Nothing);
    }
    groups.sort_by_key(|group| Reverse(group.len()));
    let seen = |group: &Vec<Timeline>| u32::try_from(group.len()).unwrap_or(u32::MAX);
    groups.iter().map(|group| Ok((agree(group)?, seen(group)))).collect()
}

/// The first step at which these outcomes differ, if there is one.
#[must_use]
pub fn first_differing_step(blessed: &GoldenOutcomes) -> Option<StepId> {
    let first = blessed.first();
    let differs = |step: &&TimelineStep| blessed.outcomes().any(|other| other.step(step.id) != Some(*step));
    first.steps.iter().find(differs).map(|step| step.id)
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

#[cfg(test)]
mod tests {
    use lockstep_recording::Blame;
    use lockstep_recording::testing::{
        RecordingBuilder, deployment, of_case, owned_set, ready, revision, scaled, with_patch,
    };
    use lockstep_support::outcome::RunOutcome;
    use rstest::rstest;

    use super::*;
    use crate::NearestOutcome;
    use crate::testing::judge_by;

    const WITH_OUTCOMES: &str = "expectation: outcomes\n";

    /// A step after which rs1 has these sizes.
    fn builder(sizes: &[i32]) -> RecordingBuilder {
        let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
        let set = with_patch(&owned_set(&web, "1", "app:1", 10), &serde_json::json!({"status": ready(10)}));
        let builder = RecordingBuilder::rolled_out(10).user_step(1, "scale 9").driver_write(&scaled(&web, 9));
        sizes.iter().fold(builder, |builder, size| builder.subject_write(&scaled(&set, *size)))
    }

    fn timeline(sizes: &[i32]) -> Timeline {
        Timeline::from_recording(&builder(sizes).settled().end())
    }

    fn three() -> GoldenOutcomes {
        GoldenOutcomes::new(timeline(&[9]), vec![timeline(&[8]), timeline(&[8, 9, 7])])
    }

    #[rstest]
    #[case::the_first(builder(&[9]).settled(), 1, RunOutcome::Conformant)]
    #[case::the_second(builder(&[8]).settled(), 2, RunOutcome::Conformant)]
    #[case::none_and_near_the_third(builder(&[8, 9, 8]).settled(), 3, RunOutcome::NonConformant)]
    #[case::none_and_near_the_first(builder(&[5]).settled(), 1, RunOutcome::NonConformant)]
    fn compares_with_nearest_outcome(
        #[case] builder: RecordingBuilder,
        #[case] number: usize,
        #[case] outcome: RunOutcome,
    ) {
        let judgement = judge_by(&of_case(WITH_OUTCOMES, builder.end()), Some(&three()));
        assert_eq!((judgement.nearest, judgement.outcome()), (Some(NearestOutcome { number, total: 3 }), outcome));
    }

    #[test]
    fn case_without_outcomes_has_one() {
        let judgement = judge_by(&builder(&[8]).settled().end(), Some(&three()));
        assert_eq!((judgement.nearest, judgement.outcome()), (None, RunOutcome::NonConformant));
    }

    #[test]
    fn broken_test_environment_is_not_blamed_on_subject() {
        let broke = builder(&[]).trouble(Blame::Environment, "etcd").aborted();
        let judgement = judge_by(&of_case(WITH_OUTCOMES, broke), Some(&three()));
        assert_eq!(judgement.outcome(), RunOutcome::Inconclusive);
    }

    #[test]
    fn stale_outcome_makes_case_unblessed() {
        let stale = Timeline { case: Some("0123456789abcdef".to_owned()), ..timeline(&[8]) };
        let recording = of_case(WITH_OUTCOMES, builder(&[8]).settled().end());
        let judgement = judge_by(&recording, Some(&GoldenOutcomes::new(timeline(&[9]), vec![stale])));
        assert_eq!(judgement.outcome(), RunOutcome::Unblessed);
        let stale = Timeline { case: Some("0123456789abcdef".to_owned()), ..timeline(&[9]) };
        let judgement = judge_by(&recording, Some(&GoldenOutcomes::new(timeline(&[8]), vec![stale])));
        assert_eq!(judgement.outcome(), RunOutcome::Unblessed, "though the first fits");
    }

    #[test]
    fn recordings_are_grouped_and_counted() {
        let all = [&[9][..], &[8], &[8], &[8, 7], &[8]].map(timeline);
        let found = outcomes(&all).unwrap();
        assert_eq!(found.iter().map(|(_, seen)| *seen).collect::<Vec<_>>(), [3, 1, 1]);
        assert_eq!(found[0].0.steps, timeline(&[8]).steps);
        assert_eq!(outcomes(&[]), Err(Disagreement::Nothing));
        assert_eq!(first_differing_step(&three()), Some(StepId { index: 1, part: 0 }));
        assert_eq!(first_differing_step(&timeline(&[9]).into()), None);
    }

    #[test]
    fn split_resize_is_not_another_outcome() {
        let found = outcomes(&[timeline(&[8, 7]), timeline(&[7])]).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].0.steps[1].joined);
    }
}
