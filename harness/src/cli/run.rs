//! `lockstep run`: a subject on cases, against the timelines blessed from upstream.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use super::again::Typed;
use super::like::Like;
use super::out::note;
use super::place::Place;
use super::reporter::{Reports, Results, Style, reporters};
use super::select::{Selection, blessed};
use super::sharding::{CasesOfEnvironment, Sharding, first_item, items};
use super::{CliError, places, record};
use crate::case::Case;
use crate::clock;
use crate::cluster::SiteName;
use crate::golden::GoldenTimelines;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::FileName;
use crate::report::Again;
use crate::run::{Event, Events, Judged, Plan, Played, Round, Setup};
use crate::runner::Player;
use crate::subject::Spec;
use crate::supervise::Interrupt;
use crate::verdict;

/// Judge a controller by the cases, against timelines recorded from upstream.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// The controller to judge: ours, upstream, upstream:VERSION, "command:PROGRAM ARGUMENTS" …
    ///
    /// Also ours:fixed (with this project's fixes of upstream's defects), ours:process (the built
    /// program), upstream:PATH, and on kind deployment:MANIFEST: a controller that runs as pods of
    /// the cluster, from a file or a kustomize folder. On `sim` also virtual:PROGRAM: a controller
    /// in Go that has its clock from the simulation. On `sim` upstream runs in virtual time if
    /// `scripts/upstream-virtual` has built it; upstream:process always runs as a process. May be
    /// given several times.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    subject: Vec<String>,
    #[command(flatten)]
    like: Like,
    /// Play each case this many times.
    #[arg(help_heading = "Playing", long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// sim: play each case with each of these seeds, such as 1..1000 (both included).
    #[arg(help_heading = "Playing", long, value_name = "FROM..TO", conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// Output format.
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    output: Output,
    /// Show the golden timeline and the subject's side by side; default for a single case.
    #[arg(help_heading = "Output", long)]
    timelines: bool,
    /// Keep the recordings in this folder, for `lockstep judge`.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
    /// Stop after the first case that is not conformant.
    #[arg(help_heading = "Playing", long, conflicts_with = "results")]
    fail_fast: bool,
    #[command(flatten)]
    sharding: Sharding,
    #[command(flatten)]
    reports: Reports,
}

/// What a single play is not different for, or is told otherwise: the command that repeats one
/// leaves these flags out.
pub(super) const NOT_OF_A_PLAY: [&str; 17] = [
    // Which plays there are; the case, the subject and the seed of this one are named.
    "filter",
    "rerun_failed",
    "repeat",
    "seeds",
    "seed",
    "subject",
    "fail_fast",
    "jobs",
    "shard",
    // What is told, and where.
    "output",
    "timelines",
    "recordings",
    "results",
    "html",
    "junit",
    "evidence",
    "legend",
];

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Output {
    /// For people.
    #[default]
    Human,
    /// One JSON object per line and case.
    Json,
}

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    let specs = arguments.subject.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    let cases = arguments.place.choose(&arguments.selection, &specs)?;
    arguments.place.check(&cases, &specs)?;
    arguments.reports.check()?;
    arguments.sharding.check()?;
    places::folder("--recordings", arguments.recordings.as_deref())?;
    if arguments.seeds.is_some() && arguments.place.site.cluster() != SiteName::Sim {
        let why = "--seeds moves what is left to chance, which is so on a simulated cluster alone; add --cluster sim";
        return Err(CliError::Usage(why.to_owned()));
    }
    let seeds = arguments.seeds.map_or(1, |seeds| (seeds.last - seeds.first).saturating_add(1));
    if seeds.saturating_mul(arguments.repeat.into()) > MOST_ROUNDS {
        let why = format!(
            "more than {MOST_ROUNDS} rounds of each case are not played in one run: reduce --seeds or --repeat"
        );
        return Err(CliError::Usage(why));
    }
    // All of them are read before anything runs.
    let read = cases.iter().map(|case| Ok((case.argument(), blessed(case)?)));
    let goldens = read.collect::<Result<BTreeMap<String, GoldenTimelines>, CliError>>()?;
    let since = clock::instant();
    let rounds: Vec<Round> = arguments.rounds().collect();
    let timelines = arguments.timelines || cases.len() == 1 && rounds.len() == 1;
    let environments = arguments.place.by_environment(&arguments.place.setup(Events::default()), cases);
    let parts = arguments.sharding.parts(&environments, &rounds, arguments.reports.keeps_evidence());
    let plays = parts.iter().map(|part| part.here().count() * specs.len()).sum();
    let results = match arguments.output {
        Output::Human => Results::Human(Style::Run { timelines }),
        Output::Json => Results::Json,
    };
    let title = format!("lockstep run, {}", arguments.subject.join(", "));
    let (items, here) = items(&parts, &specs);
    let shard = arguments.sharding.results(typed, items, |item| here.contains(&item.number));
    let events = reporters(&arguments.reports, &title, results, shard);
    events.emit(&Event::RunStarted { plays })?;
    let mut run =
        Run { arguments: &arguments, typed, goldens: &goldens, events: &events, outcomes: Vec::new(), first: 0 };
    let ended = run.all(&specs, &environments, &parts).await;
    let outcomes = run.outcomes;
    // Whatever ended it, what was judged until then is reported.
    let (left, cause) = (plays.saturating_sub(outcomes.len()), Interrupt::of_process().cause());
    let left = ended.is_err().then_some(left);
    events.emit(&Event::RunEnded { outcomes: &outcomes, left, cause, took: since.elapsed() })?;
    ended.map(|()| arguments.sharding.outcome(outcomes, plays))
}

