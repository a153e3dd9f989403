//! `lockstep faults`: plays a case once without faults, and then once for each kind of fault at
//! each of its writes.
//!
//! A case that declares faults itself, such as a file that this command wrote, is played with those
//! only.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryFutureExt, TryStreamExt, stream};
use lockstep_case::model::{Fault, FaultAction, FaultPoint};
use lockstep_case::{self as case, Case};
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::controllers::Controller;
use lockstep_recording::{FileName, Recording};
use lockstep_report::CaseFaults;
use lockstep_report::campaign::SAYS_NOTHING;
use lockstep_runner::Executor;
use lockstep_runner::run::{PlayPlan, PlayRound, RunEvent, Setup, Subscriber, Subscribers};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock::{self, Instant};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize::quote;
use lockstep_verdict::faults::{self, FaultKind, Point, PointLocation};
use lockstep_verdict::{FaultOutcome, ReferenceRun, fault_outcome, judge};

use super::cluster_args::default_cluster;
use super::golden::load_golden;
use super::out::note;
use super::play_args::PlayArgs;
use super::progress::Progress;
use super::reporter::{FaultsReporter, FormatArgs, NotesReporter, OutputFormat, ProgressReporter};
use super::rerun_command::CommandLine;
use super::select::CaseSelection;
use super::sharding::{Sharding, first_item, items};
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The controller to test; may be given several times.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: Vec<String>,
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    play_args: PlayArgs,
    /// Only these faults: crash, crash-before, crash-after, refuse, refuse-409 …, lost, lag.
    #[arg(help_heading = "Faults", long, value_delimiter = ',', value_name = "KINDS")]
    only: Vec<String>,
    /// At most this many faults per case, chosen by the seed, of every kind its share.
    #[arg(help_heading = "Faults", long, value_name = "N")]
    max_points: Option<usize>,
    /// Start no more faults after this time; what was not tried is reported.
    #[arg(help_heading = "Faults", long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    length: Option<Duration>,
    /// Folder for case files that repeat the faults that failed.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sharding: Sharding,
    #[command(flatten)]
    format: FormatArgs,
}

/// The flags that the rerun command of a case with one fault leaves out.
pub(super) const OMITTED_FROM_FAULT_RERUN: [&str; 11] =
    ["filter", "rerun_failed", "subject", "only", "max_points", "length", "out", "output", "jobs", "shard", "results"];

pub(super) async fn execute(mut arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    arguments.play_args.cluster_args = arguments.play_args.cluster_args.with_default(default_cluster("faults"));
    let kinds = parse_kinds(&arguments.only)?;
    let specs = arguments.subject.iter().map(|text| text.parse::<SubjectSpec>()).collect::<Result<Vec<_>, _>>()?;
    let cases = arguments.play_args.choose(&arguments.selection, &specs)?;
    arguments.play_args.check(&cases, &specs)?;
    output_paths::check_folder("--out", arguments.out.as_deref())?;
    arguments.sharding.check()?;
    let environments = arguments.play_args.by_environment(&arguments.play_args.setup(Subscribers::default()), cases);
    let rounds = [PlayRound { time: 1, seed: None }];
    let plans = arguments.sharding.plans(&environments, &rounds, false);
    let (items, here) = items(&plans, &specs);
    let plays = here.len();
    let shard = arguments.sharding.results(typed, items, |item| here.contains(&item.number));
    let since = clock::instant();
    let json = arguments.format.output == OutputFormat::Json;
    let progress = Arc::new(ProgressReporter::Naming);
    let mut reporters: Vec<Arc<dyn Subscriber>> =
        vec![progress, Arc::new(NotesReporter), Arc::new(FaultsReporter::new(json))];
    reporters.extend(shard.map(|shard| Arc::new(shard) as Arc<dyn Subscriber>));
    let events = Subscribers::new(reporters);
    let under_way = RefCell::default();
    let outcomes = RefCell::default();
    let tried = Cell::default();
    let sweep = Sweep { arguments: &arguments, typed, kinds: &kinds, events: &events, under_way, outcomes, tried };
    let mut result = Ok(());
    for ((setup, under_test, _), plan) in environments.iter().zip(&plans) {
        if plan.of_shard().next().is_none() {
            continue;
        }
        let setup = Setup { events: events.clone(), ..setup.clone() };
        let mut number = 0;
        let tried = setup.for_each_subject(under_test, &specs, usize::MAX, async |spec, player| {
            let first = first_item(plan, &specs, number);
            number += 1;
            sweep.try_subject(spec, player, (plan, first)).await
        });
        // After an interruption, the faults that were tried are still reported.
        if let Err(error) = tried.await {
            result = Err(error);
            break;
        }
    }
    let under_way: Vec<usize> = sweep.under_way.borrow().keys().copied().collect();
    under_way.into_iter().try_for_each(|item| sweep.finish_case(item).map(drop))?;
    let mut outcomes = sweep.outcomes.into_inner();
    // To have tried nothing proves nothing.
    let nothing = plays > 0 && sweep.tried.get() == 0 && result.is_ok();
    if nothing {
        outcomes.fill(RunOutcome::Inconclusive);
        note!("{}", no_fault_tried());
    }
    let cause = Interrupt::for_process().cause();
    let unplayed = result.is_err().then_some(plays.saturating_sub(outcomes.len()));
    events.emit(&RunEvent::RunEnded {
        outcomes: &outcomes,
        ended_between: 0,
        unplayed,
        cause,
        took: since.elapsed(),
    })?;
    result.map(|()| match nothing {
        true => RunOutcome::Inconclusive,
        false => arguments.sharding.outcome(outcomes, plays),
    })
}

