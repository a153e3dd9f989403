//! Prints results as JSON, one object per line.

use super::super::out::say;
use crate::report;
use crate::run::{FileError, RunEvent, Subscriber};

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
