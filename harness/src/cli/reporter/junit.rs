//! Writes JUnit XML when the run ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockstep_report::junit::{TimedJudgement, junit};
use lockstep_runner::run::{FileError, RunEvent, Subscriber};

use super::super::output_paths;
use super::collector::Collector;

/// Writes the XML once.
pub(super) struct JUnitReporter {
    path: PathBuf,
    collected: Arc<Collector>,
    is_written: AtomicBool,
}

impl JUnitReporter {
    pub(super) fn new(path: PathBuf, collected: Arc<Collector>) -> Self {
        Self { path, collected, is_written: AtomicBool::default() }
    }
}

impl Subscriber for JUnitReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        if !matches!(event, RunEvent::RunEnded { .. }) || self.is_written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let state = self.collected.snapshot();
        let played: Vec<_> = state
            .plays
            .iter()
            .map(|it| TimedJudgement { judgement: &it.judgement, rerun: &it.rerun, took: it.took.unwrap_or_default() })
            .collect();
        output_paths::write(&self.path, &junit(&played))
    }
}