/// The line of a run in which no fault was tried.
pub(super) fn no_fault_tried() -> String {
    format!("no fault was tried, {SAYS_NOTHING}; raise --for or --max-points, or name other kinds in --only")
}

/// A run of the command, with its results so far.
struct Sweep<'a> {
    arguments: &'a Arguments,
    typed: &'a CommandLine,
    kinds: &'a [FaultKind],
    events: &'a Subscribers,
    /// The cases whose faults are being tried, by item.
    under_way: RefCell<BTreeMap<usize, CaseFaults>>,
    /// The outcome of each case and subject so far.
    outcomes: RefCell<Vec<RunOutcome>>,
    /// The number of faults that were tried so far.
    tried: Cell<usize>,
}

impl Sweep<'_> {
    /// Try the faults of every case on a subject. While the last faults of a case are played, the
    /// next one begins.
    async fn try_subject(
        &self,
        spec: &SubjectSpec,
        player: &Executor,
        (plan, first): (&PlayPlan<'_>, usize),
    ) -> Result<(), CliError> {
        let (since, before) = (clock::instant(), self.outcomes.borrow().len());
        let mut plays = 0;
        let cases = plan.of_shard().count();
        Progress::for_process().expect("fault", None);
        let until_over = stream::iter((1..).zip(plan.of_shard())).take_while(|_| ready(!self.arguments.is_over(since)));
        let tried = until_over.map(|(nth, (play, _, number))| {
            let (case, item) = (&plan.cases[number], first + play - plan.before);
            async move {
                Progress::for_process().describe(format!("{}, case {nth} of {cases}", case.name));
                let longer = with_longer_end(player, case)?;
                self.try_case((spec, player), (longer.as_ref().unwrap_or(case), item), since).await?;
                Ok::<_, CliError>(item)
            }
        });
        let mut tried = std::pin::pin!(tried.buffered(player.lanes()));
        while let Some(item) = tried.try_next().await? {
            plays += 1 + self.finish_case(item)?;
        }
        note!("{spec}: {} in {:.1} s", pluralize(plays, "play"), since.elapsed().as_secs_f64());
        let skipped = cases - (self.outcomes.borrow().len() - before);
        if skipped > 0 {
            note!("{spec}: the time was spent; {skipped} of {cases} cases were not tried");
        }
        Ok(())
    }

    /// Report a case, of which no more points are tried; returns how many were.
    fn finish_case(&self, item: usize) -> Result<usize, CliError> {
        let of = self.under_way.borrow_mut().remove(&item);
        let Some(of) = of else { return Ok(0) };
        self.outcomes.borrow_mut().push(of.outcome());
        self.tried.set(self.tried.get() + of.tried.len());
        self.events.emit(&RunEvent::FaultsTried(&of))?;
        Ok(of.tried.len())
    }

    /// The point that stands for the faults that a case declares, unless `--only` leaves out all of
    /// them.
    fn declared_points(&self, case: &Case) -> Vec<Point> {
        let steps = case.given.iter().chain(&case.steps);
        let declared = steps.filter_map(|step| Some(declared_point(step.line, step.fault.as_ref()?)));
        let is_selected = |point: &Point| self.arguments.only.is_empty() || self.kinds.contains(&point.kind);
        declared.filter(is_selected).take(1).collect()
    }

    /// Try the faults of one case. It is under way from its play without faults on.
    async fn try_case(
        &self,
        (spec, player): (&SubjectSpec, &Executor),
        (case, item): (&Arc<Case>, usize),
        since: Instant,
    ) -> Result<(), CliError> {
        let arguments = self.arguments;
        let without = without_faults(case);
        let has_faults = without != **case;
        let recording = player.play(&without).await?;
        if !has_faults {
            note_own_defect(case, &recording)?;
        }
        let reference = Arc::new(ReferenceRun::of(case, &recording));
        let writes = faults::writes(&recording);
        let all = if has_faults { self.declared_points(case) } else { faults::points(case, &recording, self.kinds) };
        let of = CaseFaults {
            item,
            case: case.name.clone(),
            subject: recording.header.subject.clone(),
            rerun: arguments.rerun_parts(self.typed, spec),
            writes: writes.values().sum(),
            points: all.len(),
            tried: Vec::new(),
        };
        self.under_way.borrow_mut().insert(item, of);
        let add = |at: usize, tried| {
            let mut under_way = self.under_way.borrow_mut();
            under_way.get_mut(&item).expect("it is under way until this function returns").tried.insert(at, tried);
        };
        if has_faults {
            if let Some(point) = all.into_iter().next() {
                let faulted = player.play(case).await?;
                add(0, (point, fault_outcome(case, &reference, &faulted), Some(case.argument())));
            }
            return Ok(());
        }
        let points = faults::sample(all, &case.name, arguments.max_points, arguments.play_args.seed());
        let points = stream::iter(points).enumerate().take_while(|_| ready(!arguments.is_over(since)));
        let plays = points.map(|(number, point)| {
            let tried = arguments.try_point(player, case, &reference, point);
            tried.map_ok(move |tried| (number, tried))
        });
        let mut plays = std::pin::pin!(plays.buffer_unordered(player.lanes()));
        let mut numbers = Vec::new();
        while let Some((number, tried)) = plays.try_next().await? {
            let at = numbers.partition_point(|earlier| *earlier < number);
            numbers.insert(at, number);
            add(at, tried);
            Progress::for_process().advance(1);
        }
        Ok(())
    }
}

