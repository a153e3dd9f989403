//! `lockstep run`: judges subjects by cases, against the timelines blessed from upstream.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_cluster::SiteName;
use lockstep_recording::{Blame, FileName, Recording};
use lockstep_report::RerunCommands;
use lockstep_runner::Executor;
use lockstep_runner::run::{
    CompletedPlay, Confirmation, JudgedPlay, PlayPlan, PlayRound, RunEvent, Setup, Subscribers,
};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_verdict as verdict;
use lockstep_verdict::golden::GoldenTimelines;

use super::cluster_args::default_cluster;
use super::coverage::RequirementTables;
use super::golden::{AsVersionArgs, load_golden};
use super::out::note;
use super::play_args::PlayArgs;
use super::reporter::{FormatArgs, HumanStyle, ReportArgs, reporters};
use super::rerun_command::{CommandLine, OMITTED_FROM_RERUN};
use super::select::CaseSelection;
use super::sharding::{EnvironmentCases, Sharding, first_item, items};
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths, recording_files};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The controller to judge: ours, upstream, "command:PROGRAM ARGUMENTS" …
    ///
    /// Also upstream:VERSION, ours:fixed (with this project's fixes of upstream's defects),
    /// ours:process (the built program), upstream:PATH, and on kind deployment:MANIFEST: a
    /// controller that runs as pods of the cluster, from a file or a kustomize folder. On `sim`
    /// also virtual:PROGRAM: a controller in Go that has its clock from the simulation. On `sim`
    /// upstream runs in virtual time if `scripts/fetch virtual` has built it; upstream:process
    /// always runs as a process.
    /// xing:PATH and reloader:PATH are the programs of two other projects, on the config-restart
    /// cases of their profile. May be given several times.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: Vec<String>,
    #[command(flatten)]
    as_version: AsVersionArgs,
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    play_args: PlayArgs,
    /// Play each case this many times.
    #[arg(help_heading = "Playing", long, default_value_t = 1, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Stop after the first case that is not conformant.
    #[arg(help_heading = "Playing", long, conflicts_with = "results")]
    fail_fast: bool,
    #[command(flatten)]
    format: FormatArgs,
    /// Show the golden timeline and the subject's side by side; default for a single case.
    #[arg(help_heading = "Output", long)]
    timelines: bool,
    #[command(flatten)]
    reports: ReportArgs,
    /// Keep the recordings in this folder, for `lockstep judge`.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
    #[command(flatten)]
    sharding: Sharding,
}

pub(super) async fn execute(mut arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    arguments.play_args.cluster_args = arguments.play_args.cluster_args.with_default(default_cluster("run"));
    let seeds = arguments.play_args.take_seeds();
    let specs = arguments.subject.iter().map(|text| text.parse::<SubjectSpec>()).collect::<Result<Vec<_>, _>>()?;
    let cases = arguments.play_args.choose(&arguments.selection, &specs)?;
    arguments.play_args.check(&cases, &specs)?;
    arguments.reports.check(&cases.iter().map(|case| Path::new(&case.path)).collect::<Vec<_>>())?;
    arguments.sharding.check()?;
    output_paths::check_folder("--recordings", arguments.recordings.as_deref())?;
    if seeds.is_some() && arguments.play_args.cluster_args.cluster() != SiteName::Sim {
        let why = "--seeds moves what is left to chance, which is so on a simulated cluster alone; add --cluster sim";
        return Err(CliError::Usage(why.to_owned()));
    }
    let count = seeds.as_ref().map_or(1, |seeds| (seeds.end() - seeds.start()).saturating_add(1));
    if count.saturating_mul(arguments.repeat.into()) > MOST_ROUNDS {
        let why = format!(
            "more than {MOST_ROUNDS} rounds of each case are not played in one run: reduce --seeds or --repeat"
        );
        return Err(CliError::Usage(why));
    }
    // Read all golden timelines before anything runs.
    let read = cases.iter().map(|case| Ok((case.argument(), load_golden(case)?)));
    let goldens = read.collect::<Result<BTreeMap<String, GoldenTimelines>, CliError>>()?;
    let since = clock::instant();
    let rounds: Vec<PlayRound> = arguments.rounds(seeds.as_ref()).collect();
    let timelines = arguments.timelines || cases.len() == 1 && rounds.len() == 1;
    let environments = arguments.play_args.by_environment(&arguments.play_args.setup(Subscribers::default()), cases);
    let plans = arguments.sharding.plans(&environments, &rounds, arguments.reports.keeps_evidence());
    let plays = plans.iter().map(|plan| plan.of_shard().count() * specs.len()).sum();
    let results = arguments.format.results(HumanStyle::Run { timelines });
    let title = format!("lockstep run, {}", arguments.subject.join(", "));
    let (items, here) = items(&plans, &specs);
    let shard = arguments.sharding.results(typed, items, |item| here.contains(&item.number));
    let reporters = reporters(&arguments.reports, &title, results, shard);
    let events = &reporters.events;
    events.emit(&RunEvent::RunStarted { plays })?;
    let mut run = RunState {
        arguments: &arguments,
        typed,
        goldens: &goldens,
        events,
        outcomes: Vec::new(),
        ended_between: 0,
        lost_recordings: false,
        first: 0,
        tables: RequirementTables::default(),
    };
    let result = run.play_all(&specs, &environments, &plans).await;
    let RunState { mut outcomes, ended_between, lost_recordings, .. } = run;
    // Also report a run that ended early.
    reporters.end(&result, (&outcomes, plays), ended_between, since)?;
    outcomes.extend(RunOutcome::of_ends_between(ended_between));
    outcomes.extend(lost_recordings.then_some(RunOutcome::Inconclusive));
    result.map(|()| arguments.sharding.outcome(outcomes, plays))
}

