//! `--legend`: what the words of a timeline mean, below everything else on standard error, so that
//! results stay as they are.

use super::super::out::note;
use crate::run::{Event, FileError, Subscriber};
use crate::timeline::legend;

/// Prints it when the run has ended.
pub(super) struct Legend;

impl Subscriber for Legend {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        if let Event::RunEnded { .. } = event {
            note!("\nin a timeline\n{}", legend());
        }
        Ok(())
    }
}
