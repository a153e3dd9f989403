//! Decisions that come after their step has settled.
//!
//! In real time a probe proves that a step has settled, which is right if the subject acts as soon
//! on one Deployment as on another. One with a rate limit for each, one that waits some seconds
//! after a refused request, or one with a worker that a busy machine holds up, decides later, and
//! its recording differs. So does that of a controller that does not decide at all. Another play,
//! which waits longer at that step, tells the two apart.

use std::time::Duration;

use lockstep_recording::{Blame, Recording, RecordingEntry, Trouble};
use lockstep_support::outcome::Verdict;
use lockstep_timeline::{Invariant, StepId, TimelineLine};

use super::compare::{Difference, TimelineLocation};
use super::judgement::{FindingKind, Judgement};

/// How long a subject must be silent at the step of such a difference when its case is played
/// again: longer than the usual delays after a refused request.
pub const LONG_SILENCE: Duration = Duration::from_secs(10);

/// The step after which the subject may only have been late: a decision is missing in it, or it is
/// the last step, and the subject wrote after it.
#[must_use]
pub fn late_step(judgement: &Judgement) -> Option<StepId> {
    let finding = judgement.decisive().filter(|_| judgement.verdict == Verdict::NonConformant)?;
    let TimelineLocation::Step(step) = finding.place else { return None };
    let lacks_a_decision = matches!(&finding.kind, FindingKind::Divergence(difference) if lacks_decision(difference));
    let writes_on = judgement.findings.iter().any(|it| it.place == finding.place && is_breach_of_silence(&it.kind));
    (lacks_a_decision || writes_on).then_some(step)
}

/// The recording of the first play, with trouble that makes it inconclusive, unless the second one,
/// which waited at this step, confirms the difference: `None` then.
#[must_use]
pub fn with_lateness(first: &Recording, step: StepId, second: &Judgement) -> Option<Recording> {
    let at = TimelineLocation::Step(step);
    let why = match second.verdict {
        Verdict::NonConformant if second.decisive().is_none_or(|it| it.place <= at) => return None,
        Verdict::Inconclusive => format!(
            "{step} differs, and the subject may only have been late: where the case was played again and waited \
             {LONG_SILENCE:?} at that step, it was inconclusive"
        ),
        Verdict::NonConformant | Verdict::Conformant => format!(
            "the subject acts later than it answers the probe: {step} differs, and no longer does where the case \
             was played again and waited {LONG_SILENCE:?} at that step"
        ),
    };
    let mut recording = first.clone();
    // In front of the difference, which does not count after it.
    recording.entries.insert(0, RecordingEntry::Trouble(Trouble::new(Blame::Environment, why)));
    Some(recording)
}

fn is_breach_of_silence(kind: &FindingKind) -> bool {
    matches!(kind, FindingKind::Breach(breach) if breach.invariant == Invariant::Silence)
}

/// Whether the first expected line that differs is a decision that the step does not have.
fn lacks_decision(difference: &Difference) -> bool {
    let missing = difference.expected_line().filter(|line| matches!(line, TimelineLine::Decision(_)));
    missing.is_some_and(|missing| !difference.actual.iter().flatten().any(|line| line == missing))
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, deployment, owned_set, ready, revision, scaled, with_patch};
    use lockstep_timeline::Timeline;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::judge;

    fn web() -> Value {
        with_patch(&deployment("web", 10, "app:1"), &revision(1))
    }

    fn set(replicas: i32) -> Value {
        with_patch(&owned_set(&web(), "1", "app:1", replicas), &json!({"status": ready(replicas)}))
    }

    /// A step to 12 replicas and one to 14, in each of which the subject writes these sizes.
    fn play(first: &[i32], second: &[i32]) -> RecordingBuilder {
        let mut size = 10;
        let mut resize = |builder: RecordingBuilder, to: &i32| {
            let before = std::mem::replace(&mut size, *to);
            builder.subject_write(&scaled(&set(before), *to))
        };
        let builder = RecordingBuilder::rolled_out(10).user_step(1, "scale 12").driver_write(&scaled(&web(), 12));
        let builder = first.iter().fold(builder, &mut resize).settled();
        let builder = builder.user_step(2, "scale 14").driver_write(&scaled(&web(), 14));
        second.iter().fold(builder, &mut resize).settled()
    }

    fn judge_by_expected(recording: &Recording) -> Judgement {
        judge(recording, Some(&Timeline::from_recording(&play(&[12], &[14]).end())))
    }

    #[rstest]
    #[case::as_expected(play(&[12], &[14]), None)]
    #[case::in_the_next_step(play(&[], &[12, 14]), Some(1))]
    #[case::with_what_the_next_step_wants(play(&[], &[14]), Some(1))]
    #[case::in_parts(play(&[11], &[12, 14]), Some(1))]
    #[case::after_the_last_step(play(&[12], &[]).subject_write(&scaled(&set(12), 14)).request("update", "replicasets", 200), Some(2))]
    #[case::more_than_expected(play(&[12, 13], &[14]), None)]
    #[case::never(play(&[], &[]), Some(1))]
    #[case::trouble_before(play(&[], &[12, 14]).trouble(Blame::Subject, "ended"), Some(1))]
    fn late_step_lacks_a_decision(#[case] builder: RecordingBuilder, #[case] step: Option<u32>) {
        let late = late_step(&judge_by_expected(&builder.end()));
        assert_eq!(late, step.map(|index| StepId { index, part: 0 }));
    }

    #[rstest]
    #[case::as_expected(play(&[12], &[14]), Some("acts later than it answers"))]
    #[case::late_again_elsewhere(play(&[12], &[]), Some("acts later than it answers"))]
    #[case::the_same_difference(play(&[], &[12, 14]), None)]
    #[case::trouble_before_the_step(RecordingBuilder::rolled_out(10).trouble(Blame::Environment, "etcd"), Some("it was inconclusive"))]
    #[case::trouble_after_the_step(play(&[12], &[14]).trouble(Blame::Environment, "etcd"), Some("it was inconclusive"))]
    fn second_play_tells_a_late_subject_from_a_wrong_one(
        #[case] again: RecordingBuilder,
        #[case] expected: Option<&str>,
    ) {
        let first = play(&[], &[12, 14]).end();
        let step = late_step(&judge_by_expected(&first)).expect("it may be late");
        let settled = with_lateness(&first, step, &judge_by_expected(&again.end()));
        assert_eq!(settled.is_some(), expected.is_some());
        let Some((settled, expected)) = settled.zip(expected) else { return };
        let judgement = judge_by_expected(&settled);
        assert_eq!(judgement.verdict, Verdict::Inconclusive);
        let finding = format!("{:?}", judgement.decisive().expect("it has trouble").kind);
        assert!(finding.contains(expected), "{finding}");
    }
}
