//! `--shard K/N` and `--results FOLDER`: the part of a selection to play, and the file of its
//! results for `lockstep merge`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use lockstep_case::Case;
use lockstep_recording::controllers::ControllerSet;
use lockstep_report::campaign::{Item, ResultsEnd, ResultsError, ResultsHeader, Shard, digest_of, write};
use lockstep_report::{self as report, PlayScore, PlaySummary};
use lockstep_runner::run::{FileError, PlayPlan, PlayRound, RunEvent, Setup, Subscriber};
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;

use super::out::note;
use super::rerun_command::CommandLine;
use super::{CliError, output_paths};

/// The variable in which Kubernetes passes the index of a pod of an Indexed Job, from 0.
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// Cases with the same controllers under test, and their setup.
pub(super) type EnvironmentCases = (Setup, ControllerSet, Vec<Arc<Case>>);

/// The arguments for one shard of a campaign.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Campaign")]
pub(super) struct Sharding {
    /// Play only this part of the selection, such as 2/8: the second of eight.
    ///
    /// `job/8`: the part of this pod of a Kubernetes Indexed Job, by JOB_COMPLETION_INDEX.
    #[arg(long, hide_short_help = true, value_name = "K/N", value_parser = parse_shard)]
    shard: Option<Shard>,
    /// Write the results into this folder, for `lockstep merge`.
    ///
    /// One file, written when everything was played.
    #[arg(long, hide_short_help = true, value_name = "FOLDER")]
    results: Option<PathBuf>,
}

/// The flags that select the shard or the reports, and do not affect the result of a play.
const OMITTED_FROM_HEADER: [&str; 13] = [
    "shard",
    "results",
    "jobs",
    "rerun_failed",
    "output",
    "timelines",
    "recordings",
    "html",
    "junit",
    "evidence",
    "score",
    "out",
    "filter",
];

impl Sharding {
    /// The shard to play.
    pub(super) fn shard(&self) -> Shard {
        self.shard.unwrap_or(Shard::SINGLE)
    }

    /// The outcome of the plays. A shard without plays (`here` is 0) is conformant.
    pub(super) fn outcome(&self, outcomes: Vec<RunOutcome>, here: usize) -> RunOutcome {
        let is_empty = here == 0 && self.shard.is_some();
        if is_empty { RunOutcome::Conformant } else { RunOutcome::most_severe(outcomes) }
    }

    /// Fails if the results cannot be written.
    pub(super) fn check(&self) -> Result<(), CliError> {
        output_paths::check_folder("--results", self.results.as_deref())
    }

    /// The plan for each set of controllers.
    pub(super) fn plans<'a>(
        &self,
        environments: &'a [EnvironmentCases],
        rounds: &'a [PlayRound],
        output: bool,
    ) -> Vec<PlayPlan<'a>> {
        let (shard, mut before) = (self.shard(), 0);
        let plan = |(_, _, cases): &'a EnvironmentCases| {
            let plan = PlayPlan { cases, rounds, output, shard, before };
            before += cases.len() * rounds.len();
            plan
        };
        environments.iter().map(plan).collect()
    }

    /// The writer of the results of the items that `is_here` accepts, if the user asks for results.
    /// Prints a note if there are none.
    pub(super) fn results(
        &self,
        typed: &CommandLine,
        all: Vec<Item>,
        is_here: impl Fn(&Item) -> bool,
    ) -> Option<ShardResults> {
        if !all.iter().any(&is_here) {
            note!("shard {} has none of {}", self.shard(), pluralize(all.len(), "play"));
        }
        let header = ResultsHeader {
            shard: self.shard(),
            lockstep: env!("CARGO_PKG_VERSION").to_owned(),
            command: typed.name().to_owned(),
            command_line: typed.line(&["shard", "results"]),
            arguments: typed.flags(&OMITTED_FROM_HEADER),
            selected: 0,
            selection: String::new(),
            items: Vec::new(),
        };
        Some(ShardResults::new(self.results.clone()?, header.with_items(all, is_here)))
    }

    /// The writer of the results of a search, in which each shard is an item.
    pub(super) fn results_of_search(&self, typed: &CommandLine) -> Option<ShardResults> {
        let (number, count) = (self.shard().index() as usize - 1, self.shard().count());
        let items = (1..=count).zip(0..).map(|(index, item)| Item::new(item, format!("search {index} of {count}"), ""));
        self.results(typed, items.collect(), |item| item.number == number)
    }
}

