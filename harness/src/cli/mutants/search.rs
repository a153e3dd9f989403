//! Plays random programs on the mutant bank, to measure how many programs find a mutant and how
//! small the case gets.
//!
//! Each program is played on upstream once and on every mutant that has not been found yet. As for
//! `fuzz`, only a difference that chance does not explain counts.

use std::sync::Arc;
use std::time::Duration;

use lockstep_case::Case;
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::Recording;
use lockstep_runner::simulate;
use lockstep_search::{
    Areas, CaseProgram, Feedback, Focus, Fuzzer, PlayedProgram, SearchFinding, SideComparison, compare,
};
use lockstep_subject::{Mutant, SubjectSpec, with_mutant};
use lockstep_support::clock::{self, Instant};
use lockstep_support::outcome::RunOutcome;

use super::super::CliError;
use super::super::fuzz::program_runner::{Plays, ProgramRunner};
use super::super::fuzz::triage::{repeat, shrink};
use super::super::out::{self, note, say};
use super::super::parallel::run_in_parallel;
use super::super::progress::Progress;
use super::simulation::{SimulationOptions, player_thread};

/// How many programs are played on upstream before the mutants.
const BATCH: usize = 32;

/// How a mutant was found.
struct Discovery {
    /// The number of the program that showed it, from 1.
    program: usize,
    /// The number of steps of the shrunk case.
    steps: usize,
    /// The cause of the difference.
    cause: String,
    /// The time since the start of the search.
    after: Duration,
}

/// A search for mutants with random programs.
pub(super) struct MutantSearch<'a> {
    /// The seed of the programs.
    pub(super) seed: u64,
    /// The most programs to play.
    pub(super) programs: usize,
    pub(super) options: &'a SimulationOptions<'a>,
}

impl MutantSearch<'_> {
    /// Play programs until every mutant is found, and print how each was.
    pub(super) async fn run(self, mutants: Vec<Mutant>) -> Result<RunOutcome, CliError> {
        let Self { seed, programs, options } = self;
        let upstream: SubjectSpec = "upstream".parse()?;
        if let Some(why) = upstream.not_built() {
            return Err(CliError::Usage(format!("{why}; --search compares with it")));
        }
        let player = MutantPlayer { options, upstream };
        let mut fuzzer = Fuzzer::new(seed, &Areas::only(&[]));
        let since = clock::instant();
        let mut rows: Vec<(Mutant, Option<Discovery>)> = mutants.into_iter().map(|mutant| (mutant, None)).collect();
        Progress::for_process().expect("program", Some(programs));
        while fuzzer.programs_played() < programs
            && rows.iter().any(|(_, found)| found.is_none())
            && Interrupt::for_process().cause().is_none()
        {
            play_batch(&player, &mut fuzzer, &mut rows, since).await?;
        }
        options.programs.close().await;
        if let Some(cause) = Interrupt::for_process().cause() {
            return Err(CliError::Interrupted(cause));
        }
        Ok(summary(&rows, &fuzzer, since))
    }
}

/// Play a batch of programs on upstream and on each remaining mutant.
async fn play_batch(
    player: &MutantPlayer<'_>,
    fuzzer: &mut Fuzzer,
    rows: &mut [(Mutant, Option<Discovery>)],
    since: Instant,
) -> Result<(), CliError> {
    let before = fuzzer.programs_played();
    let found = rows.iter().filter(|(_, discovery)| discovery.is_some()).count();
    Progress::for_process().describe(format!("{found} of {} mutants found;", rows.len()));
    let (focus, programs) = fuzzer.batch(BATCH, |_| true);
    let cases: Vec<Arc<Case>> = programs.iter().filter_map(CaseProgram::case).collect();
    let reference = player.play_once(focus, &cases, ComparedController::Upstream)?;
    let right = player.play_once(focus, &cases, ComparedController::Unchanged)?;
    let differs = |at: usize, subject: &Option<Recording>| match (&reference[at], subject) {
        (Some(other), Some(subject)) => match compare(&cases[at], Some(other), subject) {
            SideComparison::Differs(differing) => Some(*differing),
            SideComparison::Equal | SideComparison::CutShort | SideComparison::Unknown(_) => None,
        },
        _ => None,
    };
    // A difference that the unchanged controller has, too, does not count.
    let open: Vec<usize> = (0..cases.len()).filter(|at| differs(*at, &right[*at]).is_none()).collect();
    let remaining =
        rows.iter_mut().filter(|(mutant, found)| found.is_none() && focus.controllers().has(mutant.controller));
    for (mutant, found) in remaining {
        let runner = MutantRunner { player, mutant };
        let mut subjects = player.play_once(focus, &cases, ComparedController::Mutant(mutant))?;
        for at in &open {
            let Some(differing) = differs(*at, &subjects[*at]) else { continue };
            let sides = vec![reference[*at].clone(), subjects[*at].take()];
            let played = PlayedProgram { program: programs[*at].clone(), case: Arc::clone(&cases[*at]), sides };
            if repeat(&runner, &played).await?.is_chance() {
                continue;
            }
            let (program, after) = (before + at + 1, since.elapsed());
            let (small, ended) = shrink(&runner, SearchFinding { run: played, differing }).await;
            ended?;
            let (steps, cause) = (small.run.program.size(), small.differing.cause);
            note!("{:32} found by program {program}: {steps} steps, {cause}", mutant.name);
            *found = Some(Discovery { program, steps, cause, after });
            break;
        }
    }
    for (program, right) in programs.iter().zip(&right) {
        fuzzer.learn(program, right.as_ref().map(|right| Feedback::of(program, right)));
    }
    Progress::for_process().advance(programs.len());
    Ok(())
}