impl Arguments {
    /// Whether to stop after these outcomes.
    fn stops(&self, outcomes: &[RunOutcome]) -> bool {
        self.fail_fast && outcomes.iter().any(|outcome| *outcome != RunOutcome::Conformant)
    }

    /// The golden timelines of a recording's subject.
    fn golden<'a>(
        &self,
        goldens: &'a BTreeMap<String, GoldenTimelines>,
        case: &Case,
        recording: &Recording,
    ) -> Cow<'a, GoldenTimelines> {
        goldens[&case.argument()].for_subject(&recording.header, self.as_version.minor)
    }

    /// The command that repeats one play.
    fn rerun_of(&self, typed: &CommandLine, spec: &SubjectSpec, round: PlayRound, case: &Case) -> RerunCommands {
        let subject = self.subject.iter().find(|text| text.parse().is_ok_and(|one: SubjectSpec| one == *spec));
        let subject = format!(" --subject {}", quote(&subject.map_or_else(|| spec.to_string(), Clone::clone)));
        let seed = round.seed.unwrap_or_else(|| self.play_args.seed());
        let with_seed = if seed == 0 { String::new() } else { format!(" --seeds {seed}") };
        let flags = typed.flags(&OMITTED_FROM_RERUN);
        let repeat = format!("{} {}{subject}{flags}{with_seed}", typed.beginning(), quote(&case.argument()));
        RerunCommands { program: typed.program.clone(), repeat }
    }

    /// The folder of a round's files, below that of all rounds. Without several rounds it is empty.
    fn round_folder(&self, round: PlayRound) -> PathBuf {
        let time = (self.repeat > 1).then(|| round.time.to_string());
        time.into_iter().chain(round.seed.map(|seed| format!("seed-{seed}"))).collect()
    }

    /// All rounds, in order.
    fn rounds(&self, seeds: Option<&RangeInclusive<u64>>) -> impl Iterator<Item = PlayRound> {
        let seeds: Vec<Option<u64>> = match seeds {
            Some(seeds) => seeds.clone().map(Some).collect(),
            None => vec![None],
        };
        (1..=self.repeat).flat_map(move |time| seeds.clone().into_iter().map(move |seed| PlayRound { time, seed }))
    }
}

/// A run of the command, with its outcomes so far.
struct RunState<'a> {
    arguments: &'a Arguments,
    typed: &'a CommandLine,
    goldens: &'a BTreeMap<String, GoldenTimelines>,
    events: &'a Subscribers,
    /// The outcomes of the plays so far.
    outcomes: Vec<RunOutcome>,
    /// How often a subject has ended by itself between two cases.
    ended_between: usize,
    /// Whether a recording that the user asks for could not be stored.
    lost_recordings: bool,
    /// The item number of the current subject's first play on these controllers.
    first: usize,
    tables: RequirementTables,
}

