//! `lockstep versions`: the cases on each version of upstream that is built, and what changed
//! between which two.
//!
//! Every case that has an upstream is played on every version, in virtual time. Where two
//! neighbours differ both play the case again, under one seed after the other, because a version
//! that breaks a tie by chance differs from itself too. Once it is seen to, that is known, and it
//! is not played any more; what seems to have changed is played [`PLAYS`] times. A tie between two
//! pods can be broken the same way in seven of eight plays, as a small Go map is read from a random
//! place on. What was recorded on a real control plane decides nothing here; how many cases agree
//! with it is said at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::CliError;
use super::again::Typed;
use super::out::{self, note, say};
use super::reporter::{Notes, Progress, colour};
use super::select::{Selection, blessed};
use crate::case::Case;
use crate::clock;
use crate::cluster::{self, Site};
use crate::controllers::Controllers;
use crate::golden::GoldenTimelines;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::report::{self, Pair, Version, Versions};
use crate::run::{Event, Events, Plan, Played, Round, Setup};
use crate::runner::Player;
use crate::subject::{Spec, virtual_time};
use crate::supervise::Interrupt;
use crate::verdict::{self, Change, Play, between};
use crate::versions::{self, Minor, as_told_by, facts_between};

/// Play the cases on several versions of upstream, and show what changed between which two.
///
/// In virtual time, on the simulated cluster. A version that breaks a tie by chance differs from
/// itself: such a case is listed as one that varies, not as changed. Changes are a result, not a
/// failure: the exit code is 0 if every play was conclusive.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The versions, such as v1.33.13,v1.36.3 [default: all that are built].
    ///
    /// `scripts/upstream-virtual VERSION` builds one.
    #[arg(help_heading = "Subject", long, value_name = "VERSIONS", value_delimiter = ',')]
    upstream: Vec<String>,
    /// Play each case this many times on each version, each time with another seed.
    #[arg(help_heading = "Playing", long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Play a case this many times on two versions before it counts as changed between them.
    #[arg(help_heading = "Playing", long, value_name = "N", default_value_t = PLAYS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    confirm: u32,
    /// Cases played in parallel, each on a cluster of its own [default: number of cores].
    #[arg(help_heading = "Playing", short = 'j', long, value_name = "N", value_parser = super::place::jobs)]
    jobs: Option<NonZeroUsize>,
    /// Output format.
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    output: Output,
    /// Show each change as a small diff; default for up to three changes.
    #[arg(help_heading = "Output", long)]
    diffs: bool,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Human,
    /// One JSON object per line, case and two versions.
    Json,
    /// Tables for a page.
    Markdown,
}

/// How often a case is played on two versions before it counts as changed.
const PLAYS: u32 = 64;
/// How often before that, to find most of those that vary.
const SOME: u32 = 8;
/// Up to so many changes are shown as diffs without being asked.
const FEW: usize = 3;
/// How long a step may take to settle, in virtual time.
const BUDGET: Duration = Duration::from_secs(20);

pub(super) async fn execute(arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    let versions = chosen(&arguments.upstream)?;
    let cases = with_upstream(arguments.selection.cases()?)?;
    let since = clock::instant();
    let events = Events::to(vec![Arc::new(Progress::default()), Arc::new(Notes)]);
    let setup = Setup {
        budget: BUDGET,
        lanes: arguments.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN),
        interrupt: Interrupt::of_process(),
        events: events.clone(),
        ..Setup::new(cluster::Plan::new(cluster::DEFAULT_VERSION).at(Site::Sim))
    };
    let mut films = Films::new(versions, cases)?;
    let ended = films.all(&setup, arguments.repeat, arguments.confirm).await;
    events.emit(&Event::RunEnded { outcomes: &[], left: None, cause: None, took: since.elapsed() })?;
    let found = films.compared(arguments.confirm);
    // Tables for a page say that all else is the same; what ended early cannot.
    if ended.is_ok() || arguments.output != Output::Markdown {
        arguments.print(&found, typed);
    }
    note!("{} cases on {} versions in {:.0} s", films.cases.len(), films.specs.len(), since.elapsed().as_secs_f64());
    ended.map(|()| outcome(&found))
}

