//! `lockstep versions`: plays the cases on each built version of upstream, and shows what changed
//! between neighbouring versions.
//!
//! Every case that has an upstream is played on every version, in virtual time. If two neighbours
//! differ, both repeat the case with more seeds, because a version that breaks a tie by chance also
//! differs from itself. A case is not repeated once a version is known to vary; a case that seems
//! to have changed is played [`CONFIRM_PLAYS`] times. That many are needed because a tie between
//! two pods can be broken the same way in seven of eight plays: iteration over a small Go map
//! starts at a random position. Recordings of a real control plane are not used for the comparison;
//! the number of cases that agree with them is printed at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::Case;
use lockstep_cluster::supervise::Interrupt;
use lockstep_cluster::{self as cluster, Site};
use lockstep_recording::controllers::ControllerSet;
use lockstep_report::{self as report, VersionPair, VersionSummary, VersionsReport};
use lockstep_runner::Executor;
use lockstep_runner::run::{CompletedPlay, PlayPlan, PlayRound, RunEvent, Setup};
use lockstep_subject::{SubjectSpec, virtual_time};
use lockstep_support::clock;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize::quote;
use lockstep_timeline::versions::{self, Minor, as_reported_by, wording_changes_between};
use lockstep_verdict::golden::GoldenTimelines;
use lockstep_verdict::{self as verdict, PlayResult, VersionChange, compare_versions};

use super::CliError;
use super::golden::load_golden;
use super::out::{self, colour, note, say};
use super::reporter::{ProgressReporter, messages};
use super::rerun_command::CommandLine;
use super::select::CaseSelection;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: CaseSelection,
    /// The versions, such as v1.33.13,v1.36.3 [default: all that are built].
    ///
    /// `scripts/fetch virtual VERSION` builds one.
    #[arg(help_heading = "Subject", long, value_name = "VERSIONS", value_delimiter = ',')]
    upstream: Vec<String>,
    /// Play each case this many times on each version, each time with another seed.
    #[arg(help_heading = "Playing", long, default_value_t = 1, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Play a case this many times on two versions before it counts as changed between them.
    #[arg(help_heading = "Playing", long, value_name = "N", default_value_t = CONFIRM_PLAYS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    confirm: u32,
    /// Cases played in parallel, each on a cluster of its own [default: number of cores].
    #[arg(help_heading = "Playing", short = 'j', long, value_name = "N", value_parser = super::play_args::jobs)]
    jobs: Option<NonZeroUsize>,
    /// Output format.
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    output: VersionsFormat,
    /// Show each change as a small diff; default for up to three changes.
    #[arg(help_heading = "Output", long)]
    diffs: bool,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum VersionsFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object per line, case and two versions.
    Json,
    /// Tables for a page.
    Markdown,
}

/// How often a case is played on two versions before it counts as changed.
const CONFIRM_PLAYS: u32 = 64;
/// How often a case is played first, to find most cases that vary.
const SCREEN_PLAYS: u32 = 8;
/// The most changes that are shown as diffs by default.
const MOST_DIFFS: usize = 3;
/// How long a step may take to settle, in virtual time.
const BUDGET: Duration = Duration::from_secs(20);

pub(super) async fn execute(arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let versions = parse_versions(&arguments.upstream)?;
    let cases = with_upstream(arguments.selection.cases()?)?;
    let since = clock::instant();
    let events = messages(ProgressReporter::Counting);
    let setup = Setup {
        budget: BUDGET,
        lanes: arguments.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN),
        interrupt: Interrupt::for_process(),
        events: events.clone(),
        ..Setup::new(cluster::ClusterPlan::new(cluster::DEFAULT_VERSION).at(Site::Sim))
    };
    let mut plays = VersionPlays::new(versions, cases)?;
    let ended = plays.play_all(&setup, arguments.repeat, arguments.confirm).await;
    events.emit(&RunEvent::RunEnded {
        outcomes: &[],
        ended_between: 0,
        unplayed: None,
        cause: None,
        took: since.elapsed(),
    })?;
    let report = plays.compare(arguments.confirm);
    // Tables for a page imply that all other cases are the same, which is unknown after an early
    // end.
    if ended.is_ok() || arguments.output != VersionsFormat::Markdown {
        arguments.print(&report, typed);
    }
    note!(
        "{} on {} versions in {:.0} s",
        pluralize(plays.cases.len(), "case"),
        plays.specs.len(),
        since.elapsed().as_secs_f64()
    );
    ended.map(|()| outcome(&report))
}

