//! The results as JSON, one object a line.

use super::super::out::say;
use crate::report;
use crate::run::{Event, FileError, Subscriber};

/// Prints each judgement as a line of JSON.
pub(in super::super) struct Json;

impl Subscriber for Json {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        if let Event::CaseJudged(judged) = event {
            say!("{}", report::json(judged.judgement));
        }
        Ok(())
    }
}
