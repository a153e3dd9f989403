//! `lockstep run`: a subject on cases, against the timelines blessed from upstream.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use super::again::Typed;
use super::like::Like;
use super::out::{note, say};
use super::progress::Progress;
use super::select::{Selection, blessed};
use super::stage::Place;
use super::tally::Tally;
use super::telling::{Play, Reports, Telling};
use super::{CliError, places, record, stage};
use crate::case::Case;
use crate::clock;
use crate::cluster::SiteName;
use crate::golden::GoldenTimelines;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::Recording;
use crate::report::{self, Again};
use crate::runner::{Player, Session};
use crate::subject::{LogSource, Spec};
use crate::timeline::Timeline;
use crate::verdict::{self, Blessing, Judgement};

/// Judge a subject on cases, against the timelines blessed from upstream.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// Whom to judge: ours, ours:fixed, ours:process, upstream, upstream:VERSION, upstream:PATH, "command:PROGRAM ARGUMENTS", or on
    /// kind deployment:MANIFEST, a controller that runs as pods of the cluster, from a file or a folder of kustomize's.
    #[arg(long, default_value = "ours")]
    subject: Vec<String>,
    #[command(flatten)]
    like: Like,
    /// Play each case so many times.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Play each case of a simulated cluster with each of these seeds, such as 1..1000, which ends with 1000.
    #[arg(long, value_name = "FROM..TO", conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Show what upstream did and what the subject did side by side; so it is where one case is played alone.
    #[arg(long)]
    timelines: bool,
    /// Keep the recordings in this folder, for `lockstep judge`.
    #[arg(long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
    /// Stop after the first play that is not conformant.
    #[arg(long)]
    fail_fast: bool,
    #[command(flatten)]
    reports: Reports,
}

/// What a single play is not different for, or is told otherwise: the command that repeats one leaves these flags out.
pub(super) const NOT_OF_A_PLAY: [&str; 14] = [
    // Which plays there are; the case, the subject and the seed of this one are named.
    "filter",
    "rerun_failed",
    "repeat",
    "seeds",
    "seed",
    "subject",
    "fail_fast",
    "jobs",
    // What is told, and where.
    "output",
    "timelines",
    "recordings",
    "html",
    "junit",
    "evidence",
];

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Output {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line for each case.
    Json,
}

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    let specs = arguments.subject.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    let cases = arguments.place.choose(&arguments.selection, &specs)?;
    arguments.place.check(&cases, &specs)?;
    arguments.reports.check()?;
    places::folder("--recordings", arguments.recordings.as_deref())?;
    if arguments.seeds.is_some() && arguments.place.site.cluster() != SiteName::Sim {
        let why = "--seeds moves what is left to chance, which is so on a simulated cluster alone; add --cluster sim";
        return Err(CliError::Usage(why.to_owned()));
    }
    arguments.timelines |= cases.len() == 1 && arguments.rounds().nth(1).is_none();
    // All of them are read before anything runs.
    let read = cases.iter().map(|case| Ok((case.path.clone(), blessed(case)?)));
    let read = read.collect::<Result<BTreeMap<String, GoldenTimelines>, CliError>>()?;
    let all = clock::instant();
    let telling = Telling::new(&arguments.reports, format!("lockstep run, {}", arguments.subject.join(", ")));
    let tally = Tally::default();
    let plays = cases.len() * specs.len() * arguments.rounds().count();
    let progress = Progress::of(plays);
    let desk = Desk { typed, telling, tally, progress, outcomes: RefCell::default() };
    let mut ended = Ok(());
    for (under_test, cases) in arguments.place.by_environment(cases) {
        if arguments.stops(&desk.outcomes.borrow()) {
            break;
        }
        let goldens: Vec<&GoldenTimelines> = cases.iter().filter_map(|case| read.get(&case.path)).collect();
        let plays = cases.len() * arguments.rounds().count();
        let judged = arguments.place.with_each(&under_test, &specs, plays, async |spec, player| {
            let outcomes = judged(&arguments, &desk, spec, player, &cases, &goldens).await?;
            if outcomes.contains(&Outcome::Inconclusive)
                && let Some(logs) = player.keep_logs().await
            {
                note!("the cluster's own logs are in {}", logs.display());
            }
            Ok(())
        });
        ended = judged.await.map(drop);
        if ended.is_err() {
            break;
        }
    }
    let Desk { telling, tally, progress, outcomes, .. } = desk;
    drop(progress);
    // Whatever ended it, what was judged until then is told.
    telling.remember();
    telling.finish()?;
    let outcomes = outcomes.into_inner();
    if arguments.output == Output::Human {
        tally.lines().iter().for_each(|line| say!("{line}"));
        let left = plays.saturating_sub(outcomes.len());
        let left = if ended.is_err() { format!(", {left} not played") } else { String::new() };
        match outcomes.as_slice() {
            [] => say!("nothing was judged{left}"),
            some => say!("{}{left}", report::summary(some, all.elapsed(), colour())),
        }
        telling.list();
    }
    ended.map(|()| Outcome::of(outcomes))
}

/// One time through all the cases.
#[derive(Debug, Clone, Copy)]
struct Round {
    time: u32,
    seed: Option<u64>,
}

/// What there is of one play.
struct Seen<'a> {
    recording: &'a Recording,
    log_source: Option<&'a LogSource>,
    took: Duration,
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
        let repeat = format!("{} {}{subject}{flags}{with_seed}", typed.beginning(), quoted(&case.path));
        Again { program: typed.program.clone(), repeat, seed: Some(seed) }
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

/// What all plays of a command share.
struct Desk<'a> {
    typed: &'a Typed,
    telling: Telling,
    tally: Tally,
    progress: Progress,
    /// Of all that was judged so far.
    outcomes: RefCell<Vec<Outcome>>,
}

