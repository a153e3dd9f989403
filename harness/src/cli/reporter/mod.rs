//! The reporters of a run. Each subscribes to its events, and does not know the others.
//!
//! * `progress` passes the running plays on, and prints messages about test environment and
//!   subjects on standard error.
//! * `results` prints on standard output; `github` prints annotations there and writes the summary
//!   of a job.
//! * `score` adds what a controller with a description claims, by area.
//! * `files` writes the files that the user asks for; `failed_cases` remembers failed cases for the
//!   next run. [`ShardResults`] writes the input of `lockstep merge`.
//! * `collector` keeps the judged plays until the end of the run.

mod collector;
pub(super) mod failed_cases;
mod files;
mod github;
mod progress;
mod results;
mod score;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use collector::{Collector, is_good};
use files::{JUnitReporter, PageReporter, write_evidence};
pub(super) use github::is_github;
use lockstep_cluster::supervise::Interrupt;
use lockstep_report::EarlyEnd;
use lockstep_runner::run::{FileError, JudgedPlay, RunEvent, Subscriber, Subscribers};
use lockstep_support::clock::Instant;
use lockstep_support::outcome::RunOutcome;
pub(super) use progress::{NotesReporter, ProgressReporter};
pub(super) use results::{FaultsReporter, HumanStyle};
use results::{HumanReporter, JsonReporter};
use score::ScoreReporter;

use super::out::note;
use super::sharding::ShardResults;
use super::{CliError, output_paths};

/// The arguments for additional reports.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct ReportArgs {
    /// Write an HTML page: what happened beside what was expected, as pictures and text.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Keep the evidence of each failure in this folder.
    ///
    /// Recording, timelines, report, page, what the subject printed, versions, and the command that
    /// repeats it.
    #[arg(long, value_name = "FOLDER")]
    evidence: Option<PathBuf>,
    /// With --workload: write the table of what is claimed, as Markdown.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    score: Option<PathBuf>,
}

impl ReportArgs {
    /// Fails if a report cannot be written, or would replace one of these files that the command
    /// reads.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), CliError> {
        for (flag, path) in [("--html", &self.html), ("--junit", &self.junit), ("--score", &self.score)] {
            output_paths::check_file(flag, path.as_deref())?;
            output_paths::check_not_input(flag, path.as_deref(), inputs)?;
        }
        output_paths::check_folder("--evidence", self.evidence.as_deref())?;
        let all = [
            ("--html", &self.html),
            ("--junit", &self.junit),
            ("--score", &self.score),
            ("--evidence", &self.evidence),
        ];
        for (number, (flag, path)) in all.iter().enumerate() {
            let absolute = |path: &Option<PathBuf>| path.as_deref().and_then(|path| std::path::absolute(path).ok());
            let twin = all[..number].iter().find(|(_, earlier)| absolute(earlier) == absolute(path));
            if let (Some((earlier, _)), Some(path)) = (twin, path) {
                let why = format!("{earlier} and {flag} are both {}; name two paths", path.display());
                return Err(CliError::Usage(why));
            }
        }
        Ok(())
    }

    /// Whether evidence of failures is written.
    pub(super) fn keeps_evidence(&self) -> bool {
        self.evidence.is_some()
    }

    /// Write the evidence of a play that is not conformant, if the user asks for it. `round` is the
    /// folder of the round; it is empty where each case is played once. The judgement stands if the
    /// evidence cannot be written.
    pub(super) fn keep_evidence(&self, round: &Path, play: &JudgedPlay<'_>) {
        let Some(folder) = self.evidence.as_ref().filter(|_| !is_good(play.judgement.outcome())) else { return };
        match write_evidence(folder, round, play) {
            Ok(folder) => note!("the evidence is in {}", folder.display()),
            Err(error) => note!("error: the evidence of {} is incomplete: {error}", play.judgement.case),
        }
    }
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum OutputFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object per line and case.
    Json,
}

/// The format of the results, as an argument.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct FormatArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) output: OutputFormat,
}

