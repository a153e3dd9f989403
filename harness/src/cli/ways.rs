//! Which way to put things that overlapped in a recording comes nearest to what was recorded.
//!
//! A recording says in which order the server stored what users and nodes did, and not when the
//! controllers saw it. Where a few things came at once, upstream decides this or that. So the steps
//! are put in other ways, one step after the other, as long as that brings the first difference
//! nearer to the end.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::CliError;
use super::out::note;
use super::place::Place;
use super::preview::played;
use crate::infer::{Arrangement, Arrangements, Inferred, arrangements, infer, staged};
use crate::recording::{Blame, Entry, Recording, SubjectKind, Trouble};
use crate::subject::Spec;
use crate::timeline::{Action, StepId};
use crate::verdict::{Judgement, Place as Where, judge_replay};

/// A case, and how what was recorded compares with what another controller did with it.
pub(super) struct Look {
    /// The case.
    pub(super) inferred: Inferred,
    /// What was recorded, as if the case had been played.
    pub(super) live: Recording,
    /// What the other controller did.
    pub(super) played: Recording,
    /// The other controller's judgement, and that of what was recorded.
    pub(super) judgements: [Judgement; 2],
}

/// What the ways are made from.
pub(super) struct Ways<'a> {
    /// The recording.
    pub(super) recording: &'a Recording,
    /// The case's name.
    pub(super) name: &'a str,
    /// Where it is played.
    pub(super) place: &'a Place,
    /// By whom.
    pub(super) spec: &'a Spec,
}

impl Ways<'_> {
    /// The way that comes nearest.
    pub(super) async fn nearest(&self, inferred: Inferred) -> Result<Look, CliError> {
        let mut best = self.play(vec![inferred]).await?.pop().expect("what is played is recorded, or an error");
        let mut arranged = Arrangements::new();
        let mut tried = BTreeSet::new();
        while let Some(step) = best.untried(&tried) {
            tried.insert(step);
            let ways: Vec<Arrangements> = best.ways(step).map(|way| with(&arranged, step, way)).collect();
            note!("{step}: trying {} orders of what came at once", ways.len());
            // A way that no case can have is none.
            let cases = ways.iter().filter_map(|way| Some((way, infer(self.recording, self.name, way).ok()?)));
            let (ways, cases): (Vec<_>, Vec<_>) = cases.unzip();
            for (way, look) in ways.into_iter().zip(self.play(cases).await?) {
                if look.distance() < best.distance() {
                    (best, arranged) = (look, way.clone());
                }
            }
        }
        if let Some((step, why)) = best.doubt() {
            best.ends(step, &why);
        }
        Ok(best)
    }

    /// Play cases, and compare.
    async fn play(&self, all: Vec<Inferred>) -> Result<Vec<Look>, CliError> {
        let cases = all.iter().map(|inferred| Arc::clone(&inferred.case)).collect();
        let played = played(self.place, self.spec, cases).await?;
        Ok(all.into_iter().zip(played).map(|(inferred, (_, played))| Look::of(inferred, &played)).collect())
    }
}

impl Look {
    fn of(inferred: Inferred, played: &Recording) -> Self {
        let live = named(&inferred.recording);
        let played = staged(played);
        let judgements = judged(&inferred, &live, &played);
        Self { inferred, live, played, judgements }
    }

    /// Why where they part says nothing of the recorded controller, if it does not: something that
    /// mattered is not in the recording.
    fn doubt(&self) -> Option<(StepId, String)> {
        let Where::Step(step) = self.parting()? else { return None };
        let Inferred { cut, concurrent, left, unseen, .. } = &self.inferred;
        if *cut == Some(step) {
            return Some((
                step,
                "the recording ends before the controllers had settled; capture for longer".to_owned(),
            ));
        }
        if let Some((from, why)) = unseen.as_ref().filter(|(from, _)| *from <= StepId { part: 0, ..step }) {
            return Some((step, format!("since {from} {why}")));
        }
        if let Some(things) = concurrent.get(&step) {
            return Some((step, format!("{things} changes came before the controllers had settled; {ORDER}")));
        }
        let before = left.range(..step).next_back().filter(|before| before.index + 1 == step.index)?;
        Some((step, format!("{before} ends before the controllers had settled; {ORDER}")))
    }

    /// The two cannot be compared from this step on.
    fn ends(&mut self, step: StepId, why: &str) {
        let mut in_step = false;
        let settling = self.live.entries.iter_mut().find_map(|entry| {
            match entry {
                Entry::Step(mark) => in_step = StepId::of(mark) == step,
                Entry::Settled(settling) if in_step => return Some(settling),
                _ => {}
            }
            None
        });
        settling.into_iter().for_each(|it| it.unsettled = Some(Trouble::new(Blame::Environment, why.to_owned())));
        self.judgements = judged(&self.inferred, &self.live, &self.played);
    }

    /// Where the two part; nothing where they do not.
    fn parting(&self) -> Option<Where> {
        let [_, live] = &self.judgements;
        live.findings.iter().map(|finding| finding.place).min()
    }

    /// The less, the later they part.
    fn distance(&self) -> Option<Reverse<Where>> {
        self.parting().map(Reverse)
    }

    /// The last step until where they part in which several things came at once and that is not
    /// among these.
    fn untried(&self, tried: &BTreeSet<StepId>) -> Option<StepId> {
        let Where::Step(parting) = self.parting()? else { return None };
        self.inferred.concurrent.range(..=parting).map(|(step, _)| *step).rfind(|step| !tried.contains(step))
    }

    /// The ways to put a step.
    fn ways(&self, step: StepId) -> impl Iterator<Item = Arrangement> {
        let [_, live] = &self.judgements;
        let decisions = live.timeline.step(step).map(|step| step.decisions.as_slice()).unwrap_or_default();
        let mut asked = Vec::new();
        for decision in decisions {
            let text = match decision.action {
                Action::Resized { from, to } => format!("{} {from} -> {to}", decision.object),
                Action::Created(replicas) => format!("{} created {replicas}", decision.object),
                _ => continue,
            };
            if !asked.contains(&text) {
                asked.push(text);
            }
        }
        let things = self.inferred.concurrent.get(&step).copied().unwrap_or(0);
        arrangements(things, &asked).into_iter()
    }
}

/// The recording, with a name for its subject that tells it apart from the one that plays.
pub(super) fn named(recording: &Recording) -> Recording {
    let mut live = recording.clone();
    if live.header.kind != SubjectKind::Cluster {
        live.header.subject.name = format!("recorded: {}", live.header.subject.name);
    }
    live
}

/// What is said where the controllers may have seen things in another order.
const ORDER: &str =
    "a recording does not show in which order they saw them, and no order that was tried gives the same result";

/// The judgement of the controller that played the case, and that of what was recorded.
fn judged(inferred: &Inferred, live: &Recording, played: &Recording) -> [Judgement; 2] {
    judge_replay(&inferred.case, live, played, &inferred.concurrent, &inferred.left)
}

/// These, and one more.
fn with(arranged: &Arrangements, step: StepId, way: Arrangement) -> Arrangements {
    let mut all = arranged.clone();
    all.insert(step.index, way);
    all
}