impl Arguments {
    fn print(&self, found: &Versions, typed: &Typed) {
        match self.output {
            Output::Json => report::versions_json(found).iter().for_each(|line| say!("{line}")),
            Output::Markdown => out::result(format_args!("{}", report::versions_markdown(found))),
            Output::Human => {
                let changes: usize = found.pairs.iter().map(|pair| pair.changed().count()).sum();
                let diffs = self.diffs || changes <= FEW;
                out::result(format_args!("{}", report::versions(found, diffs, colour())));
                let first = found.pairs.iter().find_map(|pair| Some((pair, pair.changed().next()?.0)));
                if let Some((pair, case)) = first.filter(|_| !diffs) {
                    let pair = format!("--upstream {},{}", pair.older, pair.newer);
                    let filter = quoted(&format!("case(={case})"));
                    say!("\nshow a change as a diff: {} -E {filter} {pair}; --diffs shows all", typed.beginning());
                }
            }
        }
    }
}

/// A change is what was asked for; what is inconclusive was not found out.
fn outcome(found: &Versions) -> Outcome {
    let unknown = |pair: &Pair| pair.cases.values().any(|change| matches!(change, Change::Unknown(_)));
    let broke = |version: &Version| !version.inconclusive.is_empty();
    match found.pairs.iter().any(unknown) || found.versions.iter().any(broke) {
        true => Outcome::Inconclusive,
        false => Outcome::Conformant,
    }
}

/// The versions that were asked for, or all that are built; the oldest first.
fn chosen(asked: &[String]) -> Result<Vec<String>, CliError> {
    let mut versions = if asked.is_empty() { virtual_time::built() } else { asked.to_vec() };
    versions.sort_by(|a, b| versions::order(a).cmp(&versions::order(b)));
    let usage = |why: String| Err(CliError::Usage(why));
    if let Some(bad) = versions.iter().find(|version| !cluster::is_version(version)) {
        return usage(format!("--upstream: '{bad}' is not a version such as {}", cluster::DEFAULT_VERSION));
    }
    if let Some([twice, _]) = versions.windows(2).find(|pair| pair[0] == pair[1]) {
        return usage(format!("--upstream: {twice} is named twice"));
    }
    if let [] | [_] = versions.as_slice() {
        let (count, how) = match (versions.first(), asked.is_empty()) {
            (None, _) => ("none is".to_owned(), "`scripts/upstream-virtual VERSION` builds one"),
            (Some(one), true) => (format!("only {one} is"), "`scripts/upstream-virtual VERSION` builds another"),
            (Some(one), false) => (format!("only {one} is"), "name another in --upstream"),
        };
        let what = if asked.is_empty() { "built" } else { "named" };
        return usage(format!("two versions of upstream are needed to compare, and {count} {what}; {how}"));
    }
    versions.iter().try_for_each(|version| virtual_time::available(Some(version)))?;
    Ok(versions)
}

/// Those of the cases that upstream has the controllers for and a golden timeline; the others are
/// counted.
fn with_upstream(cases: Vec<Case>) -> Result<Vec<Arc<Case>>, CliError> {
    let has = |case: &Case| case.expectation.is_blessed() && Spec::Upstream(None).can_bring(&case.controllers).is_ok();
    let (cases, others): (Vec<_>, Vec<_>) = cases.into_iter().map(Arc::new).partition(|case| has(case));
    if !others.is_empty() {
        note!("{} cases without an upstream left out", others.len());
    }
    if cases.is_empty() { Err(CliError::NoneLeft("upstream".to_owned())) } else { Ok(cases) }
}

/// The plays of each case on each version.
struct Films {
    versions: Vec<String>,
    specs: Vec<Spec>,
    cases: Vec<Arc<Case>>,
    goldens: BTreeMap<String, GoldenTimelines>,
    /// By the number of the version and the name of the case: by seed.
    plays: BTreeMap<(usize, String), BTreeMap<u64, Play>>,
    /// Whose first play was as its golden timelines, in the same names.
    as_recorded: BTreeSet<(usize, String)>,
}