impl Arguments {
    fn print(&self, report: &VersionsReport, typed: &CommandLine) {
        match self.output {
            VersionsFormat::Json => report::versions_json(report).iter().for_each(|line| say!("{line}")),
            VersionsFormat::Markdown => out::result(format_args!("{}", report::versions_markdown(report))),
            VersionsFormat::Human => {
                let changes: usize = report.pairs.iter().map(|pair| pair.changed().count()).sum();
                let diffs = self.diffs || changes <= MOST_DIFFS;
                out::result(format_args!("{}", report::versions(report, diffs, colour())));
                let first = report.pairs.iter().find_map(|pair| Some((pair, pair.changed().next()?.0)));
                if let Some((pair, case)) = first.filter(|_| !diffs) {
                    let pair = format!("--upstream {},{}", pair.older, pair.newer);
                    let filter = quote(&format!("case(={case})"));
                    say!("\nshow a change as a diff: {} -E {filter} {pair}; --diffs shows all", typed.beginning());
                }
            }
        }
    }
}

/// A change is not a failure; an inconclusive case or play is inconclusive.
fn outcome(report: &VersionsReport) -> RunOutcome {
    let unknown = |pair: &VersionPair| pair.cases.values().any(|change| matches!(change, VersionChange::Unknown(_)));
    let broke = |version: &VersionSummary| !version.inconclusive.is_empty();
    match report.pairs.iter().any(unknown) || report.versions.iter().any(broke) {
        true => RunOutcome::Inconclusive,
        false => RunOutcome::Conformant,
    }
}

/// The versions of `--upstream`, or all that are built; the oldest first.
fn parse_versions(versions_arg: &[String]) -> Result<Vec<String>, CliError> {
    let mut versions = if versions_arg.is_empty() { virtual_time::built() } else { versions_arg.to_vec() };
    versions.sort_by(|a, b| versions::sort_key(a).cmp(&versions::sort_key(b)));
    let usage = |why: String| Err(CliError::Usage(why));
    if let Some(bad) = versions.iter().find(|version| !cluster::is_version(version)) {
        return usage(format!("--upstream: '{bad}' is not a version such as {}", cluster::DEFAULT_VERSION));
    }
    if let Some([twice, _]) = versions.windows(2).find(|pair| pair[0] == pair[1]) {
        return usage(format!("--upstream: {twice} is named twice"));
    }
    if let [] | [_] = versions.as_slice() {
        let (count, how) = match (versions.first(), versions_arg.is_empty()) {
            (None, _) => ("none is".to_owned(), "`scripts/fetch virtual VERSION` builds one"),
            (Some(one), true) => (format!("only {one} is"), "`scripts/fetch virtual VERSION` builds another"),
            (Some(one), false) => (format!("only {one} is"), "name another in --upstream"),
        };
        let what = if versions_arg.is_empty() { "built" } else { "named" };
        return usage(format!("two versions of upstream are needed to compare, and {count} {what}; {how}"));
    }
    versions.iter().try_for_each(|version| virtual_time::available(Some(version)))?;
    Ok(versions)
}

/// The blessed cases whose controllers upstream has. A note counts the others.
fn with_upstream(cases: Vec<Case>) -> Result<Vec<Arc<Case>>, CliError> {
    let has =
        |case: &Case| case.expectation.is_blessed() && SubjectSpec::Upstream(None).can_bring(&case.controllers).is_ok();
    let (cases, others): (Vec<_>, Vec<_>) = cases.into_iter().map(Arc::new).partition(|case| has(case));
    if !others.is_empty() {
        note!("{} without an upstream left out", pluralize(others.len(), "case"));
    }
    if cases.is_empty() { Err(CliError::NoneLeft("upstream".to_owned())) } else { Ok(cases) }
}

/// The plays of each case on each version.
struct VersionPlays {
    versions: Vec<String>,
    specs: Vec<SubjectSpec>,
    cases: Vec<Arc<Case>>,
    goldens: BTreeMap<String, GoldenTimelines>,
    /// By index of the version and name of the case, the plays by seed.
    plays: BTreeMap<(usize, String), BTreeMap<u64, PlayResult>>,
    /// The versions and cases whose first play matches the golden timelines.
    as_recorded: BTreeSet<(usize, String)>,
    /// The versions and cases that have golden timelines.
    recorded: BTreeSet<(usize, String)>,
}

