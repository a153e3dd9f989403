//! The command line: what was typed, turned into work, and its outcome into an exit code.
//!
//! Each command is one file and one story: choose cases, set a test environment up, play, judge, print. Nothing here decides a
//! verdict. Results go to standard output; progress, and all that is about the test environment rather than the subject, to
//! standard error.

mod again;
mod bless;
mod choice;
mod cluster;
mod compare;
mod completions;
mod coverage;
mod doctor;
mod error;
mod explain;
mod faults;
mod judge;
mod like;
mod lint;
mod list;
mod mutants;
mod out;
mod own;
mod place;
mod places;
mod record;
mod reporter;
mod run;
mod schema;
mod select;
mod several;
mod site;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use error::CliError;

use crate::outcome::Outcome;
use again::Typed;

/// Runs one case against Deployment controllers, step by step, and diffs what the ReplicaSets did.
#[derive(Debug, Parser)]
#[command(name = "lockstep", version, about, after_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[arg(skip)]
    typed: Typed,
}

const AFTER: &str = "\
Exit codes: 0 conformant; 1 non-conformant; 2 inconclusive; 3 unblessed or changed timelines; 4 no case selected;
64 bad usage or a bad case file; 70 internal error. With several outcomes the most telling wins: 70, 64, 1, 2, 3.
Ended early: 129 SIGHUP, 130 SIGINT, 143 SIGTERM, 141 standard output closed; what was judged until then is reported.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge a subject on cases, against the timelines blessed from upstream.
    Run(run::Arguments),
    /// Run the cases live on two subjects and diff what they did.
    Compare(compare::Arguments),
    /// Play cases and keep the recordings.
    Record(record::Arguments),
    /// Judge stored recordings again; needs no cluster.
    Judge(judge::Arguments),
    /// Record timelines from upstream, five recordings from two boots, and write them beside their cases.
    Bless(bless::Arguments),
    /// Crash, refuse, lose answers and lag at every write of a case, and see whether it ends as it does without.
    Faults(faults::Arguments),
    /// List the cases.
    List(list::Arguments),
    /// Tell a case as a story: what happens at each step, what upstream makes of it, and why.
    Explain(explain::Arguments),
    /// Say what is wrong with case files and their timelines; plays nothing.
    Lint(lint::Arguments),
    /// Print the JSON schema of a case, for editors.
    Schema(schema::Arguments),
    /// Say which clusters can run here, and what the others lack.
    Doctor(doctor::Arguments),
    /// Print completions for a shell.
    Completions(completions::Arguments),
    /// Show which requirement is pinned by what.
    Coverage(coverage::Arguments),
    /// Hold wrong controllers against the cases, to see that each is found out, and that each case can say no.
    Mutants(mutants::Arguments),
    /// A control plane of one's own, for kubectl and for runs that need not boot one.
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
    pub async fn execute(self) -> Result<Outcome, CliError> {
        match self.command {
            Command::Run(arguments) => run::execute(arguments, &self.typed).await,
            Command::Compare(arguments) => compare::execute(arguments, &self.typed).await,
            Command::Record(arguments) => record::execute(arguments).await,
            Command::Judge(arguments) => judge::execute(&arguments, &self.typed),
            Command::Bless(arguments) => bless::execute(arguments).await,
            Command::Faults(arguments) => faults::execute(arguments, &self.typed).await,
            Command::List(arguments) => list::execute(&arguments, &self.typed),
            Command::Explain(arguments) => explain::execute(&arguments),
            Command::Lint(arguments) => lint::execute(&arguments),
            Command::Schema(arguments) => schema::execute(&arguments),
            Command::Doctor(arguments) => doctor::execute(&arguments),
            Command::Completions(arguments) => completions::execute(&arguments),
            Command::Coverage(arguments) => coverage::execute(&arguments),
            Command::Mutants(arguments) => mutants::execute(&arguments),
            Command::Cluster(arguments) => cluster::execute(arguments, &self.typed).await,
        }
    }
}

/// Whether a job of GitHub Actions reads along.
fn is_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}
