//! Prints the faults of each case when they have been tried, and a table at the end.

use std::sync::{Mutex, PoisonError};

use lockstep_report::{self as report, FaultsSummary};
use lockstep_runner::run::{FileError, RunEvent, Subscriber};

use super::super::out::{colour, say};

/// Prints the results of faults.
pub(in super::super) struct FaultsReporter {
    json: bool,
    all: Mutex<Vec<FaultsSummary>>,
}

impl FaultsReporter {
    /// Print text, or JSON.
    pub(in super::super) fn new(json: bool) -> Self {
        Self { json, all: Mutex::default() }
    }
}

impl Subscriber for FaultsReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match *event {
            RunEvent::FaultsTried(of) if self.json => say!("{}", report::faults_json(of)),
            RunEvent::FaultsTried(of) => {
                say!("{}", report::faults(of, colour()));
                self.all.lock().unwrap_or_else(PoisonError::into_inner).push(of.into());
            }
            RunEvent::RunEnded { .. } => {
                let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
                if !all.is_empty() {
                    say!("\n{}\n", report::faults_table(all.iter()));
                    let failed = report::list_failed_points(all.iter());
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