/// A subject on every case, told of as it goes; of many rounds on a simulated cluster only what is not as it should be, and a line each.
async fn judged(
    arguments: &Arguments,
    desk: &Desk<'_>,
    spec: &Spec,
    player: &Player<'_>,
    cases: &[Arc<Case>],
    goldens: &[&GoldenTimelines],
) -> Result<Vec<Outcome>, CliError> {
    let since = clock::instant();
    let several = arguments.rounds().nth(1).is_some();
    let brief = several && player.sessions().is_empty();
    let plays = arguments
        .rounds()
        .flat_map(|round| cases.iter().zip(goldens).map(move |(case, golden)| (round, case, *golden)));
    let plays = stream::iter(plays).map(async |(round, case, golden)| {
        let turn = player.turn().await;
        let began = clock::instant();
        desk.progress.begins(&case.name);
        let log_source = turn.session().and_then(Session::log_source);
        let recording = turn.play(case, round.seed).await?;
        desk.progress.ends(&case.name);
        let seen = Seen { recording: &recording, log_source: log_source.as_ref(), took: began.elapsed() };
        let outcome = tell(arguments, desk, spec, round, case, golden, &seen, brief).await?;
        desk.outcomes.borrow_mut().push(outcome);
        Ok::<_, CliError>((round, outcome))
    });
    let mut plays = plays.buffered(player.lanes());
    let mut outcomes: Vec<Outcome> = Vec::new();
    while let Some((round, outcome)) = plays.try_next().await? {
        outcomes.push(outcome);
        if arguments.stops(&outcomes) {
            break;
        }
        if brief && outcomes.len().is_multiple_of(cases.len()) {
            let begun = outcomes.len() - cases.len();
            let good = outcomes.iter().skip(begun).filter(|outcome| **outcome == Outcome::Conformant).count();
            let seed = round.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
            note!("{spec}: time {}{seed}: {good} of {} conformant", round.time, cases.len());
        }
    }
    stage::pace(spec, outcomes.len(), since.elapsed());
    // No case shows an end between two of them; it is the subject's failure all the same.
    let between: Vec<String> = player.sessions().iter().flat_map(Session::ended_between).collect();
    outcomes.extend(between.iter().map(|_| Outcome::NonConformant));
    Ok(outcomes)
}

/// Judge what was recorded of one play, keep it where that is wanted, and tell of it.
#[expect(clippy::too_many_arguments, reason = "all that is known of one play")]
async fn tell(
    arguments: &Arguments,
    desk: &Desk<'_>,
    spec: &Spec,
    round: Round,
    case: &Arc<Case>,
    golden: &GoldenTimelines,
    seen: &Seen<'_>,
    brief: bool,
) -> Result<Outcome, CliError> {
    let Seen { recording, log_source, took } = *seen;
    if let Some(folder) = &arguments.recordings {
        let several = arguments.subject.len() > 1;
        let folder = if several { folder.join(spec.to_string().replace('/', "_")) } else { folder.clone() };
        let folder = if arguments.repeat > 1 { folder.join(round.time.to_string()) } else { folder };
        let folder = round.seed.map_or_else(|| folder.clone(), |seed| folder.join(format!("seed-{seed}")));
        record::keep(&folder, recording)?;
    }
    let golden = golden.applicable_to(&recording.header, arguments.like.like);
    let blessed = golden.for_server(&recording.header.cluster.version);
    let judgement = verdict::judge(case, recording, blessed);
    desk.tally.take(&judgement, blessed, round.seed);
    let expected = judgement.expected(blessed);
    if arguments.output == Output::Human
        && arguments.timelines
        && let Some(blessed) = expected
    {
        beside(&judgement, blessed);
    }
    let again = arguments.again(desk.typed, spec, round, case);
    if !brief || judgement.outcome() != Outcome::Conformant {
        print(&judgement, Some(took), arguments.output, &again);
    }
    let play = Play { judgement: &judgement, expected, recording, again: &again, took: Some(took), log_source };
    desk.telling.take(&play).await?;
    Ok(judgement.outcome())
}

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

/// What upstream did and what the subject did, beside each other.
fn beside(judgement: &Judgement, blessed: &Timeline) {
    let upstream = match &judgement.blessing {
        Blessing::Golden(Some(from)) => format!("upstream, as blessed ({})", from.controller),
        _ => "upstream, as blessed".to_owned(),
    };
    let subject = judgement.subject.to_string();
    let left = report::Side { title: &upstream, timeline: blessed };
    let right = report::Side { title: &subject, timeline: &judgement.timeline };
    say!("{}\n\n{}\n", judgement.case, report::side_by_side(left, right, width(), colour()));
}

/// How wide the terminal is; wide enough for two timelines where it does not say.
pub(super) fn width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(180)
}

/// Print one case's judgement: a line, and all that a person needs where it is not conformant.
pub(super) fn print(judgement: &Judgement, took: Option<Duration>, output: Output, again: &Again) {
    match output {
        Output::Json => say!("{}", report::json(judgement)),
        Output::Human if judgement.outcome() == Outcome::Conformant => {
            let took = took.map_or_else(String::new, |took| format!("  {:.2} s", took.as_secs_f64()));
            let which = report::outcome(judgement).map_or_else(String::new, |which| format!(", {which}"));
            say!("{:15} {} on {}{which}{took}", judgement.verdict.name(), judgement.case, judgement.subject.name);
        }
        Output::Human => say!("{}\n", report::failure(judgement, again, colour())),
    }
}

/// Whether standard output is for a person's eyes.
pub(super) fn colour() -> bool {
    use std::io::IsTerminal;
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stdout().is_terminal()
}
