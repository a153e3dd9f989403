//! `lockstep fuzz`: random programs on two controllers, until they differ.
//!
//! Programs are played in batches, each batch on one side and then on the other. What differs is
//! played again with other seeds; where that is not explained by chance it is made smaller and
//! written as a case.
//!
//! * `stage` plays programs, `assess` judges what came of it, `hunting` repeats and shrinks them,
//!   `found` writes the case.

mod assess;
mod found;
pub(super) mod hunting;
pub(super) mod stage;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::again::Typed;
use super::out::{note, say};
use super::place::Place;
use super::reporter::Notes;
use super::sharding::Sharding;
use super::{CliError, places};
use crate::campaign::{Cause, Searched, Shard};
use crate::clock::{self, Instant};
use crate::cluster::SiteName;
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::report;
use crate::run::Events;
use crate::search::{About, Area, Areas, Hunt, Look, Played, said};
use crate::subject::Spec;
use crate::supervise::Interrupt;
use assess::{Assessed, assess};
use found::{Writer, write_program};
use hunting::{confirmed, repeated, shrunk};
use stage::{OnSetup, Stage};

/// How many programs are played on one side before the other's turn.
const BATCH: usize = 64;
/// How often it is said how far the search is.
const SAID: Duration = Duration::from_secs(20);

/// Search for a program on which two controllers differ.
///
/// Random programs (rollouts, scaling, pauses, undo, failing pods, time, events that come late,
/// requests that fail) are played on both controllers on the simulated cluster. A program on which
/// they differ, and not by chance, is made as small as possible and written as a case, once for
/// each cause.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The controller to test.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    subject: String,
    /// The controller to compare with, or `none`: the invariants alone [default: upstream where it
    /// is built for virtual time, else none].
    #[arg(help_heading = "Subject", long, value_name = "SUBJECT")]
    against: Option<String>,
    /// Play this many programs [default: 1000, where --for is absent].
    #[arg(help_heading = "Search", long, value_name = "N")]
    programs: Option<usize>,
    /// Start no more programs after this time.
    #[arg(help_heading = "Search", long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    /// Only these parts of the language, separated by commas [default: all].
    #[arg(help_heading = "Search", long, value_enum, value_name = "AREA", value_delimiter = ',')]
    only: Vec<Area>,
    /// Stop at the first difference.
    #[arg(help_heading = "Search", long)]
    first: bool,
    /// Play what is found on this cluster as well, and say whether the controllers differ there.
    #[arg(help_heading = "Search", long, value_enum, value_name = "CLUSTER")]
    confirm: Option<SiteName>,
    /// Folder for the cases on which the controllers differ.
    #[arg(help_heading = "Output", long, value_name = "FOLDER", default_value = "found")]
    out: PathBuf,
    /// Write every program that is played to this folder, as a case.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
    #[command(flatten)]
    sharding: Sharding,
}

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    if arguments.place.site.cluster() != SiteName::Sim {
        let why = "fuzz plays on --cluster sim only; --confirm plays what it finds on another";
        return Err(CliError::Usage(why.to_owned()));
    }
    let mut specs = vec![arguments.subject.parse::<Spec>()?];
    let against = match arguments.against.as_deref() {
        Some("none") => None,
        Some(against) => Some(against.parse()?),
        None => built(&specs[0]),
    };
    specs.splice(0..0, against);
    arguments.place.check(&[], &specs)?;
    places::folder("--out", Some(&arguments.out))?;
    places::folder("--cases", arguments.cases.as_deref())?;
    arguments.sharding.check()?;
    let results = arguments.sharding.results_of_search(typed);
    let setup = arguments.place.setup(Events::to(vec![Arc::new(Notes)]));
    let since = clock::instant();
    let within = arguments.within;
    let is_over =
        move || within.is_some_and(|within| since.elapsed() >= within) || Interrupt::of_process().cause().is_some();
    let stage = OnSetup { setup: &setup, specs: &specs, is_over: &is_over };
    let ours = OnSetup { setup: &setup, specs: &[Spec::Ours], is_over: &is_over };
    let hunt = Hunt::new(arguments.sharding.shard().seed(arguments.place.seed), &Areas::only(&arguments.only));
    let mut search = Search { arguments: &arguments, typed, specs: &specs, stage, ours, hunt, since };
    let ended = search.run().await;
    setup.close_programs().await;
    let searched = search.searched();
    searched.lines().iter().for_each(|line| say!("{line}"));
    if let (Some(results), Ok(()), None) = (results, &ended, Interrupt::of_process().cause()) {
        results.take(serde_json::to_string(&searched).expect("texts and numbers can be written as JSON"));
        results.write(&[searched.outcome()], since.elapsed().as_secs_f64())?;
    }
    ended.map(|()| searched.outcome())
}

/// Upstream, where it can be played in virtual time as it is: nothing is built that was not asked
/// for.
fn built(subject: &Spec) -> Option<Spec> {
    let upstream = Spec::Upstream(None);
    let why = match upstream.not_built() {
        None => return Some(upstream),
        Some(why) => why,
    };
    let ours = if *subject == Spec::Ours { "" } else { ", and --against ours compares with Lockstep's own controller" };
    note!("the invariants alone are checked: {why}{ours}");
    None
}

/// A search under way.
struct Search<'a> {
    arguments: &'a Arguments,
    typed: &'a Typed,
    /// The controller to compare with, if any, and the subject.
    specs: &'a [Spec],
    stage: OnSetup<'a>,
    /// Where Lockstep's own controller is played, which steers the search, unless it is one of the
    /// two.
    ours: OnSetup<'a>,
    hunt: Hunt,
    since: Instant,
}