/// Collects a line for each play, and writes them at the end. A run that ended early writes no
/// file.
pub(super) struct ShardResults {
    folder: PathBuf,
    header: ResultsHeader,
    lines: Mutex<Vec<String>>,
}

impl ShardResults {
    /// Write into this folder.
    pub(super) fn new(folder: PathBuf, header: ResultsHeader) -> Self {
        Self { folder, header, lines: Mutex::default() }
    }

    /// Add the result of an item.
    pub(super) fn add(&self, line: String) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Write the file.
    pub(super) fn write(&self, outcomes: &[RunOutcome], ended_between: usize, seconds: f64) -> Result<(), FileError> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let between = RunOutcome::of_ends_between(ended_between);
        let outcome = RunOutcome::most_severe(outcomes.iter().copied().chain(between));
        let end = ResultsEnd {
            unplayed: self.header.items.len().saturating_sub(lines.len()),
            ended_between,
            seconds,
            exit_code: self.header.exit_outcome(outcome).code(),
        };
        let path = write(&self.folder, &self.header, &lines, end).map_err(|error| match error {
            ResultsError::File { path, source } => FileError::File { path, source },
            other => FileError::File { path: self.folder.clone(), source: std::io::Error::other(other) },
        })?;
        note!("the results of shard {} are in {}", self.header.shard, path.display());
        Ok(())
    }
}

impl Subscriber for ShardResults {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match *event {
            RunEvent::CaseJudged(judged) => {
                let summary = PlaySummary::new(judged.judgement, judged.golden, judged.seed);
                let workload = judged.recording.header.workload.as_deref();
                let score = workload.map(|workload| Box::new(PlayScore::new(judged.judgement, workload)));
                let summary = PlaySummary { item: judged.item, score, ..summary };
                self.add(report::json_of_play(judged.judgement, &summary, judged.rerun));
            }
            RunEvent::FaultsTried(of) => self.add(report::faults_json(of)),
            RunEvent::RunEnded { outcomes, ended_between, unplayed: None, cause: None, took } => {
                self.write(outcomes, ended_between, took.as_secs_f64())?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// All selected items, in the order of a run without shards, and the numbers of those that this
/// shard plays.
pub(super) fn items(plans: &[PlayPlan<'_>], specs: &[SubjectSpec]) -> (Vec<Item>, BTreeSet<usize>) {
    let (mut items, mut here) = (Vec::new(), BTreeSet::new());
    for plan in plans {
        let digests: Vec<String> = plan.cases.iter().map(|case| digest_of(case)).collect();
        for (number, spec) in specs.iter().enumerate() {
            let first = first_item(plan, specs, number);
            here.extend(plan.of_shard().map(|(play, ..)| first + play - plan.before));
            items.extend(plan.all().map(|(play, PlayRound { time, seed }, case)| {
                let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
                let time = if time == 1 { String::new() } else { format!(", time {time}") };
                let name = format!("{} on {spec}{seed}{time}", plan.cases[case].name);
                Item::new(first + play - plan.before, name, &digests[case])
            }));
        }
    }
    (items, here)
}

/// The number of a subject's first item in a plan. All subjects play a plan, one after the other.
pub(super) fn first_item(plan: &PlayPlan<'_>, specs: &[SubjectSpec], subject: usize) -> usize {
    plan.before * specs.len() + subject * plan.cases.len() * plan.rounds.len()
}

/// Parses a shard, or the count of an Indexed Job whose index is in the environment.
fn parse_shard(text: &str) -> Result<Shard, String> {
    let Some(count) = text.strip_prefix("job/") else { return text.parse() };
    let index = std::env::var(INDEX);
    let index = index.ok().and_then(|index| index.parse::<u32>().ok()?.checked_add(1));
    let index = index.ok_or_else(|| format!("{INDEX} is not set to a number; is this a pod of an Indexed Job?"))?;
    format!("{index}/{count}").parse()
}
