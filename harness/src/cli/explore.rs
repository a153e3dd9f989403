//! `lockstep explore`: plays a case in every order in which its events can reach the controller, up
//! to a bound.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::{FileName, Recording, RecordingEntry, secret};
use lockstep_report::campaign::{self, Item, digest_of};
use lockstep_runner::Executor;
use lockstep_runner::run::{PlayPlan, Setup};
use lockstep_search::explore::{Delay, OrderResult, OrderSearch, OutcomeClass, Outcomes, StopCause, states, text};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock::{self, Instant};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize::quote;
use lockstep_verdict::Verdict;

use super::faults::with_text;
use super::golden::load_golden;
use super::out::say;
use super::play_args::{CommonPlayArgs, PlayArgs, ScopeArgs};
use super::progress::Progress;
use super::reporter::{ProgressReporter, messages};
use super::rerun_command::CommandLine;
use super::select::CaseSelection;
use super::sharding::Sharding;
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths};

/// How many orders are played before their outcomes are evaluated.
const BATCH: usize = 64;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The controller to explore.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: String,
    /// Explore this controller too, and say which outcomes it does not have.
    #[arg(help_heading = "Subject", long, value_name = "SUBJECT")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    against: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    common: CommonPlayArgs,
    /// At how many places of a case something may be late; two of them may be in one step, in
    /// different streams.
    #[arg(help_heading = "Search", long, value_name = "N", default_value_t = 1)]
    late: usize,
    /// Play at most this many orders of a case.
    #[arg(help_heading = "Search", long, value_name = "N", default_value_t = 20_000)]
    max_orders: usize,
    /// Folder for cases that repeat the outcomes.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sharding: Sharding,
}

pub(super) async fn execute(arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let play_args = PlayArgs::simulated(arguments.scope.clone(), arguments.common.clone());
    let mut specs = vec![arguments.subject.parse::<SubjectSpec>()?];
    if let Some(against) = &arguments.against {
        specs.push(against.parse()?);
    }
    let cases = play_args.choose(&arguments.selection, &specs)?;
    play_args.check(&cases, &specs)?;
    output_paths::check_folder("--out", arguments.out.as_deref())?;
    arguments.sharding.check()?;
    let setup = play_args.setup(messages(ProgressReporter::Counting));
    let names = cases.iter().map(|case| (format!("{} explored on {}", case.name, joined(&specs)), digest_of(case)));
    let items = names.enumerate().map(|(number, (name, digest))| Item::new(number, name, &digest)).collect();
    let (shard, since) = (arguments.sharding.shard(), clock::instant());
    let results = arguments.sharding.results(typed, items, |item| shard.has(item.number));
    let mut outcomes = Vec::new();
    let ended = async {
        for (item, case) in cases.iter().enumerate().filter(|(item, _)| shard.has(*item)) {
            let mut explored: Vec<Exploration> = specs.iter().map(|_| Exploration::default()).collect();
            let mut each = explored.iter_mut();
            let ended = setup.for_each_subject_keeping_programs(&case.controllers, &specs, BATCH, async |_, player| {
                let one = each.next().expect("one for each subject");
                explore_case(&arguments, &setup, player, case, one).await
            });
            match ended.await {
                Ok(_) | Err(CliError::Interrupted(_)) => {}
                Err(error) => return Err(error),
            }
            explored.retain(|one| one.plays > 0);
            let mut lines = Vec::new();
            for (spec, one) in specs.iter().zip(&explored) {
                lines.extend(one.lines(spec, case));
                lines.extend(list_outcomes(&arguments, typed, (spec, case), &one.outcomes)?);
            }
            let (mut verdict, mut unmatched) = (Verdict::Inconclusive, Vec::new());
            if let [subject, rest @ ..] = explored.as_slice() {
                (verdict, unmatched) = judge_outcomes(&specs, subject, rest.first());
            }
            lines.extend(unmatched);
            lines.iter().for_each(|line| say!("{line}"));
            let outcome = RunOutcome::from(verdict);
            if let Some(results) = &results {
                let explored = campaign::ExploreResult { item, lines, exit_code: outcome.code() };
                results.add(serde_json::to_string(&explored).expect("texts and numbers can be written as JSON"));
            }
            outcomes.push(outcome);
            if Interrupt::for_process().cause().is_some() {
                break;
            }
        }
        Ok(())
    }
    .await;
    setup.close_programs().await;
    ended?;
    if let (Some(results), None) = (results, Interrupt::for_process().cause()) {
        results.write(&outcomes, 0, since.elapsed().as_secs_f64())?;
    }
    let here = outcomes.len();
    Ok(arguments.sharding.outcome(outcomes, here))
}

