//! Prints results as JSON, one object per line.

use lockstep_report as report;
use lockstep_runner::run::{FileError, RunEvent, Subscriber};

use super::super::out::say;

/// Prints each judgement as one line of JSON.
pub(in super::super) struct JsonReporter;

impl Subscriber for JsonReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        if let RunEvent::CaseJudged(judged) = event {
            say!("{}", report::json(judged.judgement));
        }
        Ok(())
    }
}
