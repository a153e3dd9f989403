//! `lockstep fuzz`: plays random programs on two controllers until they differ.
//!
//! Programs are played in batches, each batch on one controller and then on the other. A program on
//! which they differ is repeated with other seeds. If chance does not explain the difference, the
//! program is shrunk and written as a case.
//!
//! * `program_runner` plays programs and judges the plays, `triage` repeats and shrinks programs.

pub(super) mod program_runner;
pub(super) mod triage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::Case;
use lockstep_cluster::SiteName;
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::{FileName, Recording};
use lockstep_report as report;
use lockstep_report::campaign::{FindingSummary, SearchResult, Shard};
use lockstep_search::{Area, Areas, CaseProgram, Focus, Fuzzer, PlayedProgram, SearchFinding, describe_repeats};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock::{self, Instant};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize::quote;
use lockstep_timeline::Timeline;
use lockstep_verdict::Judgement;
use program_runner::{Assessment, ProgramRunner, SetupRunner, assess};
use serde_json::Value;
use triage::{confirm_on, repeat, shrink};

use super::cluster_args::{ClusterArgs, default_cluster};
use super::out::{self, colour, note, say};
use super::play_args::{CommonPlayArgs, PlayArgs, ScopeArgs};
use super::progress::Progress;
use super::reporter::{ProgressReporter, messages};
use super::rerun_command::CommandLine;
use super::sharding::Sharding;
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths};

/// The flags that the command of one program leaves out: those of the search alone, and the seed,
/// by which programs are chosen.
const OMITTED_FROM_RERUN: [&str; 13] = [
    "subject",
    "against",
    "seeds",
    "jobs",
    "programs",
    "length",
    "only",
    "fail_fast",
    "confirm_on",
    "out",
    "keep_programs",
    "shard",
    "results",
];

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The controller to test.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: String,
    /// The controller to compare with, or `none`: the invariants alone [default: upstream where it
    /// is built for virtual time, else none].
    #[arg(help_heading = "Subject", long, value_name = "SUBJECT")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    against: Option<String>,
    #[command(flatten)]
    common: CommonPlayArgs,
    /// Play this many programs [default: 1000, where --for is absent].
    #[arg(help_heading = "Search", long, value_name = "N")]
    programs: Option<usize>,
    /// Start no more programs after this time.
    #[arg(help_heading = "Search", long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    length: Option<Duration>,
    /// Only these parts of the language, separated by commas [default: all].
    #[arg(help_heading = "Search", long, value_enum, value_name = "AREA", value_delimiter = ',')]
    only: Vec<Area>,
    /// Stop at the first difference.
    #[arg(help_heading = "Search", long)]
    fail_fast: bool,
    /// Play what is found on this cluster as well, and say whether the controllers differ there.
    #[arg(help_heading = "Search", long, hide_short_help = true, value_enum, value_name = "CLUSTER")]
    confirm_on: Option<SiteName>,
    /// Folder for the cases on which the controllers differ.
    #[arg(help_heading = "Output", long, value_name = "FOLDER", default_value = "found")]
    out: PathBuf,
    /// Write every program that is played to this folder, as a case.
    #[arg(help_heading = "Output", long, hide_short_help = true, value_name = "FOLDER")]
    keep_programs: Option<PathBuf>,
    #[command(flatten)]
    sharding: Sharding,
}

pub(super) async fn execute(arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let play_args = PlayArgs::simulated(ScopeArgs::default(), arguments.common.clone());
    let mut specs = vec![arguments.subject.parse::<SubjectSpec>()?];
    let against = match arguments.against.as_deref() {
        Some("none") => None,
        Some(against) => Some(against.parse()?),
        None => default_reference(&specs[0]),
    };
    specs.splice(0..0, against);
    play_args.check(&[], &specs)?;
    output_paths::check_folder("--out", Some(&arguments.out))?;
    output_paths::check_folder("--keep-programs", arguments.keep_programs.as_deref())?;
    arguments.sharding.check()?;
    let results = arguments.sharding.results_of_search(typed);
    let setup = play_args.setup(messages(ProgressReporter::CountingNameless));
    let since = clock::instant();
    let within = arguments.length;
    let is_over =
        move || within.is_some_and(|within| since.elapsed() >= within) || Interrupt::for_process().cause().is_some();
    let runner = SetupRunner { setup: &setup, specs: &specs, is_over: &is_over };
    let ours = SetupRunner { setup: &setup, specs: &[SubjectSpec::Ours], is_over: &is_over };
    let fuzzer = Fuzzer::new(arguments.sharding.shard().seed(play_args.seed()), &Areas::only(&arguments.only));
    let mut search =
        Search { arguments: &arguments, play_args: &play_args, typed, specs: &specs, runner, ours, fuzzer, since };
    let result = search.run().await;
    setup.close_programs().await;
    let (searched, most) = (search.result(), search.most());
    // To have played nothing proves nothing. A shard may have none of a few programs.
    let is_empty = most == 0 && arguments.sharding.shard() != Shard::SINGLE;
    let outcome = match searched.programs {
        0 if !is_empty => RunOutcome::Inconclusive,
        _ => searched.outcome(),
    };
    searched.lines().iter().for_each(|line| say!("{line}"));
    if let (Some(results), Ok(()), None) = (results, &result, Interrupt::for_process().cause()) {
        results.add(serde_json::to_string(&searched).expect("texts and numbers can be written as JSON"));
        results.write(&[outcome], 0, since.elapsed().as_secs_f64())?;
    }
    result.map(|()| outcome)
}

