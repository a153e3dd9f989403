//! The faults of each case as they were tried, and in the end all of them in a table.

use std::sync::{Mutex, PoisonError};

use super::super::out::say;
use super::human::colour;
use crate::report::{self, FaultsSummary};
use crate::run::{Event, FileError, Subscriber};

/// Prints.
pub(in super::super) struct Faults {
    json: bool,
    all: Mutex<Vec<FaultsSummary>>,
}

impl Faults {
    /// For people, or as JSON.
    pub(in super::super) fn new(json: bool) -> Self {
        Self { json, all: Mutex::default() }
    }
}

impl Subscriber for Faults {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        match *event {
            Event::FaultsTried(of) if self.json => say!("{}", report::faults_json(of)),
            Event::FaultsTried(of) => {
                say!("{}", report::faults(of, colour()));
                self.all.lock().unwrap_or_else(PoisonError::into_inner).push(of.into());
            }
            Event::RunEnded { .. } => {
                let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
                if !all.is_empty() {
                    say!("\n{}\n", report::faults_table(all.iter()));
                    let failed = report::not_withstood(all.iter());
                    if !failed.is_empty() {
                        say!("{failed}\n");
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
