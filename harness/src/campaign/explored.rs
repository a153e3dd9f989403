//! What exploring a case came to, as it is printed.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// A case that was explored to its end, or to a bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explored {
    /// The number of the case, from 0.
    pub item: usize,
    /// The lines of the report.
    pub lines: Vec<String>,
    /// The exit code of exploring this case alone.
    pub exit_code: u8,
}

impl Explored {
    /// What it means for the exit code of all.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::of_code(self.exit_code).unwrap_or(Outcome::Internal)
    }
}
