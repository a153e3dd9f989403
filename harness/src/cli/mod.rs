//! The command line: what was typed, turned into work, and its outcome into an exit code.
//!
//! Each command is one file and one story: choose cases, set a test environment up, play, judge,
//! print. Nothing here decides a verdict. Results go to standard output; progress, and all that is
//! about the test environment rather than the subject, to standard error.

mod again;
mod bless;
mod capture;
mod choice;
mod cluster;
mod compare;
mod completions;
mod coverage;
mod doctor;
mod error;
mod explain;
mod explore;
mod faults;
mod fuzz;
mod import;
mod infer;
mod init;
mod inspect;
mod judge;
mod like;
mod lint;
mod list;
mod merge;
mod minimise;
mod mutants;
mod on_threads;
mod out;
mod own;
mod place;
mod places;
mod preview;
mod record;
mod recorded;
mod replay;
mod reporter;
mod run;
mod schema;
mod select;
mod several;
mod sharding;
mod site;
mod versions;
mod watch;
mod ways;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use error::CliError;

use futures::future::LocalBoxFuture;

use crate::outcome::Outcome;
use again::Typed;

/// Tests Kubernetes Deployment controllers: runs cases step by step and compares each decision with
/// upstream's.
#[derive(Debug, Parser)]
#[command(name = "lockstep", version, after_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[arg(skip)]
    typed: Typed,
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
enum Command {
    /// Judge a controller by the cases, against timelines recorded from upstream.
    Run(run::Arguments),
    /// Run the cases live on two controllers and compare what they did.
    Compare(compare::Arguments),
    /// Play cases and keep the recordings, unjudged.
    Record(record::Arguments),
    /// Judge stored recordings again, without a cluster.
    Judge(judge::Arguments),
    /// Step through a recording, forwards and backwards, in a terminal.
    ///
    /// Left and right go a step of the case, or without steps a decision; up and down one version.
    /// With `--html` or `--trace` the recording is written to a file instead.
    Inspect(inspect::Arguments),
    /// Record a Deployment of a live cluster while something happens to it; reads only.
    Capture(capture::Arguments),
    /// Watch all Deployments of a live cluster for breaches of the invariants; reads only.
    Watch(watch::Arguments),
    /// Make a recording of a Deployment from the audit logs of a cluster.
    ///
    /// The logs need level RequestResponse for writes of deployments, replicasets, pods and events.
    Import(import::Arguments),
    /// Infer a case from a recording: what users and nodes did becomes its steps.
    Case(infer::Arguments),
    /// Play what happened in a recording on upstream, and compare what the recorded cluster did.
    Replay(replay::Arguments),
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
    Schema(schema::Arguments),
    /// Check which clusters can run on this machine.
    Doctor(doctor::Arguments),
    /// Print shell completions.
    Completions(completions::Arguments),
    /// Show which case or test covers each requirement.
    Coverage(coverage::Arguments),
    /// Run the mutant bank: every mutant must fail at least one case.
    Mutants(mutants::Arguments),
    /// Start and stop a cluster that runs and kubectl can use.
    Cluster(cluster::Arguments),
}

impl Cli {
    /// Read a command line, the program's name first.
    ///
    /// # Errors
    /// Help, the version, and what is wrong with it; the error prints itself.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(words)?;
        let cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut Self::command()))?;
        Ok(Self { typed: Typed::new(again::program(), &matches), ..cli })
    }

    /// Do what was asked.
    ///
    /// # Errors
    /// What stands in the way, with its exit code: see [`CliError::outcome`].
    pub fn execute(self) -> LocalBoxFuture<'static, Result<Outcome, CliError>> {
        // Boxed, so that the commands are compiled here and not once more in the program.
        Box::pin(self.perform())
    }

    async fn perform(self) -> Result<Outcome, CliError> {
        match self.command {
            Command::Run(arguments) => run::execute(arguments, &self.typed).await,
            Command::Compare(arguments) => compare::execute(arguments, &self.typed).await,
            Command::Record(arguments) => record::execute(arguments).await,
            Command::Judge(arguments) => judge::execute(&arguments, &self.typed),
            Command::Inspect(arguments) => inspect::execute(&arguments, &self.typed),
            Command::Capture(arguments) => capture::execute(arguments).await,
            Command::Watch(arguments) => watch::execute(arguments).await,
            Command::Import(arguments) => import::execute(&arguments),
            Command::Case(arguments) => infer::execute(&arguments),
            Command::Replay(arguments) => replay::execute(arguments, &self.typed).await,
            Command::Bless(arguments) => bless::execute(arguments).await,
            Command::Faults(arguments) => faults::execute(arguments, &self.typed).await,
            Command::Explore(arguments) => explore::execute(arguments, &self.typed).await,
            Command::Fuzz(arguments) => fuzz::execute(arguments, &self.typed).await,
            Command::Merge(arguments) => merge::execute(&arguments),
            Command::Versions(arguments) => versions::execute(arguments, &self.typed).await,
            Command::List(arguments) => list::execute(&arguments, &self.typed),
            Command::Init(arguments) => init::execute(&arguments, &self.typed),
            Command::Explain(arguments) => explain::execute(&arguments).await,
            Command::Lint(arguments) => lint::execute(&arguments),
            Command::Schema(arguments) => schema::execute(&arguments),
            Command::Doctor(arguments) => doctor::execute(&arguments),
            Command::Completions(arguments) => completions::execute(&arguments),
            Command::Coverage(arguments) => coverage::execute(&arguments),
            Command::Mutants(arguments) => mutants::execute(&arguments).await,
            Command::Cluster(arguments) => cluster::execute(arguments, &self.typed).await,
        }
    }
}

/// Whether a job of GitHub Actions reads along.
fn is_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}