fn summary(rows: &[(Mutant, Option<Discovery>)], fuzzer: &Fuzzer, since: Instant) -> RunOutcome {
    let mut table = format!("{:32} {:>8} {:>6} {:>8}  first difference\n", "mutant", "programs", "steps", "after");
    for (mutant, found) in rows {
        table += &match found {
            Some(Discovery { program, steps, cause, after }) => {
                format!("{:32} {program:>8} {steps:>6} {:>6} s  {cause}\n", mutant.name, after.as_secs())
            }
            None => format!("{:32} {:>8}                  it {}\n", mutant.name, "-", mutant.behaviour),
        };
    }
    out::result(format_args!("{table}"));
    let mut steps: Vec<usize> = rows.iter().filter_map(|(_, found)| found.as_ref()).map(|found| found.steps).collect();
    steps.sort_unstable();
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0);
    say!(
        "{} of {} mutants found in {} programs, {:.0} s; the median case has {median} steps",
        steps.len(),
        rows.len(),
        fuzzer.programs_played(),
        since.elapsed().as_secs_f64()
    );
    if steps.len() == rows.len() { RunOutcome::Conformant } else { RunOutcome::NonConformant }
}

/// Plays cases on upstream, the unchanged controller and mutants.
struct MutantPlayer<'a> {
    options: &'a SimulationOptions<'a>,
    upstream: SubjectSpec,
}

/// The controller of a play.
#[derive(Debug, Clone, Copy)]
enum ComparedController<'a> {
    Upstream,
    /// Our unchanged controller.
    Unchanged,
    /// Our controller with one rule changed.
    Mutant(&'a Mutant),
}

/// Plays a mutant and upstream.
struct MutantRunner<'a> {
    player: &'a MutantPlayer<'a>,
    mutant: &'a Mutant,
}

impl MutantPlayer<'_> {
    /// Play each case with each seed on one controller.
    fn play_side(
        &self,
        focus: Focus,
        cases: &[Arc<Case>],
        seeds: &[u64],
        side: ComparedController<'_>,
    ) -> Result<Vec<Vec<Option<Recording>>>, CliError> {
        let mut all: Vec<Vec<Option<Recording>>> = cases.iter().map(|_| vec![None; seeds.len()]).collect();
        let place = |at: usize| (at / seeds.len(), at % seeds.len());
        let work = |at: usize| {
            let (case, seed) = place(at);
            Some(self.play(focus, &cases[case], seeds[seed], side))
        };
        run_in_parallel(player_thread, self.options.jobs, cases.len() * seeds.len(), work, |at, recording| {
            let (case, seed) = place(at);
            all[case][seed] = recording;
            Ok(())
        })?;
        Ok(all)
    }

    /// Play each case once on one controller.
    fn play_once(
        &self,
        focus: Focus,
        cases: &[Arc<Case>],
        side: ComparedController<'_>,
    ) -> Result<Vec<Option<Recording>>, CliError> {
        let plays = self.play_side(focus, cases, &[0], side)?;
        Ok(plays.into_iter().map(|plays| plays.into_iter().next().flatten()).collect())
    }

    /// Play a case on this thread.
    fn play(&self, focus: Focus, case: &Case, seed: u64, side: ComparedController<'_>) -> Option<Recording> {
        let simulation = self.options.simulation(focus.controllers(), seed);
        match side {
            ComparedController::Upstream => simulate(case, &self.upstream, &simulation).ok(),
            ComparedController::Unchanged => simulate(case, &SubjectSpec::Ours, &simulation).ok(),
            ComparedController::Mutant(mutant) => {
                with_mutant(&mutant.name, || simulate(case, &SubjectSpec::Ours, &simulation))?.ok()
            }
        }
    }
}

impl ProgramRunner for MutantRunner<'_> {
    async fn play(&self, focus: Focus, cases: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError> {
        let reference = self.player.play_side(focus, cases, seeds, ComparedController::Upstream)?;
        let subjects = self.player.play_side(focus, cases, seeds, ComparedController::Mutant(self.mutant))?;
        Ok(vec![reference, subjects])
    }

    fn candidates(&self) -> usize {
        self.player.options.jobs
    }

    fn can_continue(&self) -> bool {
        Interrupt::for_process().cause().is_none()
    }
}