/// Upstream as the reference, if it is already built for virtual time. Nothing is built unless the
/// user asks for it.
fn default_reference(subject: &SubjectSpec) -> Option<SubjectSpec> {
    let upstream = SubjectSpec::Upstream(None);
    let why = match upstream.not_built() {
        None => return Some(upstream),
        Some(why) => why,
    };
    let ours =
        if *subject == SubjectSpec::Ours { "" } else { ", and --against ours compares with Lockstep's own controller" };
    note!("the invariants alone are checked: {why}{ours}");
    None
}

/// A running search.
struct Search<'a> {
    arguments: &'a Arguments,
    /// Where and how programs are played.
    play_args: &'a PlayArgs,
    typed: &'a CommandLine,
    /// The reference controller, if any, and the subject.
    specs: &'a [SubjectSpec],
    runner: SetupRunner<'a>,
    /// Runs Lockstep's own controller, which guides the search, unless it is already one of the
    /// two.
    ours: SetupRunner<'a>,
    fuzzer: Fuzzer,
    since: Instant,
}

impl Search<'_> {
    /// The most programs of this shard.
    fn most(&self) -> usize {
        match (self.arguments.programs, self.arguments.length) {
            (Some(programs), _) => self.shard().share(programs),
            (None, Some(_)) => usize::MAX,
            (None, None) => self.shard().share(1_000),
        }
    }

    async fn run(&mut self) -> Result<(), CliError> {
        let most = self.most();
        Progress::for_process().expect("play", None);
        self.show_progress(most);
        let enough = |search: &Self| search.arguments.fail_fast && search.fuzzer.real_causes() > 0;
        while self.fuzzer.programs_played() < most && self.runner.can_continue() && !enough(self) {
            // Each program is in exactly one shard.
            let (shard, size) = (self.shard(), self.runner.batch().min(most - self.fuzzer.programs_played()));
            let (focus, programs) = self.fuzzer.batch(size, |program| shard.has_text(&program.text("")));
            let all = self.runner.once(focus, programs).await?;
            let side = self.specs.iter().position(|spec| *spec == SubjectSpec::Ours);
            let ours = if side.is_none() { self.play_ours(focus, &all).await? } else { Vec::new() };
            let recording_of_ours =
                |at: usize| side.map_or_else(|| ours.get(at), |side| all[at].sides.get(side))?.as_ref();
            let assessed = assess(&all, recording_of_ours, self.runner.setup.lanes.get())?;
            for (played, Assessment { answer, feedback }) in all.into_iter().zip(assessed) {
                self.fuzzer.learn(&played.program, feedback);
                if let Some(folder) = &self.arguments.keep_programs {
                    write_program(folder, &played.program, self.fuzzer.programs_played(), &self.origin())?;
                }
                if let Some(look) = self.fuzzer.examine(played, answer)
                    && self.runner.can_continue()
                {
                    self.investigate(look).await?;
                }
            }
            self.show_progress(most);
        }
        Ok(())
    }

    /// Play each program on Lockstep's own controller.
    async fn play_ours(&self, focus: Focus, all: &[PlayedProgram]) -> Result<Vec<Option<Recording>>, CliError> {
        let cases: Vec<_> = all.iter().map(|played| Arc::clone(&played.case)).collect();
        let sides = self.ours.play(focus, &cases, &[0]).await?;
        Ok(sides.into_iter().flatten().map(|plays| plays.into_iter().next().flatten()).collect())
    }

    /// Investigate a difference with a new cause: rule out chance, shrink the program, and write it
    /// as a case.
    async fn investigate(&mut self, look: SearchFinding) -> Result<(), CliError> {
        let cause = look.cause();
        let reference = self.specs[0].to_string();
        let repeats = repeat(&self.runner, &look.run).await?;
        if repeats.is_chance() {
            self.fuzzer.record_cause(cause, None);
            return Ok(());
        }
        note!("program {}: {cause}; making it smaller", self.fuzzer.programs_played());
        let (small, ended) = shrink(&self.runner, look).await;
        if self.fuzzer.merge_cause(cause, &small.cause()) {
            return ended;
        }
        let rerun = match ended {
            Ok(()) => repeat(&self.runner, &small.run).await,
            Err(error) => Err(error),
        };
        let words = match &rerun {
            Ok(repeats) if repeats.is_chance() => {
                self.fuzzer.record_cause(small.cause(), None);
                return Ok(());
            }
            Ok(repeats) => describe_repeats(*repeats, &reference),
            // Keep the finding even if shrinking was interrupted.
            Err(_) => {
                format!(
                    "{}; then the search was interrupted, and it may not be the smallest",
                    describe_repeats(repeats, &reference)
                )
            }
        };
        let path = self.write(&small, &words)?;
        self.fuzzer.record_cause(small.cause(), Some(path));
        rerun?;
        if let Some(site) = self.arguments.confirm_on {
            let differs = confirm_on(self.play_args, site, &small.run, self.specs).await?;
            say!("  on {site}: {}", if differs { "the controllers differ too" } else { "no difference" });
        }
        say!("");
        Ok(())
    }

    /// Write a difference as a case and print it.
    fn write(&self, small: &SearchFinding, words: &str) -> Result<PathBuf, CliError> {
        let writer = FindingWriter { typed: self.typed, specs: self.specs, out: &self.arguments.out };
        let path = writer.write(small, &format!("{}; {words}", self.origin()))?;
        let judgement = of_file(&small.differing.judgement, &path);
        out::report(&format!("{}\n", report::failure(&judgement, &writer.rerun(&path), colour())));
        say!("  {words}");
        Ok(path)
    }

    /// The seed, shard and number of the last program.
    fn origin(&self) -> String {
        format!("seed {}, shard {}, program {}", self.play_args.seed(), self.shard(), self.fuzzer.programs_played())
    }

    /// Say how many of at most so many programs were played, and what they showed.
    fn show_progress(&self, most: usize) {
        let (kept, seen) = self.fuzzer.size();
        let seconds = self.since.elapsed().as_secs().max(1);
        let a_minute = u64::try_from(self.fuzzer.programs_played()).unwrap_or(u64::MAX) * 60 / seconds;
        let causes = match self.fuzzer.real_causes() {
            0 => "no difference".to_owned(),
            1 => "1 cause of a difference".to_owned(),
            causes => format!("{causes} causes of a difference"),
        };
        let kinds = pluralize(seen, "kind");
        let programs = match (self.fuzzer.programs_played(), most) {
            (played, usize::MAX) => pluralize(played, "program"),
            (played, most) => format!("{played} of {}", pluralize(most, "program")),
        };
        let detail = format!("{programs}, {a_minute} a minute; {kinds} of behaviour in {kept} of them; {causes}");
        Progress::for_process().describe(detail);
    }

    fn shard(&self) -> Shard {
        self.arguments.sharding.shard()
    }

    /// The result so far.
    fn result(&self) -> SearchResult {
        let found = self.fuzzer.causes().iter().map(|(cause, found)| {
            let file = found.path.as_ref().map_or_else(String::new, |path| path.display().to_string());
            (cause.clone(), FindingSummary { programs: found.programs, file, is_chance: found.path.is_none() })
        });
        SearchResult {
            item: self.shard().index() as usize - 1,
            seed: self.play_args.seed(),
            programs: self.fuzzer.programs_played(),
            inconclusive: self.fuzzer.unknown().clone(),
            findings: found.collect(),
        }
    }
}

