//! `lockstep mutants`: wrong controllers on the simulated cluster, to see that each is found out
//! and that each case can say no.
//!
//! `search` plays them on random programs instead of on the cases.

mod search;

use std::fs::File;
use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::on_threads::on_threads;
use super::out::{self, note, say};
use super::select::{Selection, blessed};
use super::{CliError, places};
use crate::case::Case;
use crate::clock;
use crate::controllers::{Controller, Controllers};
use crate::golden::GoldenTimelines;
use crate::mutants::{Exceptions, Matrix, Mutant};
use crate::outcome::{Outcome, Verdict};
use crate::run::FileError;
use crate::runner::{Simulation, simulated};
use crate::subject::virtual_time::Pool;
use crate::subject::{ClusterControllers, Spec, bank, with_mutant};
use crate::supervise::Interrupt;
use crate::verdict;

/// Run the mutant bank: every mutant must fail at least one case.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Only mutants whose name contains this text; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Stop each mutant at the first case that fails.
    #[arg(long)]
    quick: bool,
    /// List the mutants; play nothing.
    #[arg(long)]
    list: bool,
    /// Mutants that may survive and cases that kill none, each with its reason.
    #[arg(long, value_name = "FILE", default_value = "harness/tests/mutants.yaml")]
    exceptions: PathBuf,
    /// Whose controllers run beside the mutant: simulated, upstream or upstream:VERSION.
    #[arg(long, default_value_t, value_name = "CONTROLLERS")]
    cluster_controllers: ClusterControllers,
    /// Mutants played in parallel [default: number of cores].
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Look for each mutant with random programs, as `fuzz` does, instead of the cases.
    ///
    /// Each program is played on upstream once, and on every mutant that was not found yet.
    #[arg(long, conflicts_with_all = ["quick", "outcomes"])]
    search: bool,
    /// With --search: give up after this many programs.
    #[arg(long, value_name = "N", default_value_t = 3000, requires = "search")]
    programs: usize,
    /// With --search: the seed of the programs.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "search")]
    seed: u64,
    /// Write every outcome to this file: mutant, case, verdict, separated by tabs.
    #[arg(long, value_name = "FILE")]
    outcomes: Option<PathBuf>,
}

/// What each simulated cluster begins with.
struct Ground<'a> {
    controllers: &'a ClusterControllers,
    /// Kept from case to case.
    programs: Pool,
    /// How many threads play.
    jobs: usize,
}

impl Ground<'_> {
    /// A simulated cluster for whoever brings these controllers.
    fn simulation(&self, under_test: Controllers, seed: u64) -> Simulation {
        let (interrupt, programs) = (Interrupt::of_process(), self.programs.clone());
        let cluster_controllers = self.controllers.clone();
        let simulation = Simulation::new(under_test, BUDGET);
        Simulation { seed, interrupt, programs, cluster_controllers, ..simulation }
    }
}

/// The verdicts on one mutant, by case.
type Row = Vec<(String, Verdict)>;

/// How long a step may take to settle, in virtual time.
const BUDGET: Duration = Duration::from_secs(20);
/// What threads that play cases are called.
const PLAYER: &str = "player";
/// The stack of a thread that plays cases, in bytes.
const STACK: usize = 16 << 20;

pub(super) async fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
    let mut mutants = bank();
    if mutants.is_empty() {
        let how = "this build has no wrong controllers: `cargo mutants-bank`, or build with --features mutants";
        return Err(CliError::Usage(how.to_owned()));
    }
    let wanted = |mutant: &Mutant| arguments.only.iter().any(|text| mutant.name.contains(text.as_str()));
    mutants.retain(|mutant| arguments.only.is_empty() || wanted(mutant));
    if arguments.list {
        mutants.iter().for_each(|mutant| say!("{:32} {:11} it {}", mutant.name, mutant.of.as_str(), mutant.does));
        return Ok(Outcome::Conformant);
    }
    arguments.cluster_controllers.check(&[Spec::Ours])?;
    let jobs = arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, NonZero::get)).max(1);
    let ground = Ground { controllers: &arguments.cluster_controllers, programs: Pool::default(), jobs };
    let exceptions = exceptions(arguments)?;
    places::file("--outcomes", arguments.outcomes.as_deref())?;
    if arguments.search {
        mutants.retain(|mutant| mutant.of != Controller::ConfigRestart);
        mutants.retain(|mutant| !exceptions.survivors.contains_key(&mutant.name));
        silence_players();
        return search::execute(arguments, &ground, mutants).await;
    }
    let cases = arguments.selection.cases()?;
    let cases =
        cases.into_iter().map(|case| Ok((blessed(&case)?, Arc::new(case)))).collect::<Result<Vec<_>, CliError>>()?;
    let began = clock::instant();
    silence_players();
    let right = right(&cases, &ground, arguments)?;
    let wrong: Vec<&String> =
        right.iter().filter(|(_, verdict)| *verdict != Verdict::Conformant).map(|(case, _)| case).collect();
    if let Some(cause) = Interrupt::of_process().cause() {
        return Err(CliError::Interrupted(cause));
    }
    if !wrong.is_empty() {
        say!("the right controller is not conformant on {wrong:?}: what these say of wrong ones means nothing");
        return Ok(Outcome::NonConformant);
    }
    note!("the right controller: {} cases in {:.1} s", cases.len(), began.elapsed().as_secs_f64());
    let rows = rows(arguments, &ground, &mutants, &cases)?;
    if let Some(cause) = Interrupt::of_process().cause() {
        let done = rows.iter().filter(|row| !row.is_empty()).count();
        note!("{done} of {} mutants were played to the end", mutants.len());
        return Err(CliError::Interrupted(cause));
    }
    let mut matrix = Matrix::default();
    mutants.into_iter().zip(rows).for_each(|(mutant, row)| matrix.add(mutant, row));
    let faults = matrix.faults(&exceptions, arguments.only.is_empty() && !arguments.quick);
    out::result(format_args!("{}", matrix.table(&exceptions)));
    faults.iter().for_each(|fault| say!("! {fault}"));
    let (killed, all) = matrix.killed();
    say!("{killed} of {all} mutants killed, {} cases, {:.0} s", cases.len(), began.elapsed().as_secs_f64());
    Ok(if faults.is_empty() { Outcome::Conformant } else { Outcome::NonConformant })
}

