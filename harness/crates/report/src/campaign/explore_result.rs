//! The result of exploring a case.

use lockstep_support::outcome::RunOutcome;
use serde::{Deserialize, Serialize};

/// The result of exploring a case completely or up to a bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExploreResult {
    /// The number of the case, from 0.
    pub item: usize,
    /// The lines of the report.
    pub lines: Vec<String>,
    /// The exit code of exploring this case alone.
    pub exit_code: u8,
}

impl ExploreResult {
    /// The outcome, for the exit code of the run.
    #[must_use]
    pub(crate) fn outcome(&self) -> RunOutcome {
        RunOutcome::from_code(self.exit_code).unwrap_or(RunOutcome::Internal)
    }
}