impl Arguments {
    /// Whether nothing more is to be played after these.
    fn stops(&self, outcomes: &[Outcome]) -> bool {
        self.fail_fast && outcomes.iter().any(|outcome| *outcome != Outcome::Conformant)
    }

    /// The command that plays one case of one round again, and nothing else.
    fn again(&self, typed: &Typed, spec: &Spec, round: Round, case: &Case) -> Again {
        let subject = self.subject.iter().find(|text| text.parse().is_ok_and(|one: Spec| one == *spec));
        let subject = format!(" --subject {}", quoted(&subject.map_or_else(|| spec.to_string(), Clone::clone)));
        let seed = round.seed.unwrap_or(self.place.seed);
        let with_seed = if seed == 0 { String::new() } else { format!(" --seed {seed}") };
        let flags = typed.flags(&NOT_OF_A_PLAY);
        let repeat = format!("{} {}{subject}{flags}{with_seed}", typed.beginning(), quoted(&case.argument()));
        Again { program: typed.program.clone(), repeat }
    }

    /// The rounds, in order.
    fn rounds(&self) -> impl Iterator<Item = Round> {
        let seeds: Vec<Option<u64>> = match &self.seeds {
            Some(seeds) => (seeds.first..=seeds.last).map(Some).collect(),
            None => vec![None],
        };
        (1..=self.repeat).flat_map(move |time| seeds.clone().into_iter().map(move |seed| Round { time, seed }))
    }
}

/// A run, and what came of it so far.
struct Run<'a> {
    arguments: &'a Arguments,
    typed: &'a Typed,
    goldens: &'a BTreeMap<String, GoldenTimelines>,
    events: &'a Events,
    /// Of all that was judged so far.
    outcomes: Vec<Outcome>,
    /// The number of the first item of the subject that is played, on these controllers.
    first: usize,
}