fn joined(specs: &[SubjectSpec]) -> String {
    specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// What one exploration has found so far.
#[derive(Debug, Default)]
struct Exploration {
    outcomes: Outcomes,
    /// The number of plays.
    plays: usize,
    /// The number of distinct orders.
    orders: usize,
    /// The states of the server, as fingerprints.
    states: BTreeSet<u64>,
    /// The number of those states in which a step settled.
    settled: usize,
    /// Whether all orders were played.
    is_complete: bool,
    seconds: f64,
}

/// Play all orders of a case with one subject.
async fn explore_case(
    arguments: &Arguments,
    setup: &Setup,
    player: &Executor,
    case: &Arc<Case>,
    one: &mut Exploration,
) -> Result<(), CliError> {
    let since = clock::instant();
    Progress::for_process().expect("play", None);
    let first = play_cases(setup, player, &[Arc::clone(case)]).await?;
    let Some(first) = first.into_iter().next().flatten() else {
        return Err(CliError::Usage(format!("{} was not played", case.path)));
    };
    one.outcomes.add(case, &first, &[]);
    let undelayed = states(&first);
    let mut orders = OrderSearch::of(case, &first.header.under_test, arguments.late, &undelayed.settled);
    one.states.extend(undelayed.all);
    one.plays = 1;
    one.count(&orders, since);
    while one.plays < arguments.max_orders {
        let batch = orders.take(BATCH.min(arguments.max_orders - one.plays));
        if batch.is_empty() {
            break;
        }
        let cases = batch.iter().map(|order| with_delays(case, order)).collect::<Result<Vec<_>, _>>()?;
        let recordings = play_cases(setup, player, &cases).await?;
        one.plays += batch.len();
        for ((order, case), recording) in batch.iter().zip(&cases).zip(recordings) {
            let Some(recording) = recording else { continue };
            // If no event came that could be delayed, the play ended early.
            let Some(overtaken) = times_overtaken(order, &recording) else { continue };
            let states = states(&recording);
            let settled = order.last().and_then(|last| states.settled.get(last.step).copied());
            if let Some(real) = orders.record(order, OrderResult { overtaken, settled }) {
                one.outcomes.add(case, &recording, &real);
            }
            one.states.extend(states.all);
        }
        one.count(&orders, since);
        let (found, kinds) = (pluralize(one.orders, "order"), pluralize(one.outcomes.classes().len(), "outcome"));
        Progress::for_process().describe(format!("of {}: {found}, {kinds};", case.name));
    }
    one.is_complete = orders.take(1).is_empty();
    Ok(())
}

/// The case with the delays of an order.
fn with_delays(case: &Case, order: &[Delay]) -> Result<Arc<Case>, CliError> {
    let Some(text) = text(case, order) else {
        let why = "a step leaves no place for a fault; write its operation on the line of its dash";
        return Err(CliError::Usage(format!("{}: {why}", case.path)));
    };
    with_text(case, &text)
}

async fn play_cases(setup: &Setup, player: &Executor, cases: &[Arc<Case>]) -> Result<Vec<Option<Recording>>, CliError> {
    let mut recordings: Vec<Option<Recording>> = cases.iter().map(|_| None).collect();
    let playing = setup.play_each(player, PlayPlan::once(cases), async |played| {
        recordings[played.number] = Some(played.recording);
        Ok::<_, CliError>(ControlFlow::Continue(()))
    });
    playing.await?;
    Ok(recordings)
}

/// How many events overtook the last delayed event of an order, if that event came.
fn times_overtaken(order: &[Delay], recording: &Recording) -> Option<u32> {
    // The recording has a note for each delayed event, in order.
    let mut notes = recording.entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Injected(met) => met.description.rsplit_once(": overtaken by ")?.1.parse().ok(),
        _ => None,
    });
    notes.nth(order.len().checked_sub(1)?)
}

