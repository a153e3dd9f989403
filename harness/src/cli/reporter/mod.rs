//! Who reports what happens in a run: each is a subscriber to its events, and knows nothing of the
//! others.
//!
//! * `notes`: the test environment and the subjects, on standard error; `progress`: what is being
//!   played, there as well.
//! * `human`, `json`: the results, on standard output; `github`: annotations there, and the summary
//!   of a job.
//! * `page`, `junit`, `evidence`: files that were asked for; `failed`: which cases failed, for the
//!   next time.
//! * `collected` keeps the judged plays that the end of a run needs; `shard` writes what `lockstep
//!   merge` reads.

mod collected;
mod evidence;
pub(super) mod failed;
mod faults;
mod github;
mod human;
mod json;
mod junit;
mod legend;
mod notes;
mod page;
mod progress;
mod shard;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use faults::Faults;
use human::Human;
pub(super) use human::{Style, colour};
pub(super) use json::Json;
pub(super) use notes::Notes;
pub(super) use progress::Progress;
pub(super) use shard::ShardResults;

use collected::Collected;

use super::out::note;
use super::{CliError, places};
use crate::outcome::Outcome;
use crate::run::{Event, Events, FileError, Subscriber};
use crate::supervise::Interrupt;

/// Where else to report.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Reports {
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
    /// Explain the words of a timeline below the results.
    #[arg(long)]
    legend: bool,
}

impl Reports {
    /// What cannot be written, before anything runs.
    pub(super) fn check(&self) -> Result<(), CliError> {
        places::file("--html", self.html.as_deref())?;
        places::file("--junit", self.junit.as_deref())?;
        places::folder("--evidence", self.evidence.as_deref())?;
        match (&self.html, &self.junit) {
            (Some(page), Some(xml)) if page == xml => {
                Err(CliError::Usage(format!("--html and --junit are both {}; name two files", page.display())))
            }
            _ => Ok(()),
        }
    }

    /// Whether failures are kept.
    pub(super) fn keeps_evidence(&self) -> bool {
        self.evidence.is_some()
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Results {
    /// For people.
    Human(Style),
    /// One JSON object a line.
    Json,
}

/// Everybody who reports on a run of judged plays.
pub(super) fn reporters(reports: &Reports, title: &str, results: Results, shard: Option<ShardResults>) -> Events {
    let keeps_good = reports.html.is_some() || reports.junit.is_some();
    let collected = Arc::new(Collected::new(keeps_good, reports.html.is_some()));
    let mut all: Vec<Arc<dyn Subscriber>> = vec![collected.clone(), Arc::new(Progress::default()), Arc::new(Notes)];
    match results {
        Results::Human(style) => all.push(Arc::new(Human::new(style, Arc::clone(&collected)))),
        Results::Json => all.push(Arc::new(Json)),
    }
    if let Some(shard) = shard {
        all.push(Arc::new(shard));
    }
    if reports.legend {
        all.push(Arc::new(legend::Legend));
    }
    if let Some(folder) = &reports.evidence {
        all.push(Arc::new(evidence::Evidence::new(folder.clone())));
    }
    let mut files: Vec<Arc<dyn Subscriber>> = Vec::new();
    if super::is_github() {
        files.push(Arc::new(github::GitHub::new(Arc::clone(&collected))));
    }
    if let Some(path) = &reports.html {
        files.push(Arc::new(page::Page::new(path.clone(), title.to_owned(), Arc::clone(&collected))));
    }
    if let Some(path) = &reports.junit {
        files.push(Arc::new(junit::JUnit::new(path.clone(), Arc::clone(&collected))));
    }
    // What was asked for is written in the end, also where the end is an interruption that leaves
    // no time for anything else.
    let last = Events::to(files.clone());
    Interrupt::of_process().at_last(move || {
        let cause = Interrupt::of_process().cause();
        let over = Event::RunEnded { outcomes: &[], left: None, cause, took: std::time::Duration::ZERO };
        if let Err(error) = last.emit(&over) {
            note!("error: {error}");
        }
    });
    all.extend(files);
    all.push(Arc::new(failed::Failed::new(collected)));
    Events::to(all)
}

/// Write a file, and the folders above it.
pub(super) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let failed = |source| FileError::File { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

/// Whether a play is as it should be.
fn is_good(outcome: Outcome) -> bool {
    outcome == Outcome::Conformant
}
