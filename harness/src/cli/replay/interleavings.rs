//! Finds the ordering of concurrent events whose replay best matches the recording.
//!
//! A recording shows in which order the server stored the changes of users and nodes, but not when
//! the controllers saw them. Upstream's decisions depend on that order if several changes arrive at
//! once. So orderings of one step after another are tried, as long as that moves the first
//! difference closer to the end.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use lockstep_recording::{Blame, Recording, RecordingEntry, SubjectKind, Trouble};
use lockstep_search::infer::{Arrangement, Arrangements, InferredCase, arrangements, infer, staged};
use lockstep_subject::SubjectSpec;
use lockstep_timeline::{DecisionAction, StepId};
use lockstep_verdict::{Judgement, TimelineLocation as Where, judge_replay};

use super::super::CliError;
use super::super::out::note;
use super::super::play_args::PlayArgs;

/// An inferred case, and the comparison of the recording with the replay of another controller.
pub(super) struct ReplayComparison {
    pub(super) inferred: InferredCase,
    /// The recording, as if the case had been played.
    pub(super) live: Recording,
    /// The recording of the other controller.
    pub(super) replay: Recording,
    /// The judgements of the other controller and of the recording.
    pub(super) judgements: [Judgement; 2],
}

/// Searches the orderings of a recording.
pub(super) struct Interleavings<'a> {
    pub(super) recording: &'a Recording,
    /// The name of the case.
    pub(super) name: &'a str,
    /// Where to play it.
    pub(super) play_args: &'a PlayArgs,
    /// The controller that plays it.
    pub(super) spec: &'a SubjectSpec,
}

impl Interleavings<'_> {
    /// The comparison with the best ordering.
    pub(super) async fn nearest(&self, inferred: InferredCase) -> Result<ReplayComparison, CliError> {
        let mut best = self.play(vec![inferred]).await?.pop().expect("what is played is recorded, or an error");
        let mut arranged = Arrangements::new();
        let mut tried = BTreeSet::new();
        while let Some(step) = best.untried(&tried) {
            tried.insert(step);
            let orderings: Vec<Arrangements> =
                best.orderings(step).map(|ordering| with_ordering(&arranged, step, ordering)).collect();
            note!("{step}: trying {} orders of what came at once", orderings.len());
            // Skip orderings from which no case can be inferred.
            let cases = orderings
                .iter()
                .filter_map(|ordering| Some((ordering, infer(self.recording, self.name, ordering).ok()?)));
            let (orderings, cases): (Vec<_>, Vec<_>) = cases.unzip();
            for (ordering, comparison) in orderings.into_iter().zip(self.play(cases).await?) {
                if comparison.distance() < best.distance() {
                    (best, arranged) = (comparison, ordering.clone());
                }
            }
        }
        if let Some((step, why)) = best.doubt() {
            best.mark_inconclusive(step, &why);
        }
        Ok(best)
    }

    /// Play cases, and compare the recordings.
    async fn play(&self, all: Vec<InferredCase>) -> Result<Vec<ReplayComparison>, CliError> {
        let cases = all.iter().map(|inferred| Arc::clone(&inferred.case)).collect();
        let played = self.play_args.record_once(self.spec, cases).await?;
        Ok(all.into_iter().zip(played).map(|(inferred, (_, played))| ReplayComparison::of(inferred, &played)).collect())
    }
}

impl ReplayComparison {
    fn of(inferred: InferredCase, replay: &Recording) -> Self {
        let live = with_recorded_name(&inferred.recording);
        let replay = staged(replay);
        let judgements = judge(&inferred, &live, &replay);
        Self { inferred, live, replay, judgements }
    }