impl Exploration {
    fn count(&mut self, orders: &OrderSearch, since: Instant) {
        (self.orders, self.settled) = (orders.count(), orders.states());
        self.seconds = since.elapsed().as_secs_f64();
    }

    fn lines(&self, spec: &SubjectSpec, case: &Case) -> Vec<String> {
        let Self { plays, orders, settled, seconds, .. } = self;
        let mut lines = vec![format!(
            "{} on {spec}: {} in {}, {} of the server, {settled} of them settled; {}, {seconds:.1} s",
            case.name,
            pluralize(*orders, "order"),
            pluralize(*plays, "play"),
            pluralize(self.states.len(), "state"),
            pluralize(self.outcomes.classes().len(), "outcome")
        )];
        if !self.is_complete {
            lines.push("  not all of them: --max-orders, or an interruption, ended it".to_owned());
        }
        lines
    }
}

/// The lines for each outcome, with the case that reproduces it.
fn list_outcomes(
    arguments: &Arguments,
    typed: &CommandLine,
    (spec, case): (&SubjectSpec, &Case),
    outcomes: &Outcomes,
) -> Result<Vec<String>, CliError> {
    let (golden, mut lines) = (load_golden(case)?, Vec::new());
    let goldens = golden.for_server(lockstep_cluster::DEFAULT_VERSION);
    let kinds = outcomes.classes();
    let is_golden =
        |kind: &OutcomeClass| goldens.is_some_and(|golden| golden.outcomes().any(|timeline| kind.is_as(timeline)));
    for (number, kind) in (1..).zip(kinds) {
        let mark = if is_golden(kind) { ", as upstream's golden timeline" } else { "" };
        lines.push(format!("  {number}  {}{mark}", pluralize(kind.orders, "order")));
        if let Some(difference) = kinds.first().and_then(|first| kind.differs_from(first)) {
            let line = |line: Option<&lockstep_timeline::TimelineLine>| {
                line.map_or_else(|| "nothing".to_owned(), |line| line.to_string().trim().to_owned())
            };
            let (done, instead_of) = (line(difference.actual_line()), line(difference.expected_line()));
            lines.push(format!("     {}: {done} instead of {instead_of}", difference.label));
        }
        lines.extend(kind.stopped.iter().map(|stop| format!("     {}", stop.why)));
        lines.extend(kind.broken.iter().map(|broken| format!("     {broken}")));
        if kind.order.is_empty() {
            continue;
        }
        lines.extend(kind.order.iter().map(|late| format!("     {late}")));
        if let Some(folder) = &arguments.out {
            let path = write_case(folder, case, (spec, number), kind)?;
            let file = quote(&path.display().to_string());
            lines.push(format!("     {} run {file} --subject {}", typed.program, quote(&spec.to_string())));
        }
    }
    let is_of_this_version = !matches!(spec, SubjectSpec::Upstream(Some(_)));
    if is_of_this_version && goldens.is_some() && !kinds.iter().any(is_golden) {
        lines.push(format!("  no order of events gives upstream's golden timeline; see `{} run`", typed.program));
    }
    Ok(lines)
}

/// Write the shortest order of an outcome as a case.
fn write_case(
    folder: &Path,
    case: &Case,
    (spec, number): (&SubjectSpec, usize),
    kind: &OutcomeClass,
) -> Result<PathBuf, CliError> {
    let subject: String =
        spec.to_string().chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let name = FileName::of(&format!("{}-{subject}-{number}", case.name.replace('/', "-")));
    let path = folder.join(name.with_ending(".yaml"));
    let text = secret::redact_text(&text(case, &kind.order).unwrap_or_default());
    output_paths::write(&path, &text)?;
    Ok(path)
}

