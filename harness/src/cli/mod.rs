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
//! * `reporter` prints judgements and writes reports, `out` is the only file that prints,
//!   `output_paths` checks and writes files.
//! * `rerun_command` builds the command that repeats a play, `parallel` runs work on several
//!   threads, `error` has the errors of all commands.
//!
//! This file imports the commands. No command imports this file.

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
mod record;
mod recording_files;
mod replay;
mod reporter;
mod rerun_command;
mod run;
mod select;
mod sharding;
mod versions;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
pub use error::CliError;
use futures::future::LocalBoxFuture;
use lockstep_support::outcome::RunOutcome;
use rerun_command::CommandLine;

/// Tests Kubernetes Deployment controllers: runs cases step by step and compares each decision with
/// upstream's.
#[derive(Debug, Parser)]
#[command(name = "lockstep", version, after_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    command: CliCommand,
    #[arg(skip)]
    typed: CommandLine,
}

const AFTER: &str = "\
Begin with:
  lockstep run cases/rolling --subject \"command:./my-controller\"   judge a controller
  lockstep explain cases/rolling/rollover.yaml                     what a case does, and why
  lockstep init                                                    a folder for cases of your own

Exit codes: 0 conformant; 1 non-conformant; 2 inconclusive; 3 unblessed or changed timelines; 4 no case selected;
64 bad usage or a bad case file; 70 internal error. With several outcomes the most severe wins: 70, 64, 1, 2, 3.
Ended early: 129 SIGHUP, 130 SIGINT, 143 SIGTERM, 141 standard output closed; what was judged until then is reported.";

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Judge a controller by the cases, against timelines recorded from upstream.
    Run(run::Arguments),
    /// Run the cases live on two controllers and compare what they did.
    Compare(compare::Arguments),
    /// Play cases and keep the recordings, unjudged.
    Record(record::RecordArguments),
    /// Judge stored recordings again, without a cluster.
    Judge(record::JudgeArguments),
    /// Step through a recording, forwards and backwards, in a terminal.
    ///
    /// Left and right go a step of the case, or without steps a decision; up and down one version.
    /// With `--html` or `--trace` the recording is written to a file instead.
    Inspect(inspect::Arguments),
    /// Record a Deployment of a live cluster while something happens to it; reads only.
    Capture(live::CaptureArguments),
    /// Watch all Deployments of a live cluster for breaches of the invariants; reads only.
    Watch(live::WatchArguments),
    /// Make a recording of a Deployment from the audit logs of a cluster.
    ///
    /// The logs need level RequestResponse for writes of deployments, replicasets, pods and events.
    Import(live::ImportArguments),
    /// Infer a case from a recording: what users and nodes did becomes its steps.
    Case(replay::CaseArguments),
    /// Play what happened in a recording on upstream, and compare what the recorded cluster did.
    Replay(replay::ReplayArguments),
    /// Record golden timelines from upstream.
    ///
    /// Each case is recorded five times on two boots of a control plane; the timelines are written
    /// beside the cases.
    Bless(bless::Arguments),
    /// Crash the controller, refuse its writes and delay its watches, at every write of a case.
    ///
    /// After each fault the case must end as it ends without one.
    Faults(faults::Arguments),
    /// Play a case in every order in which its events can reach the controller.
    Explore(explore::Arguments),
    /// Search for a program on which two controllers differ.
    Fuzz(fuzz::Arguments),
    /// Put the results of several shards together, as those of one run.
    Merge(merge::Arguments),
    /// Play the cases on several versions of upstream, and show what changed between which two.
    Versions(versions::Arguments),
    /// List the cases.
    List(list::Arguments),
    /// Write a folder whose cases judge a controller of your own: a first case and a workflow.
    Init(init::Arguments),
    /// Explain a case step by step: what happens, what upstream does, and why.
    Explain(explain::Arguments),
    /// Check case files and golden timelines, without playing them.
    Lint(lint::Arguments),
    /// Print the JSON schema of case files, for editors.
    Schema(generate::SchemaArguments),
    /// Check which clusters can run on this machine.
    Doctor,
    /// Print shell completions.
    Completions(generate::CompletionsArguments),
    /// Show which case or test covers each requirement.
    Coverage(coverage::Arguments),
    /// Run the mutant bank: every mutant must fail at least one case.
    Mutants(mutants::Arguments),
    /// Start and stop a cluster that runs and kubectl can use.
    Cluster(cluster::Arguments),
}

impl Cli {
    /// Parse a command line that begins with the program's name.
    ///
    /// # Errors
    /// Help, version or bad usage, as an error that prints itself.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let command = Self::command();
        let matches = command.clone().try_get_matches_from(words)?;
        let cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut Self::command()))?;
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
            CliCommand::Completions(arguments) => generate::execute_completions(&arguments, &mut Self::command()),
            CliCommand::Coverage(arguments) => coverage::execute(&arguments),
            CliCommand::Mutants(arguments) => mutants::execute(&arguments).await,
            CliCommand::Cluster(arguments) => cluster::execute(arguments, &self.typed).await,
        }
    }
}
