//! Prints the score of a controller with a description at the end of a run, and writes it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use lockstep_report::{score, score_json, score_markdown};
use lockstep_runner::run::{FileError, RunEvent, Subscriber};
use lockstep_verdict::Score;

use super::super::out::{self, say};
use super::super::output_paths;

/// Prints the score after the results, if the plays were of a described kind.
pub(super) struct ScoreReporter {
    json: bool,
    /// Where to write it as Markdown.
    path: Option<PathBuf>,
    score: Mutex<Option<Score>>,
}

impl ScoreReporter {
    pub(super) fn new(json: bool, path: Option<PathBuf>) -> Self {
        Self { json, path, score: Mutex::default() }
    }
}

impl Subscriber for ScoreReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        let mut known = self.score.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::CaseJudged(judged) => {
                if let Some(workload) = &judged.recording.header.workload {
                    known.get_or_insert_with(|| Score::new(workload)).add(judged.judgement);
                }
            }
            RunEvent::RunEnded { .. } => {
                let Some(found) = &*known else { return Ok(()) };
                match self.json {
                    true => say!("{}", score_json(found)),
                    false => out::report(&format!("\n{}", score(found))),
                }
                if let Some(path) = &self.path {
                    output_paths::write(path, &score_markdown(found))?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
