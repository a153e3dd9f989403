//! `--legend`: explains the words of a timeline, on standard error so that results are unchanged.

use super::super::out::note;
use crate::run::{FileError, RunEvent, Subscriber};
use crate::timeline::legend;

/// Prints the legend when the run has ended.
pub(super) struct LegendReporter;

impl Subscriber for LegendReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        if let RunEvent::RunEnded { .. } = event {
            note!("\nin a timeline\n{}", legend());
        }
        Ok(())
    }
}
