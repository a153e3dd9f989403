//! `lockstep handover`: plays a case with one subject, and then once for each of its writes, at
//! which another subject takes over.
//!
//! A case may end as it does with either subject alone. A subject that leaves something to chance
//! is played several times before anything counts as a difference. A difference is made small: the
//! steps go that it does not need.
//!
//! A case that declares handovers itself, such as a file that this command wrote, is played with
//! those only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use lockstep_case::known_changes::{self, KnownChange};
use lockstep_case::model::{FaultAction, ProcessAction};
use lockstep_case::{self as case, Case, RestartOptions, RestartProfile};
use lockstep_recording::{Recording, Trouble};
use lockstep_report::campaign::SAYS_NOTHING;
use lockstep_report::{self as report, CaseHandovers, HandoverDifference, TriedHandover};
use lockstep_runner::run::{FileError, Setup, Subscribers};
use lockstep_runner::{Executor, SubjectPlan, Successor};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock::{self, Instant};
use lockstep_support::collection;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize::quote;
use lockstep_timeline::Timeline;
use lockstep_timeline::versions::{DEFAULT_VERSION, Minor, wording_of};
use lockstep_verdict::faults::{self, FaultKind, Point};
use lockstep_verdict::{FaultOutcome, ReferenceRun, handover_outcome};

use super::cluster_args::default_cluster;
use super::coverage::table_above;
use super::faults::{inject, judge_apart, with_longer_end, write_case};
use super::out::{self, colour, note, say};
use super::play_args::PlayArgs;
use super::progress::Progress;
use super::reporter::NotesReporter;
use super::rerun_command::CommandLine;
use super::select::CaseSelection;
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    play_args: PlayArgs,
    /// The controller that begins. Values as for `lockstep run --subject`.
    #[arg(help_heading = "Subject", long, value_name = "SUBJECT", required_unless_present = "between")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    from: Option<String>,
    /// The controller that takes over.
    #[arg(help_heading = "Subject", long, value_name = "SUBJECT", required_unless_present = "between")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    to: Option<String>,
    /// From each of these controllers to the next one, and back to the one before, such as
    /// upstream:v1.33.13,upstream:v1.36.3,ours.
    #[arg(help_heading = "Subject", long, value_name = "SUBJECTS", value_delimiter = ',', conflicts_with_all = ["from", "to"])]
    between: Vec<String>,
    /// The profile by which the second one restarts workloads [default: that of each case].
    #[arg(help_heading = "Subject", long, value_name = "PROFILE")]
    to_profile: Option<RestartProfile>,
    /// The first controller takes over again at the next step.
    #[arg(help_heading = "Handovers", long)]
    back: bool,
    /// At most this many handovers per case, chosen by the seed.
    #[arg(help_heading = "Handovers", long, value_name = "N")]
    max_points: Option<usize>,
    /// Start no more handovers after this time; what was not tried is reported.
    #[arg(help_heading = "Handovers", long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    length: Option<Duration>,
    /// Folder for case files that repeat the handovers that changed something.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    output: HandoverFormat,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum HandoverFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object per line and case.
    Json,
    /// A table for a page.
    Markdown,
}

/// How often each subject is played alone before a handover counts as the cause of a difference:
/// in virtual time, on clusters that outlive a case, and while a case is made small. In virtual
/// time it is cheap: of what shows in three of two hundred plays, one in fifty is missed.
const CONFIRM_PLAYS: [usize; 3] = [256, 3, 2];
/// The place of the handovers that a case declares.
const DECLARED: &str = "the handovers of the case";
/// The width of two timelines, one below the other.
const WIDTH: usize = 100;
/// The flags that the command of one case with its handover leaves out.
const OMITTED_FROM_RERUN: [&str; 11] =
    ["filter", "rerun_failed", "from", "to", "between", "back", "max_points", "length", "out", "output", "jobs"];

