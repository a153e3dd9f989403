//! JUnit XML, written when the run ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::collected::Collected;
use crate::report::junit::{Played, junit};
use crate::run::{Event, FileError, Subscriber};

/// Writes the XML, once.
pub(super) struct JUnit {
    path: PathBuf,
    collected: Arc<Collected>,
    written: AtomicBool,
}

impl JUnit {
    pub(super) fn new(path: PathBuf, collected: Arc<Collected>) -> Self {
        Self { path, collected, written: AtomicBool::default() }
    }
}

impl Subscriber for JUnit {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        if !matches!(event, Event::RunEnded { .. }) || self.written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let state = self.collected.so_far();
        let played: Vec<_> = state
            .kept
            .iter()
            .map(|it| Played { judgement: &it.judgement, again: &it.again, took: it.took.unwrap_or_default() })
            .collect();
        super::write(&self.path, &junit(&played))
    }
}
