//! Writes the HTML page when the run ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockstep_report::page::page;
use lockstep_runner::run::{FileError, RunEvent, Subscriber};

use super::super::out::note;
use super::super::output_paths;
use super::collector::Collector;

/// Writes the page once.
pub(super) struct PageReporter {
    path: PathBuf,
    title: String,
    collected: Arc<Collector>,
    is_written: AtomicBool,
}

impl PageReporter {
    pub(super) fn new(path: PathBuf, title: String, collected: Arc<Collector>) -> Self {
        Self { path, title, collected, is_written: AtomicBool::default() }
    }
}

impl Subscriber for PageReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        let RunEvent::RunEnded { cause, .. } = event else { return Ok(()) };
        if self.is_written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let cut = cause.map_or_else(String::new, |cause| format!(" (interrupted: {cause})"));
        let state = self.collected.snapshot();
        let sheets: Vec<_> = state.plays.iter().map(|it| it.sheet()).collect();
        output_paths::write(&self.path, &page(&format!("{}{cut}", self.title), &sheets))?;
        note!("the page is {}", self.path.display());
        Ok(())
    }
}