pub(super) async fn execute(mut arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    arguments.play_args.cluster_args = arguments.play_args.cluster_args.with_default(default_cluster("handover"));
    let why = "two controllers run there already, one after the other";
    arguments.play_args.refuse_beside("handover", why)?;
    let pairs = arguments.pairs()?;
    let specs: Vec<SubjectSpec> = pairs.iter().flatten().cloned().collect();
    let cases = arguments.play_args.choose(&arguments.selection, &specs)?;
    arguments.play_args.check(&cases, &specs)?;
    arguments.check_profile(&pairs)?;
    output_paths::check_folder("--out", arguments.out.as_deref())?;
    let since = clock::instant();
    let setup = arguments.play_args.setup(Subscribers::new(vec![Arc::new(NotesReporter)]));
    let environments = arguments.play_args.by_environment(&setup, cases);
    let total = pairs.len() * environments.iter().map(|(_, _, cases)| cases.len()).sum::<usize>();
    Progress::for_process().expect("case", Some(total));
    let (mut all, cache) = (Vec::new(), KnownRuns::default());
    let mut ended = Ok(());
    'pairs: for pair in &pairs {
        for (setup, under_test, cases) in &environments {
            let successor = Successor { spec: pair[1].clone(), profile: arguments.to_profile };
            let setup = Setup { successor: Some(successor), ..setup.clone() };
            let tried =
                setup.for_each_subject_keeping_programs(under_test, &pair[..1], usize::MAX, async |_, player| {
                    let sweep = HandoverSweep { arguments: &arguments, typed, pair, since, cache: &cache, player };
                    sweep.try_cases(cases, &mut all).await
                });
            // After an interruption, the handovers that were tried are still reported.
            ended = tried.await.map(drop);
            if ended.is_err() {
                break 'pairs;
            }
        }
    }
    setup.close_programs().await;
    match arguments.output {
        HandoverFormat::Json => {}
        HandoverFormat::Human => say!("\n{}", report::handovers_table(&all)),
        HandoverFormat::Markdown => out::result(format_args!("{}", report::handovers_markdown(&all))),
    }
    let (count, seconds) = (all.iter().map(|of| of.tried.len()).sum::<usize>(), since.elapsed().as_secs_f64());
    note!("{} in {seconds:.0} s", pluralize(count, "handover"));
    // To have tried nothing proves nothing.
    if count == 0 && ended.is_ok() {
        note!("no handover was tried, {SAYS_NOTHING}; raise --for or --max-points, or name other cases");
    }
    let nothing = (count == 0).then_some(RunOutcome::Inconclusive);
    ended.map(|()| RunOutcome::most_severe(all.iter().map(CaseHandovers::outcome).chain(nothing)))
}

impl Arguments {
    /// Fails if a second subject cannot play the profile of `--to-profile`.
    fn check_profile(&self, pairs: &[[SubjectSpec; 2]]) -> Result<(), CliError> {
        let Some(profile) = self.to_profile else { return Ok(()) };
        let options = RestartOptions { profile, ..RestartOptions::default() };
        for [_, to] in pairs {
            let why = match to.takes_restart_options() {
                true => to.lacks_restart_options(&options),
                false => Some(format!("--to-profile {profile} is for a subject that takes restart options, as ours")),
            };
            if let Some(why) = why {
                return Err(CliError::Usage(format!("{to}: {why}")));
            }
        }
        Ok(())
    }

    /// The pairs of subjects: the first begins, and the second takes over.
    fn pairs(&self) -> Result<Vec<[SubjectSpec; 2]>, CliError> {
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            return Ok(vec![[from.parse()?, to.parse()?]]);
        }
        let all = self.between.iter().map(|text| text.parse()).collect::<Result<Vec<SubjectSpec>, _>>()?;
        if all.len() < 2 {
            return Err(CliError::Usage("--between needs two subjects or more, such as upstream,ours".to_owned()));
        }
        let both = |pair: &[SubjectSpec]| [[pair[0].clone(), pair[1].clone()], [pair[1].clone(), pair[0].clone()]];
        let mut pairs: Vec<[SubjectSpec; 2]> = Vec::new();
        for pair in all.windows(2).flat_map(both) {
            // A list may come back to a controller, to go on from there to another one.
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        Ok(pairs)
    }
}

/// Runs with one subject alone, by case, subject and restart profile: several pairs have a subject
/// in common.
type KnownRuns = Mutex<BTreeMap<(String, String, Option<RestartProfile>), Arc<Mutex<SoloRuns>>>>;

