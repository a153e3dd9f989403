//! Random programs for the mutant bank: how many does it take until a wrong controller is found, and how small
//! does the case get?
//!
//! Each program is played on upstream once and on every mutant that was not found yet. What counts is what counts for
//! `fuzz`: a difference that no chance of upstream's explains.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::fuzz::hunting::{repeated, shrunk};
use super::super::fuzz::stage::{Plays, Stage};
use super::super::out::{self, note, say};
use super::{Arguments, BUDGET, CliError, player};
use crate::case::Case;
use crate::clock::{self, Instant};
use crate::mutants::Mutant;
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::run::RunError;
use crate::runner::{EnvironmentError, Simulation, simulated};
use crate::search::{About, Answer, Areas, Hunt, Look, Played};
use crate::subject::virtual_time::Pool;
use crate::subject::{Spec, with_mutant};
use crate::supervise::Interrupt;

/// How many programs are played on upstream before the mutants' turn.
const BATCH: usize = 32;

/// A mutant that was found.
struct Found {
    /// By the programth program.
    program: usize,
    /// How many steps the smallest case has.
    steps: usize,
    /// How it differs.
    cause: String,
    /// When, since the beginning.
    after: Duration,
}

pub(super) async fn execute(arguments: &Arguments, mutants: Vec<Mutant>) -> Result<Outcome, CliError> {
    let upstream: Spec = "upstream".parse()?;
    if let Some(why) = upstream.not_built() {
        return Err(CliError::Usage(format!("{why}; --search compares with it")));
    }
    let jobs = arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, NonZero::get));
    let ground = Ground { upstream, programs: Pool::default(), jobs: jobs.max(1) };
    let mut hunt = Hunt::new(arguments.seed, &Areas::only(&[]));
    let since = clock::instant();
    let mut rows: Vec<(Mutant, Option<Found>)> = mutants.into_iter().map(|mutant| (mutant, None)).collect();
    while hunt.played() < arguments.programs
        && rows.iter().any(|(_, found)| found.is_none())
        && Interrupt::of_process().cause().is_none()
    {
        round(&ground, &mut hunt, &mut rows, since).await?;
    }
    ground.programs.close().await;
    if let Some(cause) = Interrupt::of_process().cause() {
        return Err(CliError::Interrupted(cause));
    }
    Ok(summary(&rows, &hunt, since))
}

/// A batch of programs on upstream, and on each mutant that is left.
async fn round(
    ground: &Ground,
    hunt: &mut Hunt,
    rows: &mut [(Mutant, Option<Found>)],
    since: Instant,
) -> Result<(), CliError> {
    let before = hunt.played();
    let (about, programs) = hunt.batch(BATCH, |_| true);
    let cases: Vec<Arc<Case>> = programs.iter().filter_map(crate::search::Program::case).collect();
    let others = ground.side(about, &cases, &[0], Side::Upstream)?;
    let right = ground.side(about, &cases, &[0], Side::Right)?;
    let left = rows.iter_mut().filter(|(mutant, found)| found.is_none() && about.controllers().has(mutant.of));
    for (mutant, found) in left {
        let stage = OnMutant { ground, mutant };
        let subjects = ground.side(about, &cases, &[0], Side::Wrong(mutant))?;
        let plays = programs.iter().zip(&cases).zip(others.iter().zip(right.iter().zip(subjects)));
        for (at, ((program, case), (other, (right, subject)))) in plays.enumerate() {
            let with = |subject: Option<Recording>| Played {
                program: program.clone(),
                case: Arc::clone(case),
                sides: vec![other[0].clone(), subject],
            };
            let played = with(subject.into_iter().next().flatten());
            let Answer::Differs(differing) = played.answer() else { continue };
            // What the right controller does as well finds no mutant.
            if matches!(with(right[0].clone()).answer(), Answer::Differs(_)) {
                continue;
            }
            if repeated(&stage, &played).await?.is_chance() {
                continue;
            }
            let after = since.elapsed();
            let small = shrunk(&stage, Look { played, differing: *differing }).await?;
            let (steps, cause) = (small.played.program.size(), small.differing.cause);
            note!("{:32} found by program {}: {steps} steps, {cause}", mutant.name, before + at + 1);
            *found = Some(Found { program: before + at + 1, steps, cause, after });
            break;
        }
    }
    for ((program, case), other) in programs.into_iter().zip(cases).zip(others) {
        let other = other.into_iter().next().flatten();
        // What upstream did steers the search.
        hunt.look(Played { program, case, sides: vec![other.clone(), other] });
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
struct Ground {
    upstream: Spec,
    /// Kept from case to case.
    programs: Pool,
    /// How many cases are played side by side.
    jobs: usize,
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
    ground: &'a Ground,
    mutant: &'a Mutant,
}

impl Ground {
    /// Play each case with each seed on one side: the mutant's, or upstream's.
    fn side(
        &self,
        about: About,
        cases: &[Arc<Case>],
        seeds: &[u64],
        side: Side<'_>,
    ) -> Result<Vec<Vec<Option<Recording>>>, CliError> {
        let plays: Vec<(&Arc<Case>, u64)> =
            cases.iter().flat_map(|case| seeds.iter().map(move |seed| (case, *seed))).collect();
        let next = AtomicUsize::new(0);
        let mut all: Vec<Option<Recording>> = plays.iter().map(|_| None).collect();
        let failed = |error: std::io::Error| CliError::from(RunError::from(EnvironmentError::from(error)));
        std::thread::scope(|scope| {
            let work = || {
                let mut done = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((case, seed)) = plays.get(at) else { return done };
                    done.push((at, self.play(about, case, *seed, side)));
                }
            };
            let threads: Vec<_> =
                (0..self.jobs).map(|_| player().spawn_scoped(scope, work)).collect::<Result<_, _>>().map_err(failed)?;
            for thread in threads {
                // A panic of the mutant's is caught where it is played; any other is a bug, and its plays are missing.
                for (at, recording) in thread.join().unwrap_or_default() {
                    all[at] = recording;
                }
            }
            Ok::<_, CliError>(())
        })?;
        let mut all = all.into_iter();
        Ok(cases.iter().map(|_| all.by_ref().take(seeds.len()).collect()).collect())
    }

    /// One play, on this thread.
    fn play(&self, about: About, case: &Case, seed: u64, side: Side<'_>) -> Option<Recording> {
        let simulation = Simulation::new(about.controllers(), BUDGET);
        let (interrupt, programs) = (Interrupt::of_process(), self.programs.clone());
        let simulation = Simulation { seed, interrupt, programs, ..simulation };
        match side {
            Side::Upstream => simulated(case, &self.upstream, &simulation).ok(),
            Side::Right => simulated(case, &Spec::Ours, &simulation).ok(),
            Side::Wrong(mutant) => with_mutant(&mutant.name, || simulated(case, &Spec::Ours, &simulation))?.ok(),
        }
    }
}

impl Stage for OnMutant<'_> {
    async fn play(&self, about: About, cases: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError> {
        let others = self.ground.side(about, cases, seeds, Side::Upstream)?;
        let subjects = self.ground.side(about, cases, seeds, Side::Wrong(self.mutant))?;
        Ok(vec![others, subjects])
    }

    fn lanes(&self) -> usize {
        self.ground.jobs
    }

    fn goes_on(&self) -> bool {
        Interrupt::of_process().cause().is_none()
    }
}