impl Run<'_> {
    /// Every case with every subject, on a test environment for each set of controllers.
    async fn all(
        &mut self,
        specs: &[Spec],
        environments: &[CasesOfEnvironment],
        parts: &[Plan<'_>],
    ) -> Result<(), CliError> {
        for ((setup, under_test, _), plan) in environments.iter().zip(parts) {
            let plays = plan.here().count();
            if plays == 0 {
                continue;
            }
            if self.arguments.stops(&self.outcomes) {
                break;
            }
            let setup = Setup { events: self.events.clone(), ..setup.clone() };
            let mut number = 0;
            setup
                .with_each(under_test, specs, plays, async |spec, player| {
                    self.first = first_item(plan, specs, number);
                    number += 1;
                    self.subject(&setup, spec, player, *plan).await
                })
                .await?;
        }
        Ok(())
    }

    /// One subject on every case.
    async fn subject(&mut self, setup: &Setup, spec: &Spec, player: &Player, plan: Plan<'_>) -> Result<(), CliError> {
        let (since, before) = (clock::instant(), self.outcomes.len());
        let mut good: BTreeMap<(u32, Option<u64>), (usize, usize)> = BTreeMap::new();
        let mut due: BTreeMap<(u32, Option<u64>), usize> = BTreeMap::new();
        plan.here().for_each(|(_, round, _)| *due.entry((round.time, round.seed)).or_default() += 1);
        setup
            .play_each(player, plan, async |played: Played<'_>| {
                let brief = plan.rounds.len() > 1 && player.sessions().is_empty();
                let (round, outcome) = (played.round, self.judge(spec, &played, plan, brief)?);
                self.outcomes.push(outcome);
                let (conformant, plays) = good.entry((round.time, round.seed)).or_default();
                *conformant += usize::from(outcome == Outcome::Conformant);
                *plays += 1;
                if brief && *plays == due[&(round.time, round.seed)] {
                    let (conformant, plays) = (*conformant, *plays);
                    let Round { time, seed } = round;
                    self.events.emit(&Event::RoundEnded { spec, time, seed, conformant, plays })?;
                }
                let stops = self.arguments.stops(&self.outcomes);
                Ok::<_, CliError>(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .await?;
        let plays = self.outcomes.len() - before;
        self.events.emit(&Event::CasesPlayed { title: &spec.to_string(), plays, took: since.elapsed() })?;
        // No case shows an end between two of them; it is the subject's failure all the same.
        let between = player.sessions().into_iter().flat_map(|session| session.ended_between());
        self.outcomes.extend(between.map(|_| Outcome::NonConformant));
        if self.outcomes[before..].contains(&Outcome::Inconclusive)
            && let Some(logs) = player.keep_logs().await
        {
            note!("the cluster's own logs are in {}", logs.display());
        }
        Ok(())
    }

    /// Judge one play, and keep its recording where that is wanted.
    fn judge(&self, spec: &Spec, played: &Played<'_>, plan: Plan<'_>, brief: bool) -> Result<Outcome, CliError> {
        let Self { arguments, events, .. } = self;
        let Played { case, recording, round, took, output, .. } = played;
        if let Some(folder) = &arguments.recordings {
            let several = arguments.subject.len() > 1;
            let folder = if several { folder.join(FileName::of(&spec.to_string())) } else { folder.clone() };
            let folder = if arguments.repeat > 1 { folder.join(round.time.to_string()) } else { folder };
            let folder = round.seed.map_or_else(|| folder.clone(), |seed| folder.join(format!("seed-{seed}")));
            record::keep(&folder, recording)?;
        }
        let golden = &self.goldens[&case.argument()];
        let golden = golden.applicable_to(&recording.header, arguments.like.like);
        let golden = golden.for_server(&recording.header.cluster.version);
        let judgement = verdict::judge(case, recording, golden);
        events.emit(&Event::CaseJudged(&Judged {
            judgement: &judgement,
            expected: judgement.expected(golden),
            golden,
            recording,
            again: &arguments.again(self.typed, spec, *round, case),
            took: Some(*took),
            output: output.as_deref(),
            item: self.first + played.item - plan.before,
            seed: round.seed,
            brief,
        }))?;
        Ok(judgement.outcome())
    }
}

/// The most rounds of one run: all of them are in memory.
const MOST_ROUNDS: u64 = 1_000_000;

/// Seeds from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seeds {
    first: u64,
    last: u64,
}

impl std::str::FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || "use two numbers, the smaller first, such as 1..1000".to_owned();
        let (first, last) = text.split_once("..").ok_or_else(bad)?;
        let number = |text: &str| text.trim_start_matches('=').parse::<u64>().map_err(|_| bad());
        let seeds = Self { first: number(first)?, last: number(last)? };
        if seeds.first <= seeds.last { Ok(seeds) } else { Err(bad()) }
    }
}