/// Runs of a case with one subject alone.
#[derive(Debug, Default)]
struct SoloRuns {
    runs: Vec<Arc<ReferenceRun>>,
    /// The writes of the first of them, and the points at which another subject can take over.
    writes: u32,
    points: Vec<Point>,
    /// The version of upstream that the subject is, or is like.
    minor: Option<Minor>,
    /// Held while one of the runs is played, so that each has its own seed.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// A case, and how it ends with each of the two subjects alone.
struct HandoverCase {
    /// With its handovers, if it declares any.
    case: Arc<Case>,
    /// Without them.
    plain: Arc<Case>,
    /// Those of the first subject, and those of the second.
    alone: [Arc<Mutex<SoloRuns>>; 2],
    /// What the two are known to decide differently in this case.
    known_changes: Vec<KnownChange>,
}

/// The plans by which the two subjects play alone.
const ALONE: [SubjectPlan; 2] = [SubjectPlan::FirstAlone, SubjectPlan::SuccessorAlone];

/// The handovers from one subject to another.
struct HandoverSweep<'a> {
    arguments: &'a Arguments,
    typed: &'a CommandLine,
    pair: &'a [SubjectSpec; 2],
    since: Instant,
    cache: &'a KnownRuns,
    player: &'a Executor,
}

impl HandoverSweep<'_> {
    /// Try the handovers of every case. The points of a case are played at the same time, as are
    /// those of the next cases, as many as the player has lanes.
    async fn try_cases(&self, cases: &[Arc<Case>], all: &mut Vec<CaseHandovers>) -> Result<(), CliError> {
        let until_over = stream::iter(cases).take_while(|_| std::future::ready(!self.is_over()));
        let tried = until_over.map(|case| self.try_case(case));
        let mut tried = std::pin::pin!(tried.buffered(self.player.lanes()));
        while let Some(of) = tried.try_next().await? {
            match self.arguments.output {
                HandoverFormat::Human => say!("{}", report::handovers(&of, WIDTH, colour())),
                HandoverFormat::Json => say!("{}", report::handovers_json(&of)),
                HandoverFormat::Markdown => {}
            }
            Progress::for_process().advance(1);
            all.push(of);
        }
        Ok(())
    }

    async fn try_case(&self, case: &Arc<Case>) -> Result<CaseHandovers, CliError> {
        let longer = with_longer_end(self.player, case)?;
        let of_case = self.play_alone(longer.as_ref().unwrap_or(case), self.cache).await?;
        let names = self.pair.each_ref().map(ToString::to_string);
        let (writes, points) = {
            let first = lock(&of_case.alone[0]);
            (first.writes, first.points.clone())
        };
        let left_out = of_case.trouble(&names);
        let known_changes = of_case.known_changes.iter().map(|change| change.behaviour.clone()).collect();
        let (case, tried) = (case.name.clone(), Vec::new());
        let by_chance = false;
        let of = CaseHandovers { case, subjects: names, writes, points: 0, left_out, tried, known_changes, by_chance };
        if of.left_out.is_some() {
            return Ok(of);
        }
        let (count, tried) = if declares_handovers(&of_case.case) {
            (1, vec![self.try_declared(&of_case).await?])
        } else {
            let count = points.len();
            let points = faults::sample(points, &of.case, self.arguments.max_points, self.arguments.play_args.seed());
            let until_over = stream::iter(points).take_while(|_| std::future::ready(!self.is_over()));
            let tried = until_over.map(|point| self.try_point(&of_case, point)).buffered(self.player.lanes());
            (count, tried.try_collect().await?)
        };
        Ok(CaseHandovers { points: count, tried, by_chance: of_case.ends_by_chance(), ..of })
    }

    /// The points of a case. In its last step there is no next one at which to hand back.
    fn points(&self, case: &Case, recording: &Recording) -> Vec<Point> {
        let mut points = faults::points(case, recording, &FaultKind::handovers(self.arguments.back));
        if self.arguments.back
            && let Some(last) = case.steps.last()
        {
            points.retain(|point| point.line() != Some(last.line));
        }
        points
    }

    /// Play a case with each subject alone, unless that is known.
    async fn play_alone(&self, case: &Arc<Case>, cache: &KnownRuns) -> Result<HandoverCase, CliError> {
        let alone = [0, 1].map(|which| {
            let profile = if which == 0 { None } else { self.arguments.to_profile };
            let key = (case.argument(), self.pair[which].to_string(), profile);
            Arc::clone(lock(cache).entry(key).or_default())
        });
        let plain = Arc::new(without_handovers(case));
        let mut of_case = HandoverCase { case: Arc::clone(case), plain, alone, known_changes: Vec::new() };
        self.play_alone_until(&of_case, 1).await?;
        if let [Some(one), Some(other)] = of_case.alone.each_ref().map(|alone| lock(alone).minor) {
            let default = Minor::of(DEFAULT_VERSION).expect("the default version has a minor");
            // Cases are written for the default version, so one of the two may not get through.
            let pairs = match of_case.trouble(&Default::default()) {
                Some(_) => vec![[one, default], [other, default]],
                None => vec![[one, other]],
            };
            of_case.known_changes = known_changes_of(case)?;
            of_case.known_changes.retain(|change| pairs.iter().any(|pair| change.concerns(&case.name, *pair)));
        }
        Ok(of_case)
    }

    /// Play a case with each subject alone until there are so many runs of each. All but the first
    /// have another seed: what a handover leads to may be what a subject does alone at another
    /// latency.
    async fn play_alone_until(&self, of: &HandoverCase, count: usize) -> Result<(), CliError> {
        let play = async |which: usize| {
            let turn = Arc::clone(&lock(&of.alone[which]).turn);
            loop {
                // Several points of a case may ask for more runs at the same time.
                let _turn = turn.lock().await;
                let before = lock(&of.alone[which]).runs.len();
                if before >= count {
                    return Ok(());
                }
                let later = u64::try_from(before).unwrap_or(u64::MAX);
                let seed = (later > 0).then(|| self.arguments.play_args.seed().saturating_add(later));
                let recording = self.play(&of.plain, ALONE[which], seed).await?;
                let run = Arc::new(ReferenceRun::alone(&of.plain, &recording));
                let mut alone = lock(&of.alone[which]);
                if alone.runs.is_empty() {
                    alone.minor = Some(wording_of(&recording.header.subject));
                    alone.writes = faults::writes(&recording).values().sum();
                    alone.points = self.points(&of.plain, &recording);
                }
                alone.runs.push(run);
            }
        };
        futures::try_join!(play(0), play(1)).map(drop)
    }

    async fn hand_over(&self, case: &Case) -> Result<Arc<Recording>, CliError> {
        self.play(case, SubjectPlan::HandOver, None).await.map(Arc::new)
    }

    async fn play(&self, case: &Case, subjects: SubjectPlan, seed: Option<u64>) -> Result<Recording, CliError> {
        Ok(self.player.play_with(case, subjects, seed).await?)
    }

    /// Judge a run of this case with a handover. If it differs, the subjects may leave something to
    /// chance: then each is played more often alone, up to this number of times.
    async fn judge(
        &self,
        of: &HandoverCase,
        case: &Arc<Case>,
        played: &Arc<Recording>,
        most: usize,
    ) -> Result<FaultOutcome, CliError> {
        loop {
            // The second subject ends the case.
            let [first, second] = of.alone.each_ref().map(|alone| lock(alone).runs.clone());
            let fewest = first.len().min(second.len());
            let (case, played, is_known) = (Arc::clone(case), Arc::clone(played), !of.known_changes.is_empty());
            let outcome = judge_apart(move || handover_outcome(&case, [&second, &first], &played, is_known)).await;
            if !matches!(outcome, FaultOutcome::Failed(_)) || fewest >= most {
                return Ok(outcome);
            }
            tracing::debug!(case = of.case.name, plays = fewest + 1, "playing each subject alone again");
            self.play_alone_until(of, fewest + 1).await?;
        }
    }

    /// How often each subject is played alone before a difference counts.
    fn confirm_plays(&self) -> usize {
        CONFIRM_PLAYS[usize::from(!self.player.sessions().is_empty())]
    }

    async fn try_declared(&self, of: &HandoverCase) -> Result<TriedHandover, CliError> {
        let played = self.hand_over(&of.case).await?;
        let outcome = self.judge(of, &of.case, &played, self.confirm_plays()).await?;
        let difference = matches!(outcome, FaultOutcome::Failed(_))
            .then(|| Box::new(HandoverDifference { timelines: of.timelines(&played), file: None }));
        Ok(TriedHandover { place: DECLARED.to_owned(), outcome, difference })
    }

    async fn try_point(&self, of: &HandoverCase, point: Point) -> Result<TriedHandover, CliError> {
        let injected = match inject(&of.case, &point)? {
            Ok(injected) => injected,
            Err(outcome) => return Ok(TriedHandover { place: point.to_string(), outcome, difference: None }),
        };
        let played = self.hand_over(&injected).await?;
        let outcome = self.judge(of, &injected, &played, self.confirm_plays()).await?;
        tracing::info!(case = of.case.name, %point, ?outcome, "tried");
        let difference = match outcome {
            FaultOutcome::Failed(_) => Some(Box::new(self.show(&of.case, &injected, &point).await?)),
            _ => None,
        };
        Ok(TriedHandover { place: point.to_string(), outcome, difference })
    }

    /// Make a case small whose handover changes something, and write it if the user asks for that.
    async fn show(&self, case: &Case, injected: &Arc<Case>, point: &Point) -> Result<HandoverDifference, CliError> {
        let mut small = Arc::clone(injected);
        // Backwards, so that the steps that are left keep their numbers.
        for step in (0..injected.steps.len()).rev() {
            let Some(text) = faults::without_step(&small, step) else { continue };
            // A step may need an earlier one.
            let Ok(smaller) = case::parse(&case.path, &case.name, &text) else { continue };
            let smaller = Arc::new(smaller);
            if declares_handovers(&smaller) && self.fails(&smaller).await? {
                small = smaller;
            }
        }
        let alone = self.play_alone(&small, &KnownRuns::default()).await?;
        let played = self.hand_over(&small).await?;
        let file = match &self.arguments.out {
            Some(folder) => {
                let file = write_case(&folder.join("handover"), case, point, &small.source)?;
                Some([file, self.repeat()])
            }
            None => None,
        };
        Ok(HandoverDifference { timelines: alone.timelines(&played), file })
    }

    /// Whether the handovers that a case declares change something.
    async fn fails(&self, case: &Arc<Case>) -> Result<bool, CliError> {
        let alone = self.play_alone(case, &KnownRuns::default()).await?;
        if alone.trouble(&Default::default()).is_some() {
            return Ok(false);
        }
        let played = self.hand_over(case).await?;
        let outcome = self.judge(&alone, case, &played, CONFIRM_PLAYS[2]).await?;
        Ok(matches!(outcome, FaultOutcome::Failed(_)))
    }

    /// The command that repeats a case file that declares its handover, without the file.
    fn repeat(&self) -> String {
        let [from, to] = self.pair.each_ref().map(|spec| quote(&spec.to_string()));
        let flags = self.typed.flags(&OMITTED_FROM_RERUN);
        format!("{} --from {from} --to {to}{flags}", self.typed.beginning())
    }

    /// Whether the time limit has passed.
    fn is_over(&self) -> bool {
        self.arguments.length.is_some_and(|length| self.since.elapsed() >= length)
    }
}