impl FormatArgs {
    /// The format of the results; text has this style.
    pub(super) fn results(&self, style: HumanStyle) -> ResultFormat {
        match self.output {
            OutputFormat::Human => ResultFormat::Human(style),
            OutputFormat::Json => ResultFormat::Json,
        }
    }
}

/// The format of the results.
#[derive(Debug, Clone, Copy)]
pub(super) enum ResultFormat {
    /// Text.
    Human(HumanStyle),
    /// One JSON object per line.
    Json,
}

/// The reporters of a command that prints its own results.
pub(super) fn messages(progress: ProgressReporter) -> Subscribers {
    Subscribers::new(vec![Arc::new(progress), Arc::new(NotesReporter)])
}

/// The reporters of a run with judged plays.
pub(super) struct RunReporters {
    pub(super) events: Subscribers,
    collected: Arc<Collector>,
}

impl RunReporters {
    /// Report the end of a run of so many plays, or that it ended early, and how often a subject
    /// ended between two of them.
    pub(super) fn end(
        &self,
        ended: &Result<(), CliError>,
        (outcomes, plays): (&[RunOutcome], usize),
        ended_between: usize,
        since: Instant,
    ) -> Result<(), FileError> {
        let cause = Interrupt::for_process().cause();
        let unplayed = ended.is_err().then(|| plays.saturating_sub(outcomes.len()));
        if let Err(error) = ended {
            let (error, exit_code) = (error.to_string(), error.outcome().code());
            self.collected.end_early(EarlyEnd { error, interrupt: cause, unplayed, exit_code });
        }
        self.events.emit(&RunEvent::RunEnded { outcomes, ended_between, unplayed, cause, took: since.elapsed() })
    }
}

/// The reporters of a run with judged plays, as the arguments ask for them.
pub(super) fn reporters(
    reports: &ReportArgs,
    title: &str,
    results: ResultFormat,
    shard: Option<ShardResults>,
) -> RunReporters {
    let keeps_good = reports.html.is_some() || reports.junit.is_some();
    let collected = Arc::new(Collector::new(keeps_good, reports.html.is_some()));
    let mut all: Vec<Arc<dyn Subscriber>> =
        vec![collected.clone(), Arc::new(ProgressReporter::Counting), Arc::new(NotesReporter)];
    let json = matches!(results, ResultFormat::Json);
    match results {
        ResultFormat::Human(style) => all.push(Arc::new(HumanReporter::new(style, Arc::clone(&collected)))),
        ResultFormat::Json => all.push(Arc::new(JsonReporter(Arc::clone(&collected)))),
    }
    all.push(Arc::new(ScoreReporter::new(json, reports.score.clone())));
    if let Some(shard) = shard {
        all.push(Arc::new(shard));
    }
    let mut files: Vec<Arc<dyn Subscriber>> = Vec::new();
    if is_github() {
        files.push(Arc::new(github::GitHubReporter::new(Arc::clone(&collected))));
    }
    if let Some(path) = &reports.html {
        files.push(Arc::new(PageReporter::new(path.clone(), title.to_owned(), Arc::clone(&collected))));
    }
    if let Some(path) = &reports.junit {
        files.push(Arc::new(JUnitReporter::new(path.clone(), Arc::clone(&collected))));
    }
    // Reports that are files are also written at an interruption that leaves no time for anything
    // else.
    let (last, interrupted) = (Subscribers::new(files.clone()), Arc::clone(&collected));
    Interrupt::for_process().on_forced_exit(move || {
        let cause = Interrupt::for_process().cause();
        if let Some(signal) = cause {
            let (error, exit_code) = (CliError::Interrupted(signal).to_string(), signal.code());
            interrupted.end_early(EarlyEnd { error, interrupt: cause, unplayed: None, exit_code });
        }
        let took = std::time::Duration::ZERO;
        let over = RunEvent::RunEnded { outcomes: &[], ended_between: 0, unplayed: None, cause, took };
        if let Err(error) = last.emit(&over) {
            note!("error: {error}");
        }
    });
    all.extend(files);
    all.push(Arc::new(failed_cases::FailedCasesReporter::new(Arc::clone(&collected))));
    RunReporters { events: Subscribers::new(all), collected }
}