impl Films {
    fn new(versions: Vec<String>, cases: Vec<Arc<Case>>) -> Result<Self, CliError> {
        let goldens = cases.iter().map(|case| Ok((case.name.clone(), blessed(case)?)));
        let goldens = goldens.collect::<Result<_, CliError>>()?;
        let specs = versions.iter().map(|version| Spec::Upstream(Some(version.clone()))).collect();
        Ok(Self { versions, specs, cases, goldens, plays: BTreeMap::new(), as_recorded: BTreeSet::new() })
    }

    /// Each case so many times on each version, and those that seem to have changed again.
    async fn all(&mut self, setup: &Setup, repeat: u32, confirm: u32) -> Result<(), CliError> {
        let every = (0..self.versions.len()).map(|version| (version, self.cases.clone())).collect();
        self.play(setup, every, 0..u64::from(repeat)).await?;
        let mut played = repeat;
        for plays in [SOME.min(confirm), confirm] {
            let differing = self.differing();
            if played < plays && !differing.is_empty() {
                self.play(setup, differing, u64::from(played)..u64::from(plays)).await?;
                played = plays;
            }
        }
        Ok(())
    }

    /// The cases in which a version differs from a neighbour and neither from itself, by the number
    /// of the version.
    fn differing(&self) -> BTreeMap<usize, Vec<Arc<Case>>> {
        let mut differing: BTreeMap<usize, Vec<Arc<Case>>> = BTreeMap::new();
        for case in &self.cases {
            let pairs = 1..self.versions.len();
            let apart = pairs.filter(|newer| {
                matches!(self.change(newer - 1, *newer, case), Change::Changed(_) | Change::Unknown(_))
            });
            let versions: BTreeSet<usize> = apart.flat_map(|newer| [newer - 1, newer]).collect();
            versions.into_iter().for_each(|version| differing.entry(version).or_default().push(Arc::clone(case)));
        }
        differing
    }

    /// Play cases with each of these seeds, in an environment for each set of controllers.
    async fn play(
        &mut self,
        setup: &Setup,
        wanted: BTreeMap<usize, Vec<Arc<Case>>>,
        seeds: std::ops::Range<u64>,
    ) -> Result<(), CliError> {
        let rounds: Vec<Round> = seeds.map(|seed| Round { time: 1, seed: Some(seed) }).collect();
        let plays = wanted.values().map(Vec::len).sum::<usize>() * rounds.len();
        setup.events.emit(&Event::RunStarted { plays })?;
        let environments: BTreeSet<Controllers> = self.cases.iter().map(|case| case.controllers.clone()).collect();
        for under_test in environments {
            let of = |version: usize| {
                let cases = wanted.get(&version).into_iter().flatten();
                cases.filter(|case| case.controllers == under_test).cloned().collect::<Vec<_>>()
            };
            let specs = self.specs.clone();
            let played = setup.with_each(&under_test, &specs, plays, async |spec, player| {
                let version = self.specs.iter().position(|one| one == spec).unwrap_or_default();
                self.version(setup, player, version, Plan { rounds: &rounds, ..Plan::once(&of(version)) }).await
            });
            played.await?;
        }
        Ok(())
    }