/// The judgement of a program as that of the file to which it was written.
fn of_file(judgement: &Judgement, file: &Path) -> Judgement {
    let path = file.display().to_string();
    let definition = Arc::new(Case { path: path.clone(), ..Case::clone(&judgement.definition) });
    Judgement { path, definition, ..judgement.clone() }
}

/// Writes cases for findings.
struct FindingWriter<'a> {
    typed: &'a CommandLine,
    /// The reference controller, if any, and the subject.
    specs: &'a [SubjectSpec],
    /// The folder of the cases.
    out: &'a Path,
}

/// Write a program as a case. `number` is its position in the search, from 1.
fn write_program(folder: &Path, program: &CaseProgram, number: usize, origin: &str) -> Result<(), CliError> {
    let text = case_text(program, &format!("A random program: {origin}."));
    Ok(output_paths::write(&folder.join(format!("program-{number:05}.yaml")), &text)?)
}

/// The text of a program as a case. A JSON string is a YAML string.
fn case_text(program: &CaseProgram, description: &str) -> String {
    program.text(&Value::from(description).to_string())
}

impl FindingWriter<'_> {
    /// Write the case, with the timelines of both controllers as comments. Returns its path.
    fn write(&self, small: &SearchFinding, origin: &str) -> Result<PathBuf, CliError> {
        let path = self.out.join(FileName::of(&small.file_name()).with_ending(".yaml"));
        let mut text = case_text(&small.run.program, &format!("Found by a search: {}.", small.cause()));
        text += &format!("# {origin}\n# {}\n", self.rerun(&path).repeat);
        for (spec, recording) in self.specs.iter().zip(&small.run.sides) {
            let Some(recording) = recording else { continue };
            text += &format!("#\n# What {spec} did:\n#\n");
            for line in Timeline::from_recording(recording).to_string().lines() {
                text += &format!("#   {}\n", line.trim_end());
            }
        }
        output_paths::write(&path, &text)?;
        Ok(path)
    }

    /// The command that plays the case on both controllers.
    fn rerun(&self, path: &Path) -> report::RerunCommands {
        let file = quote(&path.display().to_string());
        let subjects: Vec<String> =
            self.specs.iter().map(|spec| format!(" --subject {}", quote(&spec.to_string()))).collect();
        let verb = if subjects.len() == 2 { "compare" } else { "run" };
        let cluster = ClusterArgs::simulated().to_flags(default_cluster(verb));
        let flags = self.typed.flags(&OMITTED_FROM_RERUN);
        let program = self.typed.program.clone();
        report::RerunCommands {
            repeat: format!("{program} {verb} {file}{}{cluster}{flags}", subjects.concat()),
            program,
        }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::scaled_to;
    use lockstep_search::{SideComparison, generate};
    use lockstep_verdict::testing::case_of;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn rerun_has_every_flag_that_affects_a_play() {
        let words = "lockstep fuzz --in-cluster --subject-env PATH --cluster-controllers upstream --budget 9s \
                     --workload argo-rollouts";
        let line = format!("{words} --against ours --programs 3 --only undo --seeds 7 -j 2 --out x --shard 1/2");
        let typed = Cli::read(line.split_whitespace().map(Into::into)).unwrap().typed;
        let repeat = |specs: &[SubjectSpec]| {
            FindingWriter { typed: &typed, specs, out: Path::new("x") }.rerun(Path::new("x/a.yaml")).repeat
        };
        let two = repeat(&[SubjectSpec::Ours, SubjectSpec::OursFixed]);
        let (program, rest) = two.split_once(" compare ").unwrap();
        assert!(rest.starts_with("x/a.yaml --subject ours --subject ours:fixed --cluster sim --"), "{two}");
        for flag in words.split(" --").skip(1) {
            assert!(rest.contains(&format!(" --{}", flag.trim())), "{flag} is lost: {two}");
        }
        assert_eq!(rest.matches(" --").count(), 3 + 5, "{two}");
        let again = |text: &str| {
            Cli::read(shlex::split(&text.replacen(program, "lockstep", 1)).unwrap().into_iter().map(Into::into))
        };
        assert!(again(&two).is_ok() && again(&repeat(&[SubjectSpec::Ours])).is_ok(), "{two}");
    }

    #[test]
    fn report_of_a_finding_names_the_file_that_is_written() {
        let program = generate(Focus::Deployment, &Areas::only(&[]), &mut kube_apiserver_sim::SeededRng::new(1));
        let sides = vec![Some(scaled_to(11)), Some(scaled_to(13))];
        let played = PlayedProgram { program, case: case_of(&scaled_to(11)), sides };
        let SideComparison::Differs(differing) = played.answer() else { panic!("they differ") };
        let file = Path::new("found/rs1-scaled.yaml");
        let rerun = report::RerunCommands { program: "lockstep".to_owned(), repeat: "again".to_owned() };
        let text = report::failure(&of_file(&differing.judgement, file), &rerun, false);
        assert!(text.contains("lockstep explain found/rs1-scaled.yaml"), "{text}");
        assert!(!text.contains(&differing.judgement.path), "{text}");
    }
}
