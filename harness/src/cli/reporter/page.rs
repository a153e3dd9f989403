//! The page for a browser, written when the run ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::out::note;
use super::collected::Collected;
use crate::report::page::page;
use crate::run::{Event, FileError, Subscriber};

/// Writes the page, once.
pub(super) struct Page {
    path: PathBuf,
    title: String,
    collected: Arc<Collected>,
    written: AtomicBool,
}

impl Page {
    pub(super) fn new(path: PathBuf, title: String, collected: Arc<Collected>) -> Self {
        Self { path, title, collected, written: AtomicBool::default() }
    }
}

impl Subscriber for Page {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        let Event::RunEnded { cause, .. } = event else { return Ok(()) };
        if self.written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let cut = cause.map_or_else(String::new, |cause| format!(" (interrupted: {cause})"));
        let state = self.collected.so_far();
        let sheets: Vec<_> = state.kept.iter().map(|it| it.sheet()).collect();
        super::write(&self.path, &page(&format!("{}{cut}", self.title), &sheets))?;
        note!("the page is {}", self.path.display());
        Ok(())
    }
}