impl Arguments {
    /// The parts of the rerun command before and after the name of the case file.
    fn rerun_parts(&self, typed: &CommandLine, spec: &SubjectSpec) -> [String; 2] {
        let subject = self.subject.iter().find(|text| text.parse().is_ok_and(|one: SubjectSpec| one == *spec));
        let subject = quote(&subject.map_or_else(|| spec.to_string(), Clone::clone));
        [typed.beginning(), format!(" --subject {subject}{}", typed.flags(&OMITTED_FROM_FAULT_RERUN))]
    }

    /// Try one fault point of a case. Returns the result, and the file that reproduces a failure.
    async fn try_point(
        &self,
        player: &Executor,
        case: &Arc<Case>,
        reference: &Arc<ReferenceRun>,
        point: Point,
    ) -> Result<(Point, FaultOutcome, Option<String>), CliError> {
        let injected = match inject(case, &point)? {
            Ok(injected) => injected,
            Err(outcome) => return Ok((point, outcome, None)),
        };
        let faulted = player.play(&injected).await?;
        let (judged, reference) = (Arc::clone(&injected), Arc::clone(reference));
        let result = judge_apart(move || fault_outcome(&judged, &reference, &faulted)).await;
        let failed = matches!(result, FaultOutcome::Failed(_) | FaultOutcome::Unknown(_));
        let file = match &self.out {
            Some(folder) if failed => Some(write_case(&folder.join("faults"), case, &point, &injected.source)?),
            _ => None,
        };
        tracing::info!(case = case.name, %point, ?result, "tried");
        Ok((point, result, file))
    }

    /// Whether the time limit has passed.
    fn is_over(&self, since: Instant) -> bool {
        self.length.is_some_and(|length| since.elapsed() >= length)
    }
}

/// Says so if the subject was wrong without a fault: what a fault changes is only compared with
/// that. The end of a config-restart case may be longer than in its golden timeline.
fn note_own_defect(case: &Arc<Case>, recording: &Recording) -> Result<(), CliError> {
    let goldens = load_golden(case)?;
    let goldens = goldens.for_subject(&recording.header, None);
    let golden = goldens.for_server(&recording.header.cluster.version);
    let golden = golden.filter(|_| !case.controllers.has(Controller::ConfigRestart));
    if judge(case, recording, golden).outcome() == RunOutcome::NonConformant {
        let subject = &recording.header.subject.name;
        note!("{}: without a fault {subject} did not do what the case expects; see `lockstep run`", case.name);
    }
    Ok(())
}

/// Judges on another thread: judging takes up to a fifth of a play, and no lane waits for it.
pub(super) async fn judge_apart(judge: impl FnOnce() -> FaultOutcome + Send + 'static) -> FaultOutcome {
    let judged = tokio::task::spawn_blocking(judge).await;
    judged.unwrap_or_else(|stopped| FaultOutcome::Unknown(format!("judging stopped: {stopped}")))
}

