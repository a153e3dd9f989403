//! Plays the programs of a search, and judges the plays. Judging uses all cores, because it takes a
//! tenth of the time of playing.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::Builder;

use lockstep_case::Case;
use lockstep_recording::Recording;
use lockstep_runner::run::{PlayPlan, PlayRound, Setup};
use lockstep_search::{CaseProgram, Feedback, Focus, PlayedProgram, SideComparison};
use lockstep_subject::SubjectSpec;

use super::super::CliError;
use super::super::parallel::run_in_parallel;

/// Recordings by controller, case and seed.
pub(in crate::cli) type Plays = Vec<Vec<Vec<Option<Recording>>>>;

/// Plays cases on both controllers.
pub(in crate::cli) trait ProgramRunner {
    /// Play each case with each seed, on the reference controller first.
    async fn play(&self, focus: Focus, cases: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError>;

    /// How many candidates are played before one is chosen.
    fn candidates(&self) -> usize;

    /// Whether to continue; `false` once the search should end.
    fn can_continue(&self) -> bool;

    /// Play programs once. With seed 0 delays are fixed, so that two plays differ by little else
    /// than their decisions.
    async fn once(&self, focus: Focus, programs: Vec<CaseProgram>) -> Result<Vec<PlayedProgram>, CliError> {
        let valid = programs.into_iter().filter_map(|program| Some((program.case()?, program)));
        let (cases, programs): (Vec<_>, Vec<_>) = valid.unzip();
        let mut sides: Vec<_> = self.play(focus, &cases, &[0]).await?.into_iter().map(Vec::into_iter).collect();
        let played = cases.into_iter().zip(programs).map(|(case, program)| {
            let sides = sides.iter_mut().map(|side| side.next().and_then(|plays| plays.into_iter().next().flatten()));
            PlayedProgram { program, case, sides: sides.collect() }
        });
        Ok(played.collect())
    }
}

/// Plays subjects on simulated clusters.
pub(super) struct SetupRunner<'a> {
    /// The setup of the clusters.
    pub(super) setup: &'a Setup,
    /// The reference controller, if any, and the subject.
    pub(super) specs: &'a [SubjectSpec],
    /// Whether the search should end.
    pub(super) is_over: &'a dyn Fn() -> bool,
}

impl SetupRunner<'_> {
    /// How many programs are played on one controller before the other. A subject in real time is
    /// started for each batch, which takes a second; but each play takes several, so a search by
    /// time ends soon only if batches are small.
    pub(super) fn batch(&self) -> usize {
        if self.is_virtual() { 64 } else { 4 * self.setup.lanes.get() }
    }

    fn is_virtual(&self) -> bool {
        self.specs.iter().all(|spec| self.setup.is_virtual(spec))
    }
}

impl ProgramRunner for SetupRunner<'_> {
    async fn play(&self, focus: Focus, cases: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError> {
        let rounds = seeds.iter().zip(1..).map(|(seed, time)| PlayRound { time, seed: Some(*seed) });
        let rounds: Vec<PlayRound> = rounds.collect();
        let controllers = focus.controllers();
        let most = cases.len() * rounds.len();
        let sides = self.setup.for_each_subject_keeping_programs(&controllers, self.specs, most, async |_, player| {
            let mut played = BTreeMap::new();
            let plan = PlayPlan { rounds: &rounds, ..PlayPlan::once(cases) };
            let playing = self.setup.play_each(player, plan, async |it| {
                played.insert((it.number, it.round.time), it.recording);
                Ok::<_, CliError>(ControlFlow::Continue(()))
            });
            playing.await?;
            Ok::<_, CliError>(played)
        });
        let by_case = |mut played: BTreeMap<(usize, u32), Recording>| {
            let of = |case: usize| rounds.iter().map(|round| played.remove(&(case, round.time))).collect();
            (0..cases.len()).map(of).collect()
        };
        Ok(sides.await?.into_iter().map(by_case).collect())
    }

    fn candidates(&self) -> usize {
        if self.is_virtual() { self.setup.lanes.get() } else { self.batch() }
    }

    fn can_continue(&self) -> bool {
        !(self.is_over)()
    }
}

/// The assessment of one program.
pub(super) struct Assessment {
    /// Whether the controllers differ.
    pub(super) answer: SideComparison,
    /// The feedback that guides the search.
    pub(super) feedback: Option<Feedback>,
}

/// Assess each program, in order. `ours` returns the recording of Lockstep's own controller for the
/// program at an index.
pub(super) fn assess<'a>(
    all: &'a [PlayedProgram],
    ours: impl Fn(usize) -> Option<&'a Recording> + Sync,
    lanes: usize,
) -> Result<Vec<Assessment>, CliError> {
    let judge = |at: usize| {
        let feedback = ours(at).map(|recording| Feedback::of(&all[at].program, recording));
        Some(Assessment { answer: all[at].answer(), feedback })
    };
    let mut assessed = Vec::with_capacity(all.len());
    run_in_parallel(Builder::new, lanes, all.len(), judge, |at, one| {
        assessed.push((at, one));
        Ok(())
    })?;
    assessed.sort_unstable_by_key(|(at, _)| *at);
    Ok(assessed.into_iter().map(|(_, one)| one).collect())
}
