//! `lockstep fuzz`: random programs on two controllers, until they differ.
//!
//! Programs are played in batches, each batch on one side and then on the other. What differs is made
//! smaller, played again with other seeds, and written as a case.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube_apiserver_sim::Chance;

use super::again::Typed;
use super::out::{note, say};
use super::place::Place;
use super::reporter::Notes;
use super::sharding::Sharding;
use super::{CliError, places};
use crate::campaign::{Cause, Searched, Shard};
use crate::case::Case;
use crate::clock::{self, Instant};
use crate::cluster::SiteName;
use crate::controllers::Controllers;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::Recording;
use crate::report;
use crate::run::{Events, FileError, Plan, Round, Setup};
use crate::search::{Answer, Corpus, Differing, Program, behaviour, differ, smaller};
use crate::subject::Spec;
use crate::supervise::Interrupt;
use crate::timeline::Timeline;

/// How many programs are played on one side before the other's turn.
const BATCH: usize = 64;
/// How many programs are played at most to make one smaller.
const SHRINKING: usize = 600;
/// With so many seeds a difference is played again.
const SEEDS: u64 = 5;
/// How often it is said how far the search is.
const SAID: Duration = Duration::from_secs(20);

/// Search for a program on which two controllers differ.
///
/// Random programs (rollouts, scaling, pauses, undo, failing pods, time, events held back) are
/// played on both controllers on the simulated cluster. A program on which they differ is made as
/// small as possible and written as a case, once for each cause.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The controller to test.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    subject: String,
    /// The controller to compare with, or `none`: the invariants alone.
    #[arg(help_heading = "Subject", long, default_value = "upstream", value_name = "SUBJECT")]
    against: String,
    /// Play this many programs [default: 1000, where --for is absent].
    #[arg(help_heading = "Search", long, value_name = "N")]
    programs: Option<usize>,
    /// Start no more programs after this time.
    #[arg(help_heading = "Search", long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    /// Stop at the first difference.
    #[arg(help_heading = "Search", long)]
    first: bool,
    /// Folder for the cases on which the controllers differ.
    #[arg(help_heading = "Output", long, value_name = "FOLDER", default_value = "found")]
    out: PathBuf,
    #[command(flatten)]
    sharding: Sharding,
}

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    if arguments.place.site.cluster() != SiteName::Sim {
        return Err(CliError::Usage("fuzz plays on --cluster sim only; play what it finds elsewhere".to_owned()));
    }
    let mut specs = vec![arguments.subject.parse::<Spec>()?];
    if arguments.against != "none" {
        specs.insert(0, arguments.against.parse()?);
    }
    arguments.place.check(&[], &specs)?;
    places::folder("--out", Some(&arguments.out))?;
    arguments.sharding.check()?;
    let results = arguments.sharding.results_of_search(typed);
    let setup = arguments.place.setup(Events::to(vec![Arc::new(Notes)]));
    let mut search = Search {
        chance: Chance::new(arguments.sharding.shard().seed(arguments.place.seed)),
        arguments: &arguments,
        typed,
        setup: &setup,
        specs,
        corpus: Corpus::default(),
        found: BTreeMap::new(),
        unknown: BTreeMap::new(),
        played: 0,
        since: clock::instant(),
    };
    let ended = search.run().await;
    search.summary();
    if let (Some(results), Ok(()), None) = (results, &ended, Interrupt::of_process().cause()) {
        let searched = search.searched();
        let line = serde_json::to_string(&searched).expect("texts and numbers can be written as JSON");
        results.take(line);
        results.write(&[searched.outcome()], search.since.elapsed().as_secs_f64())?;
    }
    ended.map(|()| search.searched().outcome())
}

/// A search under way.
struct Search<'a> {
    arguments: &'a Arguments,
    typed: &'a Typed,
    setup: &'a Setup,
    /// The controller to compare with, if any, and the subject.
    specs: Vec<Spec>,
    chance: Chance,
    corpus: Corpus,
    /// By cause.
    found: BTreeMap<String, Found>,
    /// Why a program could not be compared, and how often.
    unknown: BTreeMap<String, usize>,
    played: usize,
    since: Instant,
}

/// What is known of a cause.
struct Found {
    /// In how many programs it was seen.
    programs: usize,
    /// The file of the smallest.
    path: PathBuf,
    /// Whether the other side differs from itself there.
    is_chance: bool,
}

/// A program that was played: its case, and what each side did.
struct Played {
    program: Program,
    case: Arc<Case>,
    sides: Vec<Option<Recording>>,
}

impl Played {
    fn answer(&self) -> Answer {
        match self.sides.as_slice() {
            [Some(other), Some(subject)] => differ(&self.case, Some(other), subject),
            [Some(subject)] => differ(&self.case, None, subject),
            _ => Answer::Unknown("it was not played".to_owned()),
        }
    }
}