impl HandoverCase {
    /// Why one of the subjects, of these names, does not get through the case alone.
    fn trouble(&self, names: &[String; 2]) -> Option<Trouble> {
        names.iter().zip(&self.alone).find_map(|(name, alone)| {
            let alone = lock(alone);
            let trouble = alone.runs.first()?.trouble()?;
            Some(Trouble { why: format!("{name} alone: {}", trouble.why), ..trouble.clone() })
        })
    }

    /// Whether plays of one subject alone have ended in several ways.
    fn ends_by_chance(&self) -> bool {
        self.alone.iter().any(|alone| lock(alone).runs.windows(2).any(|two| !two[0].ends_like(&two[1])))
    }

    /// The timeline with the second subject alone, and that of this run.
    fn timelines(&self, played: &Recording) -> [Timeline; 2] {
        let alone = lock(&self.alone[1]).runs.first().map(|run| run.timeline().clone());
        [alone.expect("it was played alone first"), Timeline::from_recording(played)]
    }
}

/// What versions of upstream are known to decide differently: the table in the nearest folder above
/// the case's file.
fn known_changes_of(case: &Case) -> Result<Vec<KnownChange>, CliError> {
    let Some(path) = table_above(case, known_changes::FILE) else { return Ok(Vec::new()) };
    let read = collection::read_to_string(&path);
    let table = read.and_then(|text| known_changes::parse(&text).map_err(std::io::Error::other));
    Ok(table.map_err(|source| FileError::File { path, source })?)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a case hands over itself.
fn declares_handovers(case: &Case) -> bool {
    let steps = || case.given.iter().chain(&case.steps);
    steps().any(|step| step.operation.process_action() == Some(ProcessAction::Handover))
        || without_handovers(case) != *case
}

/// The case without its faults that are handovers.
fn without_handovers(case: &Case) -> Case {
    let mut without = case.clone();
    for step in without.given.iter_mut().chain(&mut without.steps) {
        if step.fault.as_ref().is_some_and(|fault| matches!(fault.action, FaultAction::Handover { .. })) {
            step.fault = None;
        }
    }
    without
}
