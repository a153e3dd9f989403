//! The command line: parses arguments, runs commands, and turns outcomes into exit codes.
//!
//! Each command is one file or folder that selects cases, sets up a test environment, plays, judges
//! and prints. Some files have several commands of one subject: `record` also `judge`, `replay`
//! also `case`, `cluster` also `doctor`, `live` has `capture`, `import` and `watch`, `generate` has
//! `completions` and `schema`. Nothing here decides a verdict. Results go to standard output;
//! progress, and messages about the test environment rather than the subject, go to standard error.
//!
//! What several commands share:
//!
//! * `play_args` has the arguments of all commands that play, with those of `cluster_args`;
//!   `sharding` plays one part of a selection.
//! * `select` finds the cases that the user names, `choice` those of them that apply to a subject.
//! * `golden` finds what a subject is compared with, `recording_files` reads and writes recordings.
//! * `reporter` prints judgements and writes reports, `progress` what a command is doing; `out` is
//!   the only other file that prints; `output_paths` checks and writes files.
//! * `tree` has the commands in their groups and the options with their reasons, from which all
//!   help comes; `absent_options` explains options that a command lacks; `subject_parser` completes
//!   subjects.
//! * `rerun_command` builds the command that repeats a play, `parallel` runs work on several
//!   threads, `error` has the errors of all commands.
//!
//! This file imports the commands. No command imports this file.

mod absent_options;
mod bless;
mod choice;
mod cluster;
mod cluster_args;
mod compare;
mod coverage;
mod error;
mod explain;
mod explore;
mod faults;
mod fuzz;
mod generate;
mod golden;
mod handover;
mod init;
mod inspect;
mod lint;
mod list;
mod live;
mod merge;
mod mutants;
mod out;
mod output_paths;
mod parallel;
mod play_args;
mod progress;
mod promised_bounds;
mod record;
mod recording_files;
mod replay;
mod reporter;
mod rerun_command;
mod run;
mod select;
mod sharding;
mod subject_parser;
pub mod tree;
mod versions;

use std::ffi::OsString;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
pub use error::CliError;
use futures::future::LocalBoxFuture;
use lockstep_support::outcome::RunOutcome;
pub use out::may_have_colours;
use progress::Progress;
use rerun_command::CommandLine;

/// Judges a Kubernetes Deployment controller, step by step, by what upstream's
/// kube-controller-manager does.
#[derive(Debug, Parser)]
#[command(name = "lockstep", version, after_help = MORE_HELP, after_long_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: CliCommand,
    #[arg(skip)]
    typed: CommandLine,
}

const MORE_HELP: &str = "\
`lockstep COMMAND -h` lists the usual options, `--help` all of them; `lockstep --help` also exit codes.";

const EXIT_CODES: &str = "\
`lockstep COMMAND -h` lists the usual options, `--help` all of them.

Exit codes: 0 conformant; 1 non-conformant; 2 inconclusive; 3 unblessed or changed timelines; 4 no case selected;
64 bad usage or a bad case file; 70 internal error. With several outcomes the most severe wins: 70, 64, 1, 2, 3.
Ended early: 129 SIGHUP, 130 SIGINT, 143 SIGTERM, 141 standard output closed; what was judged until then is reported.";

// What each does is in `tree`.
#[derive(Debug, Subcommand)]
enum CliCommand {
    Run(run::Arguments),
    Compare(compare::Arguments),
    Versions(versions::Arguments),
    Explain(explain::Arguments),
    Inspect(inspect::Arguments),
    List(list::Arguments),
    Init(init::Arguments),
    Lint(lint::Arguments),
    Bless(bless::Arguments),
    Schema(generate::SchemaArguments),
    Capture(live::CaptureArguments),
    Import(live::ImportArguments),
    Watch(live::WatchArguments),
    Case(replay::CaseArguments),
    Replay(replay::ReplayArguments),
    Faults(faults::Arguments),
    Handover(handover::Arguments),
    Explore(explore::Arguments),
    Fuzz(fuzz::Arguments),
    Record(record::RecordArguments),
    Judge(record::JudgeArguments),
    Merge(merge::Arguments),
    Doctor,
    Cluster(cluster::Arguments),
    Completions(generate::CompletionsArguments),
    Coverage(coverage::Arguments),
    Mutants(mutants::Arguments),
}