/// A wrong controller may panic. It then counts as a subject that ended, and nothing is printed.
fn silence_players() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(PLAYER) {
            tell(panic);
        }
    }));
}

/// The outcomes of the right controller, on a thread of its own: that of a command has a runtime
/// already.
fn right(cases: &[(GoldenTimelines, Arc<Case>)], ground: &Ground<'_>, arguments: &Arguments) -> Result<Row, CliError> {
    let failed = |source| FileError::File { path: arguments.exceptions.clone(), source };
    std::thread::scope(|scope| {
        let playing = player().spawn_scoped(scope, || play(cases, ground, None, false)).map_err(failed)?;
        let played = playing.join();
        Ok(played.map_err(|_| failed(std::io::Error::other("the right controller cannot be played: a bug")))?)
    })
}

/// A thread that plays cases.
fn player() -> std::thread::Builder {
    std::thread::Builder::new().name(PLAYER.to_owned()).stack_size(STACK)
}

/// The outcomes of each mutant, several mutants at a time.
fn rows(
    arguments: &Arguments,
    ground: &Ground<'_>,
    mutants: &[Mutant],
    cases: &[(GoldenTimelines, Arc<Case>)],
) -> Result<Vec<Row>, CliError> {
    let file = arguments.outcomes.as_ref();
    let failed = |source| FileError::File { path: file.cloned().unwrap_or_default(), source };
    let mut kept = file.map(File::create).transpose().map_err(failed)?;
    let mut rows = vec![Row::new(); mutants.len()];
    let work = |at: usize| {
        let row = play(cases, ground, Some(&mutants[at]), arguments.quick);
        Interrupt::of_process().cause().is_none().then_some(row)
    };
    on_threads(player, ground.jobs, mutants.len(), work, |at, row| {
        let name = &mutants[at].name;
        let killers = row.iter().filter(|(_, verdict)| *verdict == Verdict::NonConformant).count();
        note!("{name:32} killed by {killers} of {}", row.len());
        if let Some(file) = &mut kept {
            let lines = row.iter().map(|(case, verdict)| format!("{name}\t{case}\t{verdict}\n"));
            file.write_all(lines.collect::<String>().as_bytes()).map_err(failed)?;
        }
        rows[at] = row;
        Ok(())
    })?;
    Ok(rows)
}

/// The verdicts on the cases of a mutant's controller, on this thread; without a mutant, of the
/// right controller on all of them.
fn play(cases: &[(GoldenTimelines, Arc<Case>)], ground: &Ground<'_>, mutant: Option<&Mutant>, quick: bool) -> Row {
    let mut row = Row::new();
    for (golden, case) in cases.iter().filter(|(_, case)| mutant.is_none_or(|mutant| case.controllers.has(mutant.of))) {
        let verdict = match mutant {
            Some(mutant) => with_mutant(&mutant.name, || judged(golden, case, ground)).unwrap_or(Verdict::Inconclusive),
            None => judged(golden, case, ground),
        };
        if Interrupt::of_process().cause().is_some() {
            break;
        }
        row.push((case.name.clone(), verdict));
        if quick && verdict == Verdict::NonConformant {
            break;
        }
    }
    row
}

fn judged(golden: &GoldenTimelines, case: &Arc<Case>, ground: &Ground<'_>) -> Verdict {
    match simulated(case, &Spec::Ours, &ground.simulation(case.controllers.clone(), 0)) {
        Ok(recording) => verdict::judge(case, &recording, golden.for_server(&recording.header.cluster.version)).verdict,
        Err(_) => Verdict::Inconclusive,
    }
}

fn exceptions(arguments: &Arguments) -> Result<Exceptions, CliError> {
    let path = &arguments.exceptions;
    let failed = |source| FileError::File { path: path.clone(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Ok(serde_saphyr::from_str(&text).map_err(|error| failed(std::io::Error::other(error)))?)
}