/// The verdict, and a line for each outcome that the other controller does not have. Something
/// broken or such an outcome is the subject's failure, unless the test environment aborted the run
/// or an order of the other controller that was not played may have that outcome.
fn judge_outcomes(
    specs: &[SubjectSpec],
    subject: &Exploration,
    reference: Option<&Exploration>,
) -> (Verdict, Vec<String>) {
    let mut unmatched = Vec::new();
    let mut worst = if subject.is_complete { Verdict::Conformant } else { Verdict::Inconclusive };
    for (number, kind) in (1..).zip(subject.outcomes.classes()) {
        let cause = kind.stopped.as_ref().map(|stop| stop.cause);
        worst = worst.max(match reference {
            _ if cause == Some(StopCause::Environment) => Verdict::Inconclusive,
            Some(other) if other.outcomes.have(kind) => Verdict::Conformant,
            Some(other) => {
                unmatched.push(format!("  outcome {number} of {} is none of {}'s", specs[0], specs[1]));
                if other.is_complete { Verdict::NonConformant } else { Verdict::Inconclusive }
            }
            None if cause == Some(StopCause::Subject) || !kind.broken.is_empty() => Verdict::NonConformant,
            None if cause.is_some() => Verdict::Inconclusive,
            None => Verdict::Conformant,
        });
    }
    (worst, unmatched)
}

#[cfg(test)]
mod tests {
    use lockstep_recording::Blame;
    use lockstep_recording::testing::{RecordingBuilder, of_case, scaled_to};
    use lockstep_verdict::testing::case_of;
    use rstest::rstest;

    use super::*;

    fn explored(recording: &Recording, is_complete: bool) -> Exploration {
        let mut explored = Exploration { is_complete, ..Exploration::default() };
        explored.outcomes.add(&case_of(recording), recording, &[]);
        explored
    }

    fn stopped(by: impl FnOnce(RecordingBuilder) -> RecordingBuilder) -> Recording {
        by(RecordingBuilder::rolled_out(10).user_step(1, "scale 12")).aborted()
    }

    #[rstest]
    #[case::step_that_an_order_makes_impossible(stopped(|run| run.impossible("no pod")), None, Verdict::Inconclusive)]
    #[case::step_that_the_other_performs_in_every_order(
        stopped(|run| run.impossible("no pod")),
        Some((scaled_to(12), false)),
        Verdict::NonConformant
    )]
    #[case::environment(
        stopped(|run| run.trouble(Blame::Environment, "the server is gone")),
        Some((scaled_to(12), false)),
        Verdict::Inconclusive
    )]
    #[case::subject(stopped(|run| run.trouble(Blame::Subject, "it ended")), None, Verdict::NonConformant)]
    #[case::rule(
        of_case("rules: {always: [\"replicaSets[0].spec.replicas < 12\"]}\n", scaled_to(12)),
        None,
        Verdict::NonConformant
    )]
    #[case::outcome_of_both(scaled_to(12), Some((scaled_to(12), true)), Verdict::Conformant)]
    #[case::outcome_of_one(scaled_to(13), Some((scaled_to(12), false)), Verdict::NonConformant)]
    #[case::orders_of_the_other_are_skipped(scaled_to(13), Some((scaled_to(12), true)), Verdict::Inconclusive)]
    fn only_a_complete_search_accuses_and_only_the_subject(
        #[case] subject: Recording,
        #[case] reference: Option<(Recording, bool)>,
        #[case] expected: Verdict,
    ) {
        let specs = [SubjectSpec::Ours, SubjectSpec::Ours];
        let reference = reference.map(|(recording, is_cut)| explored(&recording, !is_cut));
        assert_eq!(judge_outcomes(&specs, &explored(&subject, true), reference.as_ref()).0, expected);
    }
}
