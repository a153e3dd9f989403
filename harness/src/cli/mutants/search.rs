//! Random programs for the mutant bank: how many does it take until a wrong controller is found,
//! and how small does the case get?
//!
//! Each program is played on upstream once and on every mutant that was not found yet. What counts
//! is what counts for `fuzz`: a difference that no chance of upstream's explains.

use std::sync::Arc;
use std::time::Duration;

use super::super::fuzz::hunting::{repeated, shrunk};
use super::super::fuzz::stage::{Plays, Stage};
use super::super::on_threads::on_threads;
use super::super::out::{self, note, say};
use super::{Arguments, CliError, Ground};
use crate::case::Case;
use crate::clock::{self, Instant};
use crate::mutants::Mutant;
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::runner::simulated;
use crate::search::{About, Answer, Areas, Hunt, Look, Played, Program, Shown, differ};
use crate::subject::{Spec, with_mutant};
use crate::supervise::Interrupt;

/// How many programs are played on upstream before the mutants' turn.
const BATCH: usize = 32;

/// A mutant that was found.
struct Found {
    /// Which program showed it, from 1.
    program: usize,
    /// How many steps the smallest case has.
    steps: usize,
    /// How it differs.
    cause: String,
    /// When, since the beginning.
    after: Duration,
}

pub(super) async fn execute(
    arguments: &Arguments,
    ground: &Ground<'_>,
    mutants: Vec<Mutant>,
) -> Result<Outcome, CliError> {
    let upstream: Spec = "upstream".parse()?;
    if let Some(why) = upstream.not_built() {
        return Err(CliError::Usage(format!("{why}; --search compares with it")));
    }
    let table = Table { ground, upstream };
    let mut hunt = Hunt::new(arguments.seed, &Areas::only(&[]));
    let since = clock::instant();
    let mut rows: Vec<(Mutant, Option<Found>)> = mutants.into_iter().map(|mutant| (mutant, None)).collect();
    while hunt.played() < arguments.programs
        && rows.iter().any(|(_, found)| found.is_none())
        && Interrupt::of_process().cause().is_none()
    {
        round(&table, &mut hunt, &mut rows, since).await?;
    }
    ground.programs.close().await;
    if let Some(cause) = Interrupt::of_process().cause() {
        return Err(CliError::Interrupted(cause));
    }
    Ok(summary(&rows, &hunt, since))
}

/// A batch of programs on upstream, and on each mutant that is left.
async fn round(
    table: &Table<'_>,
    hunt: &mut Hunt,
    rows: &mut [(Mutant, Option<Found>)],
    since: Instant,
) -> Result<(), CliError> {
    let before = hunt.played();
    let (about, programs) = hunt.batch(BATCH, |_| true);
    let cases: Vec<Arc<Case>> = programs.iter().filter_map(Program::case).collect();
    let others = table.once(about, &cases, Side::Upstream)?;
    let right = table.once(about, &cases, Side::Right)?;
    let differs = |at: usize, subject: &Option<Recording>| match (&others[at], subject) {
        (Some(other), Some(subject)) => match differ(&cases[at], Some(other), subject) {
            Answer::Differs(differing) => Some(*differing),
            Answer::Equal | Answer::Unknown(_) => None,
        },
        _ => None,
    };
    // What the right controller does as well finds no mutant.
    let open: Vec<usize> = (0..cases.len()).filter(|at| differs(*at, &right[*at]).is_none()).collect();
    let left = rows.iter_mut().filter(|(mutant, found)| found.is_none() && about.controllers().has(mutant.of));
    for (mutant, found) in left {
        let stage = OnMutant { table, mutant };
        let mut subjects = table.once(about, &cases, Side::Wrong(mutant))?;
        for at in &open {
            let Some(differing) = differs(*at, &subjects[*at]) else { continue };
            let sides = vec![others[*at].clone(), subjects[*at].take()];
            let played = Played { program: programs[*at].clone(), case: Arc::clone(&cases[*at]), sides };
            if repeated(&stage, &played).await?.is_chance() {
                continue;
            }
            let (program, after) = (before + at + 1, since.elapsed());
            let (small, ended) = shrunk(&stage, Look { played, differing }).await;
            ended?;
            let (steps, cause) = (small.played.program.size(), small.differing.cause);
            note!("{:32} found by program {program}: {steps} steps, {cause}", mutant.name);
            *found = Some(Found { program, steps, cause, after });
            break;
        }
    }
    for (program, right) in programs.iter().zip(&right) {
        hunt.learn(program, right.as_ref().map(|right| Shown::of(program, right)));
    }
    Ok(())
}

