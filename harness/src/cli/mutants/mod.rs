//! `lockstep mutants`: plays the mutant bank on the simulated cluster, to prove that every mutant
//! fails a case, and that every case can fail. `harness/tests/mutants.yaml` says which case kills
//! which mutant, and these are played. What that leaves open is searched: a mutant is played until
//! a case kills it, and a case until it kills a mutant.
//!
//! * `matrix` evaluates the verdicts: which mutants the cases kill, and which cases kill a mutant.
//! * `search` plays the mutants on random programs instead of cases.
//! * `simulation` has the simulated clusters and the threads of both.

mod matrix;
mod search;
mod simulation;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
use matrix::{BankExpectations, Matrix, PlayedScope, killing_cases};
use search::MutantSearch;
use simulation::{SimulationOptions, player_thread, silence_players};

use super::CliError;
use super::golden::load_golden;
use super::out::{self, note, say};
use super::parallel::run_in_parallel;
use super::progress::Progress;
use super::select::CaseSelection;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: CaseSelection,
    /// Only mutants whose name contains this text; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// List the mutants; play nothing.
    #[arg(long)]
    list: bool,
    /// Which case kills which mutant; mutants that may survive and cases that kill none, each with
    /// its reason.
    #[arg(long, value_name = "FILE", default_value = "harness/tests/mutants.yaml")]
    expected: PathBuf,
    /// Whose controllers run beside the mutant: simulated, upstream or upstream:VERSION.
    #[arg(long, default_value_t, value_name = "CONTROLLERS")]
    cluster_controllers: ClusterControllers,
    /// Mutants played in parallel [default: number of cores].
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Look for each mutant with random programs, as `fuzz` does, instead of the cases.
    ///
    /// Each program is played on upstream once, and on every mutant that was not found yet.
    #[arg(long)]
    search: bool,
    /// With --search: give up after this many programs.
    #[arg(long, value_name = "N", default_value_t = 3000, requires = "search")]
    programs: usize,
    /// With --search: the seed of the programs.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "search")]
    seeds: u64,
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
    let expected = read_expectations(arguments)?;
    if arguments.search {
        mutants.retain(|mutant| mutant.controller != Controller::ConfigRestart);
        mutants.retain(|mutant| !expected.survivors.contains_key(&mutant.name));
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
    let bank = Bank { cases: &cases, mutants: &mutants, expected: &expected, options: &options };
    let right = play_unchanged(&bank, arguments)?;
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
    let mut rows = vec![CaseVerdicts::new(); mutants.len()];
    bank.play_mutants(&mut rows)?;
    if arguments.only.is_empty() && Interrupt::for_process().cause().is_none() {
        bank.play_cases(&mut rows)?;
    }
    if let Some(cause) = Interrupt::for_process().cause() {
        return Err(CliError::Interrupted(cause));
    }
    let mut matrix = Matrix::default();
    mutants.into_iter().zip(rows).for_each(|(mutant, row)| matrix.add(mutant, row));
    let scope = PlayedScope { all_mutants: arguments.only.is_empty(), all_cases: arguments.selection.is_all() };
    let faults = matrix.faults(&expected, scope);
    out::result(format_args!("{}", matrix.table(&expected, scope)));
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
fn play_unchanged(bank: &Bank<'_>, arguments: &Arguments) -> Result<CaseVerdicts, CliError> {
    let failed = |source| FileError::File { path: arguments.expected.clone(), source };
    Progress::for_process().describe("the unchanged controller".to_owned());
    let play_all = || {
        let played =
            bank.cases.iter().map(|(golden, case)| (case.name.clone(), judge_case(golden, case, bank.options)));
        played.take_while(|_| Interrupt::for_process().cause().is_none()).collect()
    };
    std::thread::scope(|scope| {
        let playing = player_thread().spawn_scoped(scope, play_all).map_err(failed)?;
        let played = playing.join();
        Ok(played.map_err(|_| failed(std::io::Error::other("the unchanged controller cannot be played: a bug")))?)
    })
}

/// What is played.
struct Bank<'a> {
    cases: &'a [(GoldenTimelines, Arc<Case>)],
    mutants: &'a [Mutant],
    expected: &'a BankExpectations,
    options: &'a SimulationOptions<'a>,
}

