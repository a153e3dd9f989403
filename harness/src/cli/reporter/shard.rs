//! What came of each play, as a file for `lockstep merge`, once everything was played.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::super::out::note;
use crate::campaign::{End, Header, ResultsError, write};
use crate::outcome::Outcome;
use crate::report::{self, PlaySummary};
use crate::run::{Event, FileError, Subscriber};

/// Keeps a line for each play, and writes them in the end. What was ended early leaves no file.
pub(in super::super) struct ShardResults {
    folder: PathBuf,
    header: Header,
    lines: Mutex<Vec<String>>,
}

impl ShardResults {
    /// Into this folder.
    pub(in super::super) fn new(folder: PathBuf, header: Header) -> Self {
        Self { folder, header, lines: Mutex::default() }
    }

    /// One result more.
    pub(in super::super) fn take(&self, line: String) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Write the file.
    pub(in super::super) fn write(&self, outcomes: &[Outcome], seconds: f64) -> Result<(), FileError> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let end = End {
            left: self.header.items.len().saturating_sub(lines.len()),
            ended_between: outcomes.len().saturating_sub(lines.len()),
            seconds,
            exit_code: self.header.exit(Outcome::of(outcomes.iter().copied())).code(),
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
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        match *event {
            Event::CaseJudged(judged) => {
                let summary = PlaySummary::new(judged.judgement, judged.golden, judged.seed);
                let summary = PlaySummary { item: judged.item, ..summary };
                self.take(report::json_of_play(judged.judgement, &summary, judged.again));
            }
            Event::FaultsTried(of) => self.take(report::faults_json(of)),
            Event::RunEnded { outcomes, left: None, cause: None, took } => self.write(outcomes, took.as_secs_f64())?,
            _ => {}
        }
        Ok(())
    }
}