impl VersionPlays {
    fn new(versions: Vec<String>, cases: Vec<Arc<Case>>) -> Result<Self, CliError> {
        let goldens = cases.iter().map(|case| Ok((case.name.clone(), load_golden(case)?)));
        let goldens = goldens.collect::<Result<_, CliError>>()?;
        let specs = versions.iter().map(|version| SubjectSpec::Upstream(Some(version.clone()))).collect();
        Ok(Self {
            versions,
            specs,
            cases,
            goldens,
            plays: BTreeMap::new(),
            as_recorded: BTreeSet::new(),
            recorded: BTreeSet::new(),
        })
    }

    /// Play each case `repeat` times on each version, and repeat those that seem to have changed.
    async fn play_all(&mut self, setup: &Setup, repeat: u32, confirm: u32) -> Result<(), CliError> {
        let every = (0..self.versions.len()).map(|version| (version, self.cases.clone())).collect();
        self.play(setup, every, 0..u64::from(repeat)).await?;
        let mut played = repeat;
        for plays in [SCREEN_PLAYS.min(confirm), confirm] {
            let differing = self.differing();
            if played < plays && !differing.is_empty() {
                self.play(setup, differing, u64::from(played)..u64::from(plays)).await?;
                played = plays;
            }
        }
        Ok(())
    }

    /// The cases in which a version differs from a neighbour and neither varies, by index of the
    /// version.
    fn differing(&self) -> BTreeMap<usize, Vec<Arc<Case>>> {
        let mut differing: BTreeMap<usize, Vec<Arc<Case>>> = BTreeMap::new();
        for case in &self.cases {
            let pairs = 1..self.versions.len();
            let changed = pairs.filter(|newer| {
                matches!(self.change(newer - 1, *newer, case), VersionChange::Changed(_) | VersionChange::Unknown(_))
            });
            let versions: BTreeSet<usize> = changed.flat_map(|newer| [newer - 1, newer]).collect();
            versions.into_iter().for_each(|version| differing.entry(version).or_default().push(Arc::clone(case)));
        }
        differing
    }

    /// Play cases with each of these seeds, in a test environment for each set of controllers.
    async fn play(
        &mut self,
        setup: &Setup,
        cases: BTreeMap<usize, Vec<Arc<Case>>>,
        seeds: std::ops::Range<u64>,
    ) -> Result<(), CliError> {
        let rounds: Vec<PlayRound> = seeds.map(|seed| PlayRound { time: 1, seed: Some(seed) }).collect();
        let plays = cases.values().map(Vec::len).sum::<usize>() * rounds.len();
        setup.events.emit(&RunEvent::RunStarted { plays })?;
        let environments: BTreeSet<ControllerSet> = self.cases.iter().map(|case| case.controllers.clone()).collect();
        for under_test in environments {
            let of = |version: usize| {
                let cases = cases.get(&version).into_iter().flatten();
                cases.filter(|case| case.controllers == under_test).cloned().collect::<Vec<_>>()
            };
            let specs = self.specs.clone();
            let played = setup.for_each_subject(&under_test, &specs, plays, async |spec, player| {
                let version = self.specs.iter().position(|one| one == spec).unwrap_or_default();
                self.play_version(setup, player, version, PlayPlan { rounds: &rounds, ..PlayPlan::once(&of(version)) })
                    .await
            });
            played.await?;
        }
        Ok(())
    }

