//! `lockstep handover`: plays a case with one subject, and then once for each of its writes, at
//! which another subject takes over.
//!
//! A case may end as it does with either subject alone. A subject that leaves something to chance
//! is played several times before anything counts as a difference. A difference is made small: the
//! steps go that it does not need.
//!
//! A case that declares handovers itself, such as a file that this command wrote, is played with
//! those only.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use lockstep_case::model::{FaultAction, ProcessAction};
use lockstep_case::{self as case, Case, RestartOptions, RestartProfile};
use lockstep_recording::{Recording, Trouble};
use lockstep_report::{self as report, CaseHandovers, HandoverDifference, TriedHandover};
use lockstep_runner::run::{Setup, Subscribers};
use lockstep_runner::{Executor, SubjectPlan, Successor};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock::{self, Instant};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_timeline::Timeline;
use lockstep_verdict::faults::{self, FaultKind, Point};
use lockstep_verdict::{FaultOutcome, ReferenceRun, handover_outcome};

use super::cluster_args::default_cluster;
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

/// How often each subject is played alone before a handover counts as the cause of a difference, in
/// virtual time and on clusters that outlive a case; and while a case is made small.
const CONFIRM_PLAYS: [usize; 3] = [8, 3, 2];
/// The place of the handovers that a case declares.
const DECLARED: &str = "the handovers of the case";
/// The width of two timelines, one below the other.
const WIDTH: usize = 100;
/// The flags that the command of one case with its handover leaves out.
const OMITTED_FROM_RERUN: [&str; 11] =
    ["filter", "rerun_failed", "from", "to", "between", "back", "max_points", "length", "out", "output", "jobs"];