/// The case with a fault at this point, or why it cannot have one there.
pub(super) fn inject(case: &Case, point: &Point) -> Result<Result<Arc<Case>, FaultOutcome>, CliError> {
    let Some(text) = faults::inject(case, point) else {
        let why = "the step's line leaves no place for a fault; write the operation on the line of its dash";
        return Ok(Err(FaultOutcome::Unknown(why.to_owned())));
    };
    with_text(case, &text).map(Ok)
}

/// The case with the text that it has with faults. The user knows the lines of its rules as they
/// are written.
pub(super) fn with_text(case: &Case, text: &str) -> Result<Arc<Case>, CliError> {
    let with_faults = case::parse(&case.path, &case.name, text)?;
    Ok(Arc::new(Case { rules: case.rules.clone(), ..with_faults }))
}

/// The kinds of faults that the user selected.
fn parse_kinds(only: &[String]) -> Result<Vec<FaultKind>, CliError> {
    if only.is_empty() {
        return Ok(FaultKind::ALL.to_vec());
    }
    let mut kinds = Vec::new();
    for word in only {
        let selected = FaultKind::matching(word);
        if selected.is_empty() {
            let known: Vec<String> = FaultKind::ALL.iter().map(ToString::to_string).collect();
            let why = format!("unknown fault `{word}`: expected crash, refuse, or one of {}", known.join(", "));
            return Err(CliError::Usage(why));
        }
        for kind in selected {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    Ok(kinds)
}

/// A config-restart case with additional time at its end, which costs nothing in virtual time. A
/// case that declares faults itself already has enough time.
pub(super) fn with_longer_end(player: &Executor, case: &Case) -> Result<Option<Arc<Case>>, CliError> {
    let is_virtual = player.sessions().is_empty();
    if !is_virtual || !case.controllers.has(Controller::ConfigRestart) || without_faults(case) != *case {
        return Ok(None);
    }
    let text = faults::add_recovery_time(case);
    text.map(|text| Ok(Arc::new(case::parse(&case.path, &case.name, &text)?))).transpose()
}

/// The case without its faults.
fn without_faults(case: &Case) -> Case {
    let mut without = case.clone();
    without.given.iter_mut().chain(&mut without.steps).for_each(|step| step.fault = None);
    without
}

/// The point of a fault that a case declares in the step on this line.
fn declared_point(line: usize, fault: &Fault) -> Point {
    let after = matches!(fault.point, FaultPoint::Write { after: true, .. });
    let kind = match fault.action {
        FaultAction::Crash if after => FaultKind::CrashAfter,
        FaultAction::Crash => FaultKind::CrashBefore,
        FaultAction::Refuse(code) => FaultKind::Refuse(code),
        FaultAction::Drop => FaultKind::Lost,
        FaultAction::Lag(_) => FaultKind::Lag,
        FaultAction::Handover { back } => FaultKind::Handover { after, back },
        FaultAction::Cut => FaultKind::Declared("cut"),
        FaultAction::Delay(_) => FaultKind::Declared("delay"),
        FaultAction::Repeat => FaultKind::Declared("repeat"),
        FaultAction::Expire => FaultKind::Declared("expire"),
        FaultAction::Old(_) => FaultKind::Declared("old"),
        FaultAction::Overtaken(_) => FaultKind::Declared("overtaken"),
    };
    let location = match &fault.point {
        FaultPoint::Watch { resource, .. } => PointLocation::Watch(resource.clone()),
        FaultPoint::Write { nth, resource, subresource, .. } => {
            let slash = if subresource.is_empty() { "" } else { "/" };
            PointLocation::Write { line, resource: format!("{resource}{slash}{subresource}"), nth: *nth }
        }
    };
    Point { kind, location }
}

/// Write a case that repeats a fault into a folder; returns its path.
pub(super) fn write_case(folder: &Path, case: &Case, point: &Point, text: &str) -> Result<String, CliError> {
    let name = FileName::of(&format!("{}-{}", case.name.replace('/', "-"), point.file_name()));
    let path = folder.join(name.with_ending(".yaml"));
    output_paths::write(&path, text)?;
    Ok(format!("{}{}", path.display(), case.profile_suffix()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_two_words_select_are_tried_once() {
        let only = ["crash", "crash-before", "lag", "crash"].map(str::to_owned);
        assert_eq!(parse_kinds(&only).unwrap(), [FaultKind::CrashBefore, FaultKind::CrashAfter, FaultKind::Lag]);
    }
}