/// The names of values that are numbers or times.
const NUMBERS: [&str; 6] = ["N", "K/N", "N|FROM..TO", "NUMBER", "MIB", "TIME"];

/// An option that takes a number takes a negative one too, so that the error is about the value.
fn take_negative_number(option: Arg) -> Arg {
    let names = option.get_value_names().unwrap_or_default();
    let is_number = names.iter().any(|name| NUMBERS.contains(&name.as_str()));
    option.allow_hyphen_values(is_number)
}

impl Cli {
    /// The program's definition: its commands and their options, with the texts of the tree.
    pub fn definition() -> clap::Command {
        let definition = tree::describe(Self::command()).mut_subcommands(cluster_args::describe_cluster);
        definition.mut_subcommands(|command| command.mut_args(take_negative_number))
    }

    /// Parse a command line that begins with the program's name.
    ///
    /// # Errors
    /// Help, version or bad usage, as an error that prints itself.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::definition();
        let words: Vec<OsString> = words.into_iter().collect();
        let matches = command.clone().try_get_matches_from(&words).map_err(|error| {
            let typed: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            absent_options::explain(error, &mut command, &typed)
        })?;
        let cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        Ok(Self { typed: CommandLine::new(rerun_command::program(), &command, &matches), ..cli })
    }

    /// Run the command.
    ///
    /// # Errors
    /// The command fails; [`CliError::outcome`] has the exit code.
    pub fn execute(self) -> LocalBoxFuture<'static, Result<RunOutcome, CliError>> {
        // Boxed, so that the commands are compiled in this crate and not again in the program.
        Box::pin(self.perform())
    }

    async fn perform(self) -> Result<RunOutcome, CliError> {
        let _printing = Progress::for_process().start(self.typed.name());
        match self.command {
            CliCommand::Run(arguments) => run::execute(arguments, &self.typed).await,
            CliCommand::Compare(arguments) => compare::execute(arguments, &self.typed).await,
            CliCommand::Record(arguments) => record::execute_record(arguments).await,
            CliCommand::Judge(arguments) => record::execute_judge(&arguments, &self.typed),
            CliCommand::Inspect(arguments) => inspect::execute(&arguments, &self.typed),
            CliCommand::Capture(arguments) => live::execute_capture(arguments).await,
            CliCommand::Watch(arguments) => live::execute_watch(arguments).await,
            CliCommand::Import(arguments) => live::execute_import(&arguments),
            CliCommand::Case(arguments) => replay::execute_case(&arguments),
            CliCommand::Replay(arguments) => replay::execute_replay(arguments, &self.typed).await,
            CliCommand::Bless(arguments) => bless::execute(arguments).await,
            CliCommand::Faults(arguments) => faults::execute(arguments, &self.typed).await,
            CliCommand::Handover(arguments) => handover::execute(arguments, &self.typed).await,
            CliCommand::Explore(arguments) => explore::execute(arguments, &self.typed).await,
            CliCommand::Fuzz(arguments) => fuzz::execute(arguments, &self.typed).await,
            CliCommand::Merge(arguments) => merge::execute(&arguments),
            CliCommand::Versions(arguments) => versions::execute(arguments, &self.typed).await,
            CliCommand::List(arguments) => list::execute(&arguments, &self.typed),
            CliCommand::Init(arguments) => init::execute(&arguments, &self.typed),
            CliCommand::Explain(arguments) => explain::execute(&arguments).await,
            CliCommand::Lint(arguments) => lint::execute(&arguments),
            CliCommand::Schema(arguments) => generate::execute_schema(&arguments),
            CliCommand::Doctor => Ok(cluster::doctor()),
            CliCommand::Completions(arguments) => generate::execute_completions(&arguments, &mut Self::definition()),
            CliCommand::Coverage(arguments) => coverage::execute(&arguments),
            CliCommand::Mutants(arguments) => mutants::execute(&arguments).await,
            CliCommand::Cluster(arguments) => cluster::execute(arguments, &self.typed).await,
        }
    }
}
