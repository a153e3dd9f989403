//! Writes the results file of a shard for `lockstep merge` once everything has been played.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use lockstep_report::campaign::{ResultsEnd, ResultsError, ResultsHeader, write};
use lockstep_report::{self as report, PlaySummary};
use lockstep_runner::run::{FileError, RunEvent, Subscriber};
use lockstep_support::outcome::RunOutcome;

use super::super::out::note;

/// Collects a line for each play, and writes them at the end. A run that ended early writes no
/// file.
pub(in super::super) struct ShardResults {
    folder: PathBuf,
    header: ResultsHeader,
    lines: Mutex<Vec<String>>,
}

impl ShardResults {
    /// Write into this folder.
    pub(in super::super) fn new(folder: PathBuf, header: ResultsHeader) -> Self {
        Self { folder, header, lines: Mutex::default() }
    }

    /// Add the result of an item.
    pub(in super::super) fn add(&self, line: String) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Write the file.
    pub(in super::super) fn write(&self, outcomes: &[RunOutcome], seconds: f64) -> Result<(), FileError> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let end = ResultsEnd {
            unplayed: self.header.items.len().saturating_sub(lines.len()),
            ended_between: outcomes.len().saturating_sub(lines.len()),
            seconds,
            exit_code: self.header.exit_outcome(RunOutcome::most_severe(outcomes.iter().copied())).code(),
        };
        let path = write(&self.folder, &self.header, &lines, end).map_err(|error| match error {
            ResultsError::File { path, source } => FileError::File { path, source },
            other => FileError::File { path: self.folder.clone(), source: std::io::Error::other(other) },
        })?;
        note!("the results of shard {} are in {}", self.header.shard, path.display());
        Ok(())
    }
}

impl Subscriber for ShardResults {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match *event {
            RunEvent::CaseJudged(judged) => {
                let summary = PlaySummary::new(judged.judgement, judged.golden, judged.seed);
                let summary = PlaySummary { item: judged.item, ..summary };
                self.add(report::json_of_play(judged.judgement, &summary, judged.rerun));
            }
            RunEvent::FaultsTried(of) => self.add(report::faults_json(of)),
            RunEvent::RunEnded { outcomes, unplayed: None, cause: None, took } => {
                self.write(outcomes, took.as_secs_f64())?;
            }
            _ => {}
        }
        Ok(())
    }
}
