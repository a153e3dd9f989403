//! `lockstep mutants`: plays the mutant bank on the simulated cluster, to prove that every mutant
//! fails a case, and that every case can fail.
//!
//! * `matrix` evaluates the verdicts: which mutants the cases kill, and which cases kill a mutant.
//! * `search` plays the mutants on random programs instead of cases.
//! * `simulation` has the simulated clusters and the threads of both.

mod matrix;
mod search;
mod simulation;

use std::fs::File;
use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::controllers::Controller;
use lockstep_runner::run::FileError;
use lockstep_runner::simulate;
use lockstep_subject::virtual_time::ProgramPool;
use lockstep_subject::{ClusterControllers, Mutant, SubjectSpec, list_mutants, with_mutant};
use lockstep_support::clock;
use lockstep_support::outcome::{RunOutcome, Verdict};
use lockstep_support::pluralize;
use lockstep_verdict as verdict;
use lockstep_verdict::golden::GoldenTimelines;
use matrix::{Exceptions, Matrix};
use search::MutantSearch;
use simulation::{SimulationOptions, player_thread, silence_players};

use super::golden::load_golden;
use super::out::{self, note, say};
use super::parallel::run_in_parallel;
use super::progress::Progress;
use super::select::CaseSelection;
use super::{CliError, output_paths};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: CaseSelection,
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
    seeds: u64,
    /// Write every outcome to this file: mutant, case, verdict, separated by tabs.
    #[arg(long, value_name = "FILE")]
    outcomes: Option<PathBuf>,
}

/// The verdicts on one mutant, by case.
type CaseVerdicts = Vec<(String, Verdict)>;

pub(super) async fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    let mut mutants = list_mutants();
    if mutants.is_empty() {
        let how = "this build has no mutants: `cargo mutants-bank`, or build with --features mutants";
        return Err(CliError::Usage(how.to_owned()));
    }
    let wanted = |mutant: &Mutant| arguments.only.iter().any(|text| mutant.name.contains(text.as_str()));
    mutants.retain(|mutant| arguments.only.is_empty() || wanted(mutant));
    if arguments.list {
        mutants
            .iter()
            .for_each(|mutant| say!("{:32} {:11} it {}", mutant.name, mutant.controller.as_str(), mutant.behaviour));
        return Ok(RunOutcome::Conformant);
    }
    arguments.cluster_controllers.check(&[SubjectSpec::Ours])?;
    let jobs = arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, NonZero::get)).max(1);
    let options =
        SimulationOptions { controllers: &arguments.cluster_controllers, programs: ProgramPool::default(), jobs };
    let exceptions = read_exceptions(arguments)?;
    output_paths::check_file("--outcomes", arguments.outcomes.as_deref())?;
    if arguments.search {
        mutants.retain(|mutant| mutant.controller != Controller::ConfigRestart);
        mutants.retain(|mutant| !exceptions.survivors.contains_key(&mutant.name));
        silence_players();
        let search = MutantSearch { seed: arguments.seeds, programs: arguments.programs, options: &options };
        return search.run(mutants).await;
    }
    let cases = arguments.selection.cases()?;
    let cases = cases
        .into_iter()
        .map(|case| Ok((load_golden(&case)?, Arc::new(case))))
        .collect::<Result<Vec<_>, CliError>>()?;
    let began = clock::instant();
    silence_players();
    let right = play_unchanged(&cases, &options, arguments)?;
    let wrong: Vec<&String> =
        right.iter().filter(|(_, verdict)| *verdict != Verdict::Conformant).map(|(case, _)| case).collect();
    if let Some(cause) = Interrupt::for_process().cause() {
        return Err(CliError::Interrupted(cause));
    }
    if !wrong.is_empty() {
        say!("the unchanged controller is not conformant on {wrong:?}, so their verdicts on mutants mean nothing");
        return Ok(RunOutcome::NonConformant);
    }
    note!("the unchanged controller: {} in {:.1} s", pluralize(cases.len(), "case"), began.elapsed().as_secs_f64());
    let rows = play_mutants(arguments, &options, &mutants, &cases)?;
    if let Some(cause) = Interrupt::for_process().cause() {
        let done = rows.iter().filter(|row| !row.is_empty()).count();
        note!("{done} of {} played to the end", pluralize(mutants.len(), "mutant"));
        return Err(CliError::Interrupted(cause));
    }
    let mut matrix = Matrix::default();
    mutants.into_iter().zip(rows).for_each(|(mutant, row)| matrix.add(mutant, row));
    let faults = matrix.faults(&exceptions, arguments.only.is_empty() && !arguments.quick);
    out::result(format_args!("{}", matrix.table(&exceptions)));
    faults.iter().for_each(|fault| say!("! {fault}"));
    let (killed, all) = matrix.killed();
    say!(
        "{killed} of {all} mutants killed, {}, {:.0} s",
        pluralize(cases.len(), "case"),
        began.elapsed().as_secs_f64()
    );
    Ok(if faults.is_empty() { RunOutcome::Conformant } else { RunOutcome::NonConformant })
}

