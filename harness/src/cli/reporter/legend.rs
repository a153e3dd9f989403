//! `--legend`: explains the words of a timeline, on standard error so that results are unchanged.

use lockstep_runner::run::{FileError, RunEvent, Subscriber};
use lockstep_timeline::legend;

use super::super::out::note;

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