    /// Why the first difference proves nothing about the recorded controller, if it does not: the
    /// recording lacks something that matters.
    fn doubt(&self) -> Option<(StepId, String)> {
        let Where::Step(step) = self.first_difference()? else { return None };
        let InferredCase { incomplete_step, concurrent, unsettled, unknown, .. } = &self.inferred;
        if *incomplete_step == Some(step) {
            return Some((
                step,
                "the recording ends before the controllers had settled; capture for longer".to_owned(),
            ));
        }
        if let Some((from, why)) = unknown.as_ref().filter(|(from, _)| *from <= StepId { part: 0, ..step }) {
            return Some((step, format!("since {from} {why}")));
        }
        if let Some(things) = concurrent.get(&step) {
            return Some((step, format!("{things} changes came before the controllers had settled; {ORDER}")));
        }
        let before = unsettled.range(..step).next_back().filter(|before| before.index + 1 == step.index)?;
        Some((step, format!("{before} ends before the controllers had settled; {ORDER}")))
    }

    /// Mark the comparison as inconclusive from this step on.
    fn mark_inconclusive(&mut self, step: StepId, why: &str) {
        let mut in_step = false;
        let settling = self.live.entries.iter_mut().find_map(|entry| {
            match entry {
                RecordingEntry::Step(mark) => in_step = StepId::of(mark) == step,
                RecordingEntry::Settled(settling) if in_step => return Some(settling),
                _ => {}
            }
            None
        });
        settling.into_iter().for_each(|it| it.unsettled = Some(Trouble::new(Blame::Environment, why.to_owned())));
        self.judgements = judge(&self.inferred, &self.live, &self.replay);
    }

    /// The place of the first difference, if there is one.
    fn first_difference(&self) -> Option<Where> {
        let [_, live] = &self.judgements;
        live.findings.iter().map(|finding| finding.place).min()
    }

    /// Orders comparisons: the later the first difference, the smaller.
    fn distance(&self) -> Option<Reverse<Where>> {
        self.first_difference().map(Reverse)
    }

    /// The last step up to the first difference that has concurrent changes and is not in `tried`.
    fn untried(&self, tried: &BTreeSet<StepId>) -> Option<StepId> {
        let Where::Step(first) = self.first_difference()? else { return None };
        self.inferred.concurrent.range(..=first).map(|(step, _)| *step).rfind(|step| !tried.contains(step))
    }

    /// The orderings to try for a step.
    fn orderings(&self, step: StepId) -> impl Iterator<Item = Arrangement> {
        let [_, live] = &self.judgements;
        let decisions = live.timeline.step(step).map(|step| step.decisions.as_slice()).unwrap_or_default();
        let mut wanted = Vec::new();
        for decision in decisions {
            let text = match decision.action {
                DecisionAction::Resized { from, to } => format!("{} {from} -> {to}", decision.object),
                DecisionAction::Created(replicas) => format!("{} created {replicas}", decision.object),
                _ => continue,
            };
            if !wanted.contains(&text) {
                wanted.push(text);
            }
        }
        let things = self.inferred.concurrent.get(&step).copied().unwrap_or(0);
        arrangements(things, &wanted).into_iter()
    }
}

/// The recording, with a subject name that distinguishes it from the replay.
pub(super) fn with_recorded_name(recording: &Recording) -> Recording {
    let mut live = recording.clone();
    if live.header.kind != SubjectKind::Cluster {
        live.header.subject.name = format!("recorded: {}", live.header.subject.name);
    }
    live
}

/// The explanation if the controllers may have seen changes in another order.
const ORDER: &str =
    "a recording does not show in which order they saw them, and no order that was tried gives the same result";

/// Judges the replay and the recording.
fn judge(inferred: &InferredCase, live: &Recording, replay: &Recording) -> [Judgement; 2] {
    judge_replay(&inferred.case, live, replay, &inferred.concurrent, &inferred.unsettled)
}

/// The orderings with one more step.
fn with_ordering(arranged: &Arrangements, step: StepId, ordering: Arrangement) -> Arrangements {
    let mut all = arranged.clone();
    all.insert(step.index, ordering);
    all
}