impl Bank<'_> {
    /// The verdicts on each mutant: of the cases that are expected to kill it, and if none does, of
    /// the others until one does.
    fn play_mutants(&self, rows: &mut [CaseVerdicts]) -> Result<(), CliError> {
        Progress::for_process().expect("mutant", Some(self.mutants.len()));
        Progress::for_process().describe(String::new());
        let work = |at: usize| {
            let mutant = &self.mutants[at];
            let is_expected = |case: &Case| self.expected.kills(&mutant.name).contains(&case.name);
            let cases = self.cases.iter().filter(|(_, case)| case.controllers.has(mutant.controller));
            let (expected, rest): (Vec<_>, Vec<_>) = cases.partition(|(_, case)| is_expected(case));
            let mut played = Vec::new();
            for case in expected {
                played.push(self.judge(mutant, case)?);
            }
            if killing_cases(&played).next().is_none() {
                played.extend(self.until_killed(rest.into_iter().map(|case| (mutant, case)))?);
            }
            Some(played)
        };
        run_in_parallel(player_thread, self.options.jobs, self.mutants.len(), work, |at, played| {
            rows[at].extend(played);
            Progress::for_process().advance(1);
            Ok(())
        })
    }

    /// The verdicts of each case that has killed no mutant yet, until it kills one. Mutants that
    /// many cases kill are played first; which these are shows as the cases are played.
    fn play_cases(&self, rows: &mut [CaseVerdicts]) -> Result<(), CliError> {
        let killers: BTreeSet<String> = rows.iter().flat_map(|row| killing_cases(row)).map(str::to_owned).collect();
        let cases: Vec<_> = self.cases.iter().filter(|(_, case)| !killers.contains(&case.name)).collect();
        let mut tried: Vec<BTreeSet<String>> = Vec::new();
        tried.extend(rows.iter().map(|row| row.iter().map(|(case, _)| case.clone()).collect()));
        let kills: Vec<AtomicUsize> = rows.iter().map(|_| AtomicUsize::new(0)).collect();
        Progress::for_process().expect("case", Some(cases.len()));
        let work = |at: usize| {
            let case = cases[at];
            let is_left =
                |at: &usize| case.1.controllers.has(self.mutants[*at].controller) && !tried[*at].contains(&case.1.name);
            let mut order: Vec<usize> = (0..self.mutants.len()).filter(is_left).collect();
            order.sort_by_cached_key(|at| Reverse(kills[*at].load(Ordering::Relaxed)));
            let played = self.until_killed(order.iter().map(|at| (&self.mutants[*at], case)))?;
            let played: Vec<_> = order.into_iter().zip(played).collect();
            if let Some((at, (_, Verdict::NonConformant))) = played.last() {
                kills[*at].fetch_add(1, Ordering::Relaxed);
            }
            Some(played)
        };
        run_in_parallel(player_thread, self.options.jobs, cases.len(), work, |_, played| {
            for (at, verdict) in played {
                rows[at].push(verdict);
            }
            Progress::for_process().advance(1);
            Ok(())
        })
    }

    /// The name of the case and the verdict of each pair until a mutant is killed. `None` after an
    /// interrupt.
    fn until_killed<'c>(
        &self,
        pairs: impl Iterator<Item = (&'c Mutant, &'c (GoldenTimelines, Arc<Case>))>,
    ) -> Option<CaseVerdicts> {
        let mut played = CaseVerdicts::new();
        for (mutant, case) in pairs {
            played.push(self.judge(mutant, case)?);
            if killing_cases(&played).next().is_some() {
                break;
            }
        }
        Some(played)
    }

    /// The name of the case, and its verdict on the mutant. `None` after an interrupt.
    fn judge(&self, mutant: &Mutant, (golden, case): &(GoldenTimelines, Arc<Case>)) -> Option<(String, Verdict)> {
        let verdict = with_mutant(&mutant.name, || judge_case(golden, case, self.options));
        let verdict = verdict.unwrap_or(Verdict::Inconclusive);
        Interrupt::for_process().cause().is_none().then(|| (case.name.clone(), verdict))
    }
}

fn judge_case(golden: &GoldenTimelines, case: &Arc<Case>, options: &SimulationOptions<'_>) -> Verdict {
    match simulate(case, &SubjectSpec::Ours, &options.simulation(case.controllers.clone(), 0)) {
        Ok(recording) => verdict::judge(case, &recording, golden.for_server(&recording.header.cluster.version)).verdict,
        Err(_) => Verdict::Inconclusive,
    }
}

fn read_expectations(arguments: &Arguments) -> Result<BankExpectations, CliError> {
    let path = &arguments.expected;
    let failed = |source| FileError::File { path: path.clone(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Ok(serde_saphyr::from_str(&text).map_err(|error| failed(std::io::Error::other(error)))?)
}