fn summary(rows: &[(Mutant, Option<Found>)], hunt: &Hunt, since: Instant) -> Outcome {
    let mut table = format!("{:32} {:>8} {:>6} {:>8}  first difference\n", "mutant", "programs", "steps", "after");
    for (mutant, found) in rows {
        table += &match found {
            Some(Found { program, steps, cause, after }) => {
                format!("{:32} {program:>8} {steps:>6} {:>6} s  {cause}\n", mutant.name, after.as_secs())
            }
            None => format!("{:32} {:>8}                  it {}\n", mutant.name, "-", mutant.does),
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
        hunt.played(),
        since.elapsed().as_secs_f64()
    );
    if steps.len() == rows.len() { Outcome::Conformant } else { Outcome::NonConformant }
}

/// Where everything is played.
struct Table<'a> {
    ground: &'a Ground<'a>,
    upstream: Spec,
}

/// Who plays.
#[derive(Debug, Clone, Copy)]
enum Side<'a> {
    /// Upstream.
    Upstream,
    /// The controller as it is.
    Right,
    /// The controller with one rule changed.
    Wrong(&'a Mutant),
}

/// A mutant, compared with upstream.
struct OnMutant<'a> {
    table: &'a Table<'a>,
    mutant: &'a Mutant,
}

impl Table<'_> {
    /// Play each case with each seed on one side.
    fn side(
        &self,
        about: About,
        cases: &[Arc<Case>],
        seeds: &[u64],
        side: Side<'_>,
    ) -> Result<Vec<Vec<Option<Recording>>>, CliError> {
        let mut all: Vec<Vec<Option<Recording>>> = cases.iter().map(|_| vec![None; seeds.len()]).collect();
        let place = |at: usize| (at / seeds.len(), at % seeds.len());
        let work = |at: usize| {
            let (case, seed) = place(at);
            Some(self.play(about, &cases[case], seeds[seed], side))
        };
        on_threads(super::player, self.ground.jobs, cases.len() * seeds.len(), work, |at, recording| {
            let (case, seed) = place(at);
            all[case][seed] = recording;
            Ok(())
        })?;
        Ok(all)
    }

    /// Play each case once on one side.
    fn once(&self, about: About, cases: &[Arc<Case>], side: Side<'_>) -> Result<Vec<Option<Recording>>, CliError> {
        let plays = self.side(about, cases, &[0], side)?;
        Ok(plays.into_iter().map(|plays| plays.into_iter().next().flatten()).collect())
    }

    /// One play, on this thread.
    fn play(&self, about: About, case: &Case, seed: u64, side: Side<'_>) -> Option<Recording> {
        let simulation = self.ground.simulation(about.controllers(), seed);
        match side {
            Side::Upstream => simulated(case, &self.upstream, &simulation).ok(),
            Side::Right => simulated(case, &Spec::Ours, &simulation).ok(),
            Side::Wrong(mutant) => with_mutant(&mutant.name, || simulated(case, &Spec::Ours, &simulation))?.ok(),
        }
    }
}

impl Stage for OnMutant<'_> {
    async fn play(&self, about: About, cases: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError> {
        let others = self.table.side(about, cases, seeds, Side::Upstream)?;
        let subjects = self.table.side(about, cases, seeds, Side::Wrong(self.mutant))?;
        Ok(vec![others, subjects])
    }

    fn lanes(&self) -> usize {
        self.table.ground.jobs
    }

    fn goes_on(&self) -> bool {
        Interrupt::of_process().cause().is_none()
    }
}