pub(super) async fn execute(mut arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    arguments.play_args.cluster_args = arguments.play_args.cluster_args.with_default(default_cluster("handover"));
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
    let mut all = Vec::new();
    let mut ended = Ok(());
    'pairs: for pair in &pairs {
        for (setup, under_test, cases) in &environments {
            let successor = Successor { spec: pair[1].clone(), profile: arguments.to_profile };
            let setup = Setup { successor: Some(successor), ..setup.clone() };
            let sweep = HandoverSweep { arguments: &arguments, typed, pair, since };
            let tried =
                setup.for_each_subject_keeping_programs(under_test, &pair[..1], usize::MAX, async |_, player| {
                    sweep.try_cases(player, cases, &mut all).await
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
    note!("{count} handovers in {seconds:.0} s");
    // To have tried nothing proves nothing.
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
        Ok(all.windows(2).flat_map(both).collect())
    }
}

/// The handovers from one subject to another.
struct HandoverSweep<'a> {
    arguments: &'a Arguments,
    typed: &'a CommandLine,
    pair: &'a [SubjectSpec; 2],
    since: Instant,
}

impl HandoverSweep<'_> {
    /// Try the handovers of every case, of as many cases at a time as the player has lanes.
    async fn try_cases(
        &self,
        player: &Executor,
        cases: &[Arc<Case>],
        all: &mut Vec<CaseHandovers>,
    ) -> Result<(), CliError> {
        let until_over = stream::iter(cases).take_while(|_| std::future::ready(!self.is_over()));
        let tried = until_over.map(|case| self.try_case(player, case));
        let mut tried = std::pin::pin!(tried.buffered(player.lanes()));
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

    async fn try_case(&self, player: &Executor, case: &Arc<Case>) -> Result<CaseHandovers, CliError> {
        let longer = with_longer_end(&self.arguments.play_args, case)?;
        let case = longer.as_ref().unwrap_or(case);
        let mut alone = RunsAlone::play(player, case).await?;
        let names = self.pair.each_ref().map(ToString::to_string);
        let mut of = CaseHandovers {
            case: case.name.clone(),
            left_out: alone.trouble(&names),
            subjects: names,
            writes: faults::writes(&alone.of_first().recording).values().sum(),
            points: 0,
            tried: Vec::new(),
        };
        if of.left_out.is_some() {
            return Ok(of);
        }
        if declares_handovers(case) {
            of.points = 1;
            of.tried.push(self.try_declared(player, case, &mut alone).await?);
            return Ok(of);
        }
        let points = self.points(case, &alone);
        of.points = points.len();
        for point in faults::sample(points, &case.name, self.arguments.max_points, self.arguments.play_args.seed()) {
            if self.is_over() {
                break;
            }
            of.tried.push(self.try_point(player, case, &mut alone, point).await?);
        }
        Ok(of)
    }

    /// The points of a case. In its last step there is no next one at which to hand back.
    fn points(&self, case: &Case, alone: &RunsAlone) -> Vec<Point> {
        let kinds = FaultKind::handovers(self.arguments.back);
        let mut points = faults::points(case, &alone.of_first().recording, &kinds);
        if self.arguments.back
            && let Some(last) = case.steps.last()
        {
            points.retain(|point| point.line() != Some(last.line));
        }
        points
    }

    async fn try_declared(
        &self,
        player: &Executor,
        case: &Arc<Case>,
        alone: &mut RunsAlone,
    ) -> Result<TriedHandover, CliError> {
        let played = Arc::new(player.play(case).await?);
        let outcome = alone.judge(player, case, &played, confirm_plays(player)).await?;
        let timelines = [alone.of_second(), &*played].map(Timeline::from_recording);
        let difference =
            matches!(outcome, FaultOutcome::Failed(_)).then(|| Box::new(HandoverDifference { timelines, file: None }));
        Ok(TriedHandover { place: DECLARED.to_owned(), outcome, difference })
    }

    async fn try_point(
        &self,
        player: &Executor,
        case: &Arc<Case>,
        alone: &mut RunsAlone,
        point: Point,
    ) -> Result<TriedHandover, CliError> {
        let injected = match inject(case, &point)? {
            Ok(injected) => injected,
            Err(outcome) => return Ok(TriedHandover { place: point.to_string(), outcome, difference: None }),
        };
        let played = Arc::new(player.play(&injected).await?);
        let outcome = alone.judge(player, &injected, &played, confirm_plays(player)).await?;
        tracing::info!(case = case.name, %point, ?outcome, "tried");
        let difference = match outcome {
            FaultOutcome::Failed(_) => Some(Box::new(self.show(player, case, &injected, &point).await?)),
            _ => None,
        };
        Ok(TriedHandover { place: point.to_string(), outcome, difference })
    }

    /// Make a case small whose handover changes something, and write it if the user asks for that.
    async fn show(
        &self,
        player: &Executor,
        case: &Case,
        injected: &Arc<Case>,
        point: &Point,
    ) -> Result<HandoverDifference, CliError> {
        let mut small = Arc::clone(injected);
        // Backwards, so that the steps that are left keep their numbers.
        for step in (0..injected.steps.len()).rev() {
            let Some(text) = faults::without_step(&small, step) else { continue };
            // A step may need an earlier one.
            let Ok(smaller) = case::parse(&case.path, &case.name, &text) else { continue };
            let smaller = Arc::new(smaller);
            if declares_handovers(&smaller) && self.fails(player, &smaller).await? {
                small = smaller;
            }
        }
        let alone = RunsAlone::play(player, &small).await?;
        let played = player.play(&small).await?;
        let timelines = [alone.of_second(), &played].map(Timeline::from_recording);
        let file = match &self.arguments.out {
            Some(folder) => {
                let file = write_case(&folder.join("handover"), case, point, &small.source)?;
                Some([file, self.repeat()])
            }
            None => None,
        };
        Ok(HandoverDifference { timelines, file })
    }

    /// Whether the handovers that a case declares change something.
    async fn fails(&self, player: &Executor, case: &Arc<Case>) -> Result<bool, CliError> {
        let mut alone = RunsAlone::play(player, case).await?;
        if alone.runs.iter().any(|run| run.trouble().is_some()) {
            return Ok(false);
        }
        let played = Arc::new(player.play(case).await?);
        let outcome = alone.judge(player, case, &played, CONFIRM_PLAYS[2]).await?;
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

/// Runs of a case with each of the two subjects alone, those of the second first.
struct RunsAlone {
    case: Arc<Case>,
    runs: Arc<Vec<ReferenceRun>>,
}

impl RunsAlone {
    /// Play the case with each subject alone.
    async fn play(player: &Executor, case: &Case) -> Result<Self, CliError> {
        let mut all = Self { case: Arc::new(without_handovers(case)), runs: Arc::default() };
        all.add(player).await?;
        Ok(all)
    }

    async fn add(&mut self, player: &Executor) -> Result<(), CliError> {
        for plan in [SubjectPlan::SuccessorAlone, SubjectPlan::FirstAlone] {
            let recording = player.play_with(&self.case, plan).await?;
            Arc::make_mut(&mut self.runs).push(ReferenceRun::alone(&self.case, recording));
        }
        Ok(())
    }

    fn of_second(&self) -> &Recording {
        &self.runs[0].recording
    }

    fn of_first(&self) -> &ReferenceRun {
        &self.runs[1]
    }

    /// Why one of the subjects, of these names, does not get through the case alone.
    fn trouble(&self, [from, to]: &[String; 2]) -> Option<Trouble> {
        let of = |name: &str, run: &ReferenceRun| {
            let trouble = run.trouble()?;
            Some(Trouble { why: format!("{name} alone: {}", trouble.why), ..trouble })
        };
        of(from, &self.runs[1]).or_else(|| of(to, &self.runs[0]))
    }

    /// Judge a run with a handover. If it differs, the subjects may leave something to chance: then
    /// each is played more often alone, up to this number of times.
    async fn judge(
        &mut self,
        player: &Executor,
        case: &Arc<Case>,
        played: &Arc<Recording>,
        most: usize,
    ) -> Result<FaultOutcome, CliError> {
        loop {
            let (case, runs, played) = (Arc::clone(case), Arc::clone(&self.runs), Arc::clone(played));
            let outcome = judge_apart(move || handover_outcome(&case, &runs, &played)).await;
            if !matches!(outcome, FaultOutcome::Failed(_)) || self.runs.len() >= 2 * most {
                return Ok(outcome);
            }
            self.add(player).await?;
        }
    }
}

fn confirm_plays(player: &Executor) -> usize {
    CONFIRM_PLAYS[usize::from(!player.sessions().is_empty())]
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