impl Search<'_> {
    async fn run(&mut self) -> Result<(), CliError> {
        let most = match (self.arguments.programs, self.arguments.within) {
            (Some(programs), _) => self.shard().share(programs),
            (None, Some(_)) => usize::MAX,
            (None, None) => self.shard().share(1_000),
        };
        let mut said = clock::instant();
        while self.played < most && !self.is_over() {
            let size = BATCH.min(most - self.played);
            let programs: Vec<Program> = (0..size).map(|_| self.next()).collect();
            let batch = self.play(programs).await?;
            self.played += batch.len();
            for played in batch {
                self.look_at(played).await?;
            }
            if said.elapsed() >= SAID {
                said = clock::instant();
                self.progress();
            }
        }
        Ok(())
    }

    fn shard(&self) -> Shard {
        self.arguments.sharding.shard()
    }

    /// The program to be played next. Every program is in one shard, so that none is played in two.
    fn next(&mut self) -> Program {
        loop {
            let program = self.corpus.next(&mut self.chance);
            if self.shard().has_text(&program.text("")) {
                return program;
            }
        }
    }

    /// What came of it so far, for `lockstep merge`.
    fn searched(&self) -> Searched {
        let found = self.found.iter().map(|(cause, Found { programs, path, is_chance })| {
            let (file, programs, is_chance) = (path.display().to_string(), *programs, *is_chance);
            (cause.clone(), Cause { programs, file, is_chance })
        });
        Searched {
            item: self.shard().index() as usize - 1,
            seed: self.arguments.place.seed,
            programs: self.played,
            inconclusive: self.unknown.clone(),
            found: found.collect(),
        }
    }

    fn is_over(&self) -> bool {
        let spent = self.arguments.within.is_some_and(|within| self.since.elapsed() >= within);
        let enough = self.arguments.first && self.found.values().any(|found| !found.is_chance);
        spent || enough || Interrupt::of_process().cause().is_some()
    }

    /// Play programs on each side.
    async fn play(&self, programs: Vec<Program>) -> Result<Vec<Played>, CliError> {
        let valid = programs.into_iter().filter_map(|program| Some((program.case()?, program)));
        let mut all: Vec<Played> = valid.map(|(case, program)| Played { program, case, sides: Vec::new() }).collect();
        let cases: Vec<Arc<Case>> = all.iter().map(|played| Arc::clone(&played.case)).collect();
        let controllers = Controllers::default();
        let sides = self.setup.with_each(&controllers, &self.specs, cases.len(), async |_, player| {
            let mut side: Vec<Option<Recording>> = cases.iter().map(|_| None).collect();
            let plan = Plan::once(&cases);
            let played = self.setup.play_each(player, plan, async |played| {
                side[played.number] = Some(played.recording);
                Ok::<_, CliError>(ControlFlow::Continue(()))
            });
            played.await?;
            Ok::<_, CliError>(side)
        });
        for side in sides.await? {
            for (played, recording) in all.iter_mut().zip(side) {
                played.sides.push(recording);
            }
        }
        Ok(all)
    }

    /// Take what a program showed into the corpus, and look into its difference.
    async fn look_at(&mut self, played: Played) -> Result<(), CliError> {
        match played.answer() {
            Answer::Unknown(why) => *self.unknown.entry(why).or_default() += 1,
            Answer::Equal => {}
            Answer::Differs(differing) => {
                if let Some(found) = self.found.get_mut(&differing.cause) {
                    found.programs += 1;
                } else if !self.is_over() {
                    self.found(played, *differing).await?;
                }
                return Ok(());
            }
        }
        if let Some(Some(recording)) = played.sides.first() {
            self.corpus.take(&played.program, behaviour(&Timeline::from_recording(recording)));
        }
        Ok(())
    }

    /// A difference of a cause that was not seen before: make it small, play it again, write it down.
    async fn found(&mut self, played: Played, differing: Differing) -> Result<(), CliError> {
        let cause = differing.cause.clone();
        note!("program {}: {cause}; making it smaller", self.played);
        let (small, differing) = self.shrunk(played, differing).await?;
        let (differs, varies) = self.repeated(&small).await?;
        let path = self.write(&small, &differing, (differs, varies))?;
        let is_chance = varies > 0;
        say!("{}", report::failure(&differing.judgement, &self.again(&path), super::reporter::colour()));
        say!(
            "  differs with {differs} of {SEEDS} seeds{}\n",
            if is_chance { self.chance_of_other(varies) } else { String::new() }
        );
        self.found.insert(cause, Found { programs: 1, path, is_chance });
        Ok(())
    }

    fn chance_of_other(&self, varies: usize) -> String {
        format!("; {} itself does otherwise with {varies} of them: chance", self.specs[0])
    }

    /// The smallest program that still differs by the same cause.
    async fn shrunk(&self, played: Played, differing: Differing) -> Result<(Played, Differing), CliError> {
        let (mut smallest, mut differing) = (played, differing);
        let mut spent = 0;
        'smaller: while spent < SHRINKING {
            let candidates = smaller(&smallest.program);
            for chunk in candidates.chunks(self.setup.lanes.get().max(2)) {
                spent += chunk.len();
                for played in self.play(chunk.to_vec()).await? {
                    if let Answer::Differs(found) = played.answer()
                        && found.cause == differing.cause
                    {
                        (smallest, differing) = (played, *found);
                        continue 'smaller;
                    }
                }
                if spent >= SHRINKING || Interrupt::of_process().cause().is_some() {
                    break 'smaller;
                }
            }
            break;
        }
        Ok((smallest, differing))
    }

    /// With how many seeds the program differs, and with how many the other side differs from what it did before.
    async fn repeated(&self, small: &Played) -> Result<(usize, usize), CliError> {
        let rounds: Vec<Round> = (0..SEEDS).zip(1..).map(|(seed, time)| Round { time, seed: Some(seed) }).collect();
        let cases = [Arc::clone(&small.case)];
        let controllers = Controllers::default();
        let sides = self.setup.with_each(&controllers, &self.specs, rounds.len(), async |_, player| {
            let mut side: BTreeMap<u32, Recording> = BTreeMap::new();
            let plan = Plan { rounds: &rounds, ..Plan::once(&cases) };
            let played = self.setup.play_each(player, plan, async |played| {
                side.insert(played.round.time, played.recording);
                Ok::<_, CliError>(ControlFlow::Continue(()))
            });
            played.await?;
            Ok::<_, CliError>(side)
        });
        let sides = sides.await?;
        let is_different = |answer: Answer| matches!(answer, Answer::Differs(_));
        match sides.as_slice() {
            [others, subjects] => {
                let differs = others.values().zip(subjects.values());
                let differs =
                    differs.filter(|(other, subject)| is_different(differ(&small.case, Some(other), subject)));
                let first = others.values().next();
                let varies = others
                    .values()
                    .filter(|other| first.is_some_and(|first| is_different(differ(&small.case, Some(first), other))));
                Ok((differs.count(), varies.count()))
            }
            [subjects] => {
                Ok((subjects.values().filter(|subject| is_different(differ(&small.case, None, subject))).count(), 0))
            }
            _ => Ok((0, 0)),
        }
    }

    /// The case, with what both did as comments.
    fn write(&self, small: &Played, of: &Differing, (differs, varies): (usize, usize)) -> Result<PathBuf, CliError> {
        let path = self.arguments.out.join(format!("{}.yaml", of.file_name()));
        let mut text = small.program.text(&quoted_text(&format!("Found by a search: {}.", of.cause)));
        let (a, b) = (self.specs.first(), self.specs.last());
        text += &format!(
            "# Seed {}, shard {}, program {}; differs with {differs} of {SEEDS} seeds",
            self.arguments.place.seed,
            self.shard(),
            self.played
        );
        text += &if varies > 0 { self.chance_of_other(varies) } else { String::new() };
        text.push('\n');
        for (spec, recording) in [a, b].into_iter().flatten().zip(&small.sides) {
            let Some(recording) = recording else { continue };
            text += &format!("#\n# What {spec} did:\n#\n");
            for line in Timeline::from_recording(recording).to_string().lines() {
                text += &format!("#   {}\n", line.trim_end());
            }
        }
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.arguments.out)?;
            std::fs::write(&path, &text)
        };
        write().map_err(|source| FileError::File { path: path.clone(), source })?;
        Ok(path)
    }

    /// The command that plays a found case on both again.
    fn again(&self, path: &Path) -> report::Again {
        let file = quoted(&path.display().to_string());
        let subjects: Vec<String> =
            self.specs.iter().map(|spec| format!(" --subject {}", quoted(&spec.to_string()))).collect();
        let verb = if subjects.len() == 2 { "compare" } else { "run" };
        let program = self.typed.program.clone();
        report::Again { repeat: format!("{program} {verb} {file}{}", subjects.concat()), program }
    }

    fn progress(&self) {
        let (kept, seen) = self.corpus.size();
        let seconds = self.since.elapsed().as_secs().max(1);
        let a_minute = u64::try_from(self.played).unwrap_or(u64::MAX) * 60 / seconds;
        note!(
            "{} programs in {seconds} s, {a_minute} a minute; {seen} kinds of behaviour in {kept} of them; {} causes of a difference",
            self.played,
            self.found.len()
        );
    }

    fn summary(&self) {
        self.progress();
        self.searched().lines().iter().for_each(|line| say!("{line}"));
    }
}

/// A YAML string.
fn quoted_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