    async fn play_version(
        &mut self,
        setup: &Setup,
        player: &Executor,
        version: usize,
        plan: PlayPlan<'_>,
    ) -> Result<(), CliError> {
        setup
            .play_each(player, plan, async |played: CompletedPlay<'_>| {
                let CompletedPlay { case, recording, round, .. } = played;
                let golden = self.goldens[&case.name].for_subject(&recording.header, None);
                let golden = golden.for_server(&recording.header.cluster.version);
                let judgement = verdict::judge(case, &recording, golden);
                let (key, seed) = ((version, case.name.clone()), round.seed.unwrap_or_default());
                if golden.is_some() {
                    self.recorded.insert(key.clone());
                }
                if seed == 0 && judgement.outcome() == RunOutcome::Conformant {
                    self.as_recorded.insert(key.clone());
                }
                self.plays.entry(key).or_default().insert(seed, PlayResult::of(judgement));
                Ok::<_, CliError>(ControlFlow::Continue(()))
            })
            .await
    }

    /// Compare two versions on a case.
    fn change(&self, older: usize, newer: usize, case: &Case) -> VersionChange {
        let plays =
            |version: usize| self.plays.get(&(version, case.name.clone())).into_iter().flat_map(BTreeMap::values);
        let minor = Minor::of(&self.versions[older]).unwrap_or(Minor::new(0));
        let as_older = |play: PlayResult| match play {
            PlayResult::Completed(mut conduct) => {
                conduct.timeline = as_reported_by(conduct.timeline, minor, &case.controllers);
                PlayResult::Completed(conduct)
            }
            broken => broken,
        };
        let (older, newer): (Vec<PlayResult>, Vec<PlayResult>) =
            (plays(older).cloned().collect(), plays(newer).cloned().map(as_older).collect());
        compare_versions(&older, &newer)
    }

    /// Compare all pairs. A change that was not repeated because the command ended early is
    /// unknown.
    fn compare(&self, confirm: u32) -> VersionsReport {
        let repeated = |version: usize, case: &Case| {
            let plays = self.plays.get(&(version, case.name.clone()));
            plays.is_some_and(|plays| plays.contains_key(&u64::from(confirm - 1)))
        };
        let pairs = (1..self.versions.len()).map(|newer| {
            let older = newer - 1;
            let known = |case: &Arc<Case>| {
                let change = match self.change(older, newer, case) {
                    VersionChange::Changed(_) if !repeated(older, case) || !repeated(newer, case) => {
                        VersionChange::Unknown(format!("they differ, and were not played {confirm} times"))
                    }
                    change => change,
                };
                (case.name.clone(), change)
            };
            let minors = [older, newer].map(|version| Minor::of(&self.versions[version]));
            let facts = match minors {
                [Some(older), Some(newer)] => {
                    wording_changes_between(older, newer).map(|fact| fact.description.to_owned()).collect()
                }
                _ => Vec::new(),
            };
            // All cases have been played unless the command ended early.
            let played = |case: &&Arc<Case>| {
                [older, newer].into_iter().all(|version| self.plays.contains_key(&(version, case.name.clone())))
            };
            let cases: BTreeMap<String, VersionChange> = self.cases.iter().filter(played).map(known).collect();
            let (older, newer) = (self.versions[older].clone(), self.versions[newer].clone());
            if cases.len() < self.cases.len() {
                note!("{older} and {newer}: {} of {} cases compared", cases.len(), self.cases.len());
            }
            VersionPair { older, newer, facts, cases }
        });
        let versions = self.versions.iter().enumerate().map(|(number, name)| self.summarize_version(number, name));
        let pairs = pairs.filter(|pair| !pair.cases.is_empty());
        VersionsReport { versions: versions.collect(), pairs: pairs.collect() }
    }

    fn summarize_version(&self, number: usize, name: &str) -> VersionSummary {
        let of_it = || self.plays.iter().filter(|((version, _), _)| *version == number);
        let broken = of_it().filter_map(|((_, case), plays)| {
            let mut why = plays.values().filter_map(|play| match play {
                PlayResult::Inconclusive(why) => Some(why.clone()),
                PlayResult::Completed(_) => None,
            });
            let first = why.next()?;
            Some((case.clone(), (why.count() + 1, first)))
        });
        let count = |all: &BTreeSet<(usize, String)>| all.iter().filter(|(version, _)| *version == number).count();
        let (recorded, as_recorded) = (count(&self.recorded), count(&self.as_recorded));
        let (name, cases) = (name.to_owned(), of_it().count());
        VersionSummary { name, cases, recorded, as_recorded, inconclusive: broken.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(versions: &[&str]) -> String {
        let versions: Vec<String> = versions.iter().map(|version| (*version).to_owned()).collect();
        parse_versions(&versions).unwrap_err().to_string()
    }

    #[test]
    fn invalid_versions_are_refused_with_a_remedy() {
        assert!(refused(&["v1.36.3"]).contains("only v1.36.3 is named; name another in --upstream"));
        assert!(refused(&["1.36", "v1.36.3"]).contains("'1.36' is not a version such as v1.36.3"));
        assert!(refused(&["v1.36.3", "v1.29.15", "v1.36.3"]).contains("v1.36.3 is named twice"));
        let missing = refused(&["v1.2.3", "v1.2.4"]);
        assert!(missing.contains("`scripts/fetch virtual v1.2.3` builds it"), "{missing}");
    }

    #[test]
    fn case_without_upstream_is_left_out() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
        let cases = lockstep_case::find(&[folder]).unwrap();
        let cases: Vec<Case> = cases.iter().flat_map(|path| lockstep_case::load(path).unwrap()).collect();
        let all = cases.len();
        let kept = with_upstream(cases).unwrap();
        assert!(
            kept.len() < all && kept.iter().all(|case| !case.name.starts_with("config-restart/")),
            "{}",
            kept.len()
        );
    }
}