/// The verdicts on the unchanged controller. Played on another thread, because the thread of the
/// command already runs a runtime.
fn play_unchanged(
    cases: &[(GoldenTimelines, Arc<Case>)],
    options: &SimulationOptions<'_>,
    arguments: &Arguments,
) -> Result<CaseVerdicts, CliError> {
    let failed = |source| FileError::File { path: arguments.exceptions.clone(), source };
    Progress::for_process().describe("the unchanged controller".to_owned());
    std::thread::scope(|scope| {
        let playing =
            player_thread().spawn_scoped(scope, || play_cases(cases, options, None, false)).map_err(failed)?;
        let played = playing.join();
        Ok(played.map_err(|_| failed(std::io::Error::other("the unchanged controller cannot be played: a bug")))?)
    })
}

/// The verdicts on each mutant, with several mutants in parallel.
fn play_mutants(
    arguments: &Arguments,
    options: &SimulationOptions<'_>,
    mutants: &[Mutant],
    cases: &[(GoldenTimelines, Arc<Case>)],
) -> Result<Vec<CaseVerdicts>, CliError> {
    let file = arguments.outcomes.as_ref();
    let failed = |source| FileError::File { path: file.cloned().unwrap_or_default(), source };
    let mut outcomes_file = file.map(File::create).transpose().map_err(failed)?;
    let mut rows = vec![CaseVerdicts::new(); mutants.len()];
    Progress::for_process().expect("mutant", Some(mutants.len()));
    Progress::for_process().describe(String::new());
    let work = |at: usize| {
        let row = play_cases(cases, options, Some(&mutants[at]), arguments.quick);
        Interrupt::for_process().cause().is_none().then_some(row)
    };
    run_in_parallel(player_thread, options.jobs, mutants.len(), work, |at, row| {
        let name = &mutants[at].name;
        let killers = row.iter().filter(|(_, verdict)| *verdict == Verdict::NonConformant).count();
        note!("{name:32} killed by {killers} of {}", row.len());
        if let Some(file) = &mut outcomes_file {
            let lines = row.iter().map(|(case, verdict)| format!("{name}\t{case}\t{verdict}\n"));
            file.write_all(lines.collect::<String>().as_bytes()).map_err(failed)?;
        }
        rows[at] = row;
        Progress::for_process().advance(1);
        Ok(())
    })?;
    Ok(rows)
}

/// The verdicts of the cases of a mutant's controller, played on this thread. Without a mutant, the
/// verdicts of all cases on the unchanged controller.
fn play_cases(
    cases: &[(GoldenTimelines, Arc<Case>)],
    options: &SimulationOptions<'_>,
    mutant: Option<&Mutant>,
    quick: bool,
) -> CaseVerdicts {
    let mut row = CaseVerdicts::new();
    for (golden, case) in
        cases.iter().filter(|(_, case)| mutant.is_none_or(|mutant| case.controllers.has(mutant.controller)))
    {
        let verdict = match mutant {
            Some(mutant) => {
                with_mutant(&mutant.name, || judge_case(golden, case, options)).unwrap_or(Verdict::Inconclusive)
            }
            None => judge_case(golden, case, options),
        };
        if Interrupt::for_process().cause().is_some() {
            break;
        }
        row.push((case.name.clone(), verdict));
        if quick && verdict == Verdict::NonConformant {
            break;
        }
    }
    row
}

fn judge_case(golden: &GoldenTimelines, case: &Arc<Case>, options: &SimulationOptions<'_>) -> Verdict {
    match simulate(case, &SubjectSpec::Ours, &options.simulation(case.controllers.clone(), 0)) {
        Ok(recording) => verdict::judge(case, &recording, golden.for_server(&recording.header.cluster.version)).verdict,
        Err(_) => Verdict::Inconclusive,
    }
}

fn read_exceptions(arguments: &Arguments) -> Result<Exceptions, CliError> {
    let path = &arguments.exceptions;
    let failed = |source| FileError::File { path: path.clone(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Ok(serde_saphyr::from_str(&text).map_err(|error| failed(std::io::Error::other(error)))?)
}