    async fn version(
        &mut self,
        setup: &Setup,
        player: &Player,
        version: usize,
        plan: Plan<'_>,
    ) -> Result<(), CliError> {
        setup
            .play_each(player, plan, async |played: Played<'_>| {
                let Played { case, recording, round, .. } = played;
                let golden = self.goldens[&case.name].applicable_to(&recording.header, None);
                let golden = golden.for_server(&recording.header.cluster.version);
                let judgement = verdict::judge(case, &recording, golden);
                let (key, seed) = ((version, case.name.clone()), round.seed.unwrap_or_default());
                if seed == 0 && judgement.outcome() == Outcome::Conformant {
                    self.as_recorded.insert(key.clone());
                }
                self.plays.entry(key).or_default().insert(seed, Play::of(judgement));
                Ok::<_, CliError>(ControlFlow::Continue(()))
            })
            .await
    }

    /// What there is to say of two versions on a case.
    fn change(&self, older: usize, newer: usize, case: &Case) -> Change {
        let plays =
            |version: usize| self.plays.get(&(version, case.name.clone())).into_iter().flat_map(BTreeMap::values);
        let minor = Minor::of(&self.versions[older]).unwrap_or(Minor::new(0));
        let as_older = |play: Play| match play {
            Play::Seen(mut conduct) => {
                conduct.timeline = as_told_by(conduct.timeline, minor, &case.controllers);
                Play::Seen(conduct)
            }
            broken => broken,
        };
        let (older, newer): (Vec<Play>, Vec<Play>) =
            (plays(older).cloned().collect(), plays(newer).cloned().map(as_older).collect());
        between(&older, &newer)
    }

    /// All pairs. A change that was not repeated, because something ended the command, is not known
    /// to be one.
    fn compared(&self, confirm: u32) -> Versions {
        let repeated = |version: usize, case: &Case| {
            let plays = self.plays.get(&(version, case.name.clone()));
            plays.is_some_and(|plays| plays.contains_key(&u64::from(confirm - 1)))
        };
        let pairs = (1..self.versions.len()).map(|newer| {
            let older = newer - 1;
            let known = |case: &Arc<Case>| {
                let change = match self.change(older, newer, case) {
                    Change::Changed(_) if !repeated(older, case) || !repeated(newer, case) => {
                        Change::Unknown(format!("they differ, and were not played {confirm} times"))
                    }
                    change => change,
                };
                (case.name.clone(), change)
            };
            let minors = [older, newer].map(|version| Minor::of(&self.versions[version]));
            let facts = match minors {
                [Some(older), Some(newer)] => facts_between(older, newer).map(|fact| fact.says.to_owned()).collect(),
                _ => Vec::new(),
            };
            // All of them, unless something ended the command.
            let played = |case: &&Arc<Case>| {
                [older, newer].into_iter().all(|version| self.plays.contains_key(&(version, case.name.clone())))
            };
            let cases: BTreeMap<String, Change> = self.cases.iter().filter(played).map(known).collect();
            let (older, newer) = (self.versions[older].clone(), self.versions[newer].clone());
            if cases.len() < self.cases.len() {
                note!("{older} and {newer}: {} of {} cases compared", cases.len(), self.cases.len());
            }
            Pair { older, newer, facts, cases }
        });
        let versions = self.versions.iter().enumerate().map(|(number, name)| self.version_of(number, name));
        let pairs = pairs.filter(|pair| !pair.cases.is_empty());
        Versions { versions: versions.collect(), pairs: pairs.collect() }
    }

    fn version_of(&self, number: usize, name: &str) -> Version {
        let of_it = || self.plays.iter().filter(|((version, _), _)| *version == number);
        let broken = of_it().filter_map(|((_, case), plays)| {
            let mut why = plays.values().filter_map(|play| match play {
                Play::Inconclusive(why) => Some(why.clone()),
                Play::Seen(_) => None,
            });
            let first = why.next()?;
            Some((case.clone(), (why.count() + 1, first)))
        });
        let as_recorded = self.as_recorded.iter().filter(|(version, _)| *version == number).count();
        Version { name: name.to_owned(), cases: of_it().count(), as_recorded, inconclusive: broken.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(versions: &[&str]) -> String {
        let versions: Vec<String> = versions.iter().map(|version| (*version).to_owned()).collect();
        chosen(&versions).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_compared_is_refused_with_its_remedy() {
        assert!(refused(&["v1.36.3"]).contains("only v1.36.3 is named; name another in --upstream"));
        assert!(refused(&["1.36", "v1.36.3"]).contains("'1.36' is not a version such as v1.36.3"));
        assert!(refused(&["v1.36.3", "v1.29.15", "v1.36.3"]).contains("v1.36.3 is named twice"));
        let missing = refused(&["v1.2.3", "v1.2.4"]);
        assert!(missing.contains("`scripts/upstream-virtual v1.2.3` builds it"), "{missing}");
    }

    #[test]
    fn a_case_without_an_upstream_is_left_out() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
        let cases = crate::case::find(&[folder]).unwrap();
        let cases: Vec<Case> = cases.iter().flat_map(|path| crate::case::load(path).unwrap()).collect();
        let all = cases.len();
        let kept = with_upstream(cases).unwrap();
        assert!(
            kept.len() < all && kept.iter().all(|case| !case.name.starts_with("config-restart/")),
            "{}",
            kept.len()
        );
    }
}