impl RunState<'_> {
    /// Play every case with every subject, on a test environment for each set of controllers.
    async fn play_all(
        &mut self,
        specs: &[SubjectSpec],
        environments: &[EnvironmentCases],
        plans: &[PlayPlan<'_>],
    ) -> Result<(), CliError> {
        for ((setup, under_test, _), plan) in environments.iter().zip(plans) {
            let plays = plan.of_shard().count();
            if plays == 0 {
                continue;
            }
            if self.arguments.stops(&self.outcomes) || self.arguments.fail_fast && self.ended_between > 0 {
                break;
            }
            let setup = Setup { events: self.events.clone(), ..setup.clone() };
            let mut number = 0;
            setup
                .for_each_subject(under_test, specs, plays, async |spec, player| {
                    self.first = first_item(plan, specs, number);
                    number += 1;
                    self.play_subject(&setup, spec, player, *plan).await
                })
                .await?;
        }
        Ok(())
    }

    /// Play every case with one subject.
    async fn play_subject(
        &mut self,
        setup: &Setup,
        spec: &SubjectSpec,
        player: &Executor,
        plan: PlayPlan<'_>,
    ) -> Result<(), CliError> {
        let (since, before) = (clock::instant(), self.outcomes.len());
        let mut counts: BTreeMap<(u32, Option<u64>), (usize, usize)> = BTreeMap::new();
        let mut due: BTreeMap<(u32, Option<u64>), usize> = BTreeMap::new();
        plan.of_shard().for_each(|(_, round, _)| *due.entry((round.time, round.seed)).or_default() += 1);
        let (arguments, goldens) = (self.arguments, self.goldens);
        let judge = |case: &Arc<Case>, recording: &Recording| {
            let golden = arguments.golden(goldens, case, recording);
            verdict::judge(case, recording, golden.for_server(&recording.header.cluster.version))
        };
        let confirmation = Confirmation::new(&judge);
        setup
            .play_and_confirm(player, plan, Some(&confirmation), async |played: CompletedPlay<'_>| {
                let brief = plan.rounds.len() > 1 && player.sessions().is_empty();
                let (round, outcome) = (played.round, self.judge(spec, &played, plan, brief)?);
                self.outcomes.push(outcome);
                let (conformant, plays) = counts.entry((round.time, round.seed)).or_default();
                *conformant += usize::from(outcome == RunOutcome::Conformant);
                *plays += 1;
                if brief && *plays == due[&(round.time, round.seed)] {
                    let (conformant, plays) = (*conformant, *plays);
                    let PlayRound { time, seed } = round;
                    self.events.emit(&RunEvent::RoundEnded { spec, time, seed, conformant, plays })?;
                }
                let stops = self.arguments.stops(&self.outcomes);
                Ok::<_, CliError>(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .await?;
        let plays = self.outcomes.len() - before;
        self.events.emit(&RunEvent::CasesPlayed { title: &spec.to_string(), plays, took: since.elapsed() })?;
        let between = player.sessions().into_iter().flat_map(|session| session.exits_between_cases());
        self.ended_between += between.filter(|end| end.blame == Blame::Subject).count();
        if self.outcomes[before..].contains(&RunOutcome::Inconclusive)
            && let Some(logs) = player.keep_logs().await
        {
            note!("the cluster's own logs are in {}", logs.display());
        }
        Ok(())
    }

    /// Judge one play, and store its recording if the user asks for it.
    fn judge(
        &mut self,
        spec: &SubjectSpec,
        play: &CompletedPlay<'_>,
        plan: PlayPlan<'_>,
        brief: bool,
    ) -> Result<RunOutcome, CliError> {
        let Self { arguments, events, .. } = self;
        let CompletedPlay { case, recording, round, took, output, .. } = play;
        if let Some(folder) = &arguments.recordings {
            let several = arguments.subject.len() > 1;
            let folder = if several { folder.join(FileName::of(&spec.to_string())) } else { folder.clone() };
            if let Err(error) = recording_files::store(&folder.join(arguments.round_folder(*round)), recording) {
                note!("error: the recording of {} is lost: {error}", case.name);
                self.lost_recordings = true;
            }
        }
        let golden = arguments.golden(self.goldens, case, recording);
        let golden = golden.for_server(&recording.header.cluster.version);
        let mut judgement = verdict::judge(case, recording, golden);
        self.tables.add_quirks(&mut judgement);
        let judged = JudgedPlay {
            judgement: &judgement,
            expected: judgement.expected_timeline(golden),
            golden,
            recording,
            rerun: &arguments.rerun_of(self.typed, spec, *round, case),
            took: Some(*took),
            output: output.as_deref(),
            item: self.first + play.item - plan.before,
            seed: round.seed,
            brief,
        };
        events.emit(&RunEvent::CaseJudged(&judged))?;
        arguments.reports.keep_evidence(&arguments.round_folder(*round), &judged);
        Ok(judgement.outcome())
    }
}

/// The most rounds of one run. All of them are kept in memory.
const MOST_ROUNDS: u64 = 1_000_000;