impl Search<'_> {
    async fn run(&mut self) -> Result<(), CliError> {
        let most = match (self.arguments.programs, self.arguments.within) {
            (Some(programs), _) => self.shard().share(programs),
            (None, Some(_)) => usize::MAX,
            (None, None) => self.shard().share(1_000),
        };
        let mut said = clock::instant();
        let enough = |search: &Self| search.arguments.first && search.hunt.real() > 0;
        while self.hunt.played() < most && self.stage.goes_on() && !enough(self) {
            // Every program is in one shard, so that none is played in two.
            let (shard, size) = (self.shard(), BATCH.min(most - self.hunt.played()));
            let (about, programs) = self.hunt.batch(size, |program| shard.has_text(&program.text("")));
            let all = self.stage.once(about, programs).await?;
            let side = self.specs.iter().position(|spec| *spec == Spec::Ours);
            let shown = if side.is_none() { self.shown(about, &all).await? } else { Vec::new() };
            let ours = |at: usize| side.map_or_else(|| shown.get(at), |side| all[at].sides.get(side))?.as_ref();
            let assessed = assess(&all, ours, self.stage.setup.lanes.get())?;
            for (played, Assessed { answer, shown }) in all.into_iter().zip(assessed) {
                self.hunt.learn(&played.program, shown);
                if let Some(folder) = &self.arguments.cases {
                    write_program(folder, &played.program, self.hunt.played(), &self.made_by())?;
                }
                if let Some(look) = self.hunt.look(played, answer)
                    && self.stage.goes_on()
                {
                    self.differs(look).await?;
                }
            }
            if said.elapsed() >= SAID {
                said = clock::instant();
                self.progress();
            }
        }
        Ok(())
    }

    /// What Lockstep's own controller does with each program.
    async fn shown(&self, about: About, all: &[Played]) -> Result<Vec<Option<Recording>>, CliError> {
        let cases: Vec<_> = all.iter().map(|played| Arc::clone(&played.case)).collect();
        let sides = self.ours.play(about, &cases, &[0]).await?;
        Ok(sides.into_iter().flatten().map(|plays| plays.into_iter().next().flatten()).collect())
    }

    /// A difference of a cause that was not seen before: is it chance, how small does it get; write
    /// it down.
    async fn differs(&mut self, look: Look) -> Result<(), CliError> {
        let cause = look.cause();
        let other = self.specs[0].to_string();
        let repeats = repeated(&self.stage, &look.played).await?;
        if repeats.is_chance() {
            self.hunt.found(cause, None);
            return Ok(());
        }
        note!("program {}: {cause}; making it smaller", self.hunt.played());
        let (small, ended) = shrunk(&self.stage, look).await;
        if self.hunt.shrunk(cause, &small.cause()) {
            return ended;
        }
        let again = match ended {
            Ok(()) => repeated(&self.stage, &small.played).await,
            Err(error) => Err(error),
        };
        let words = match &again {
            Ok(repeats) if repeats.is_chance() => {
                self.hunt.found(small.cause(), None);
                return Ok(());
            }
            Ok(repeats) => said(*repeats, &other),
            // What is known must not be lost, even if it is not as small as it could be.
            Err(_) => {
                format!("{}; then the search was interrupted, and it may not be the smallest", said(repeats, &other))
            }
        };
        let path = self.write(&small, &words)?;
        self.hunt.found(small.cause(), Some(path));
        again?;
        if let Some(site) = self.arguments.confirm {
            let differs = confirmed(&self.arguments.place, site, &small.played, self.specs).await?;
            say!("  on {site}: {}", if differs { "the controllers differ too" } else { "no difference" });
        }
        say!("");
        Ok(())
    }

    /// Write a difference as a case and show it.
    fn write(&self, small: &Look, words: &str) -> Result<PathBuf, CliError> {
        let writer = Writer { typed: self.typed, specs: self.specs, out: &self.arguments.out };
        let path = writer.write(small, &format!("{}; {words}", self.made_by()))?;
        let judgement = &small.differing.judgement;
        say!("{}", report::failure(judgement, &writer.again(&path), super::reporter::colour()));
        say!("  {words}");
        Ok(path)
    }

    /// Which program was played last.
    fn made_by(&self) -> String {
        format!("seed {}, shard {}, program {}", self.arguments.place.seed, self.shard(), self.hunt.played())
    }

    fn progress(&self) {
        let (kept, seen) = self.hunt.size();
        let seconds = self.since.elapsed().as_secs().max(1);
        let a_minute = u64::try_from(self.hunt.played()).unwrap_or(u64::MAX) * 60 / seconds;
        note!(
            "{} programs in {seconds} s, {a_minute} a minute; {seen} kinds of behaviour in {kept} of them; {} causes of a difference",
            self.hunt.played(),
            self.hunt.real()
        );
    }

    fn shard(&self) -> Shard {
        self.arguments.sharding.shard()
    }

    /// What came of it so far.
    fn searched(&self) -> Searched {
        let found = self.hunt.causes().iter().map(|(cause, found)| {
            let file = found.path.as_ref().map_or_else(String::new, |path| path.display().to_string());
            (cause.clone(), Cause { programs: found.programs, file, is_chance: found.path.is_none() })
        });
        Searched {
            item: self.shard().index() as usize - 1,
            seed: self.arguments.place.seed,
            programs: self.hunt.played(),
            inconclusive: self.hunt.unknown().clone(),
            found: found.collect(),
        }
    }
}
