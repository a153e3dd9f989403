//! The results of `fuzz` and `explore`.
//!
//! That of a search says how many programs were played, which could not be compared, and the
//! findings. The results of several shards add up to those of one search, with each cause listed
//! once.

use std::collections::BTreeMap;

use lockstep_support::outcome::RunOutcome;
use serde::{Deserialize, Serialize};

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The number of the shard, from 0.
    pub item: usize,
    /// The seed from the command line; each shard derives its own.
    pub seed: u64,
    /// The number of programs that were played.
    pub programs: usize,
    /// The number of programs that could not be compared, by reason.
    pub inconclusive: BTreeMap<String, usize>,
    /// The findings by cause of the difference.
    #[serde(rename = "found")]
    pub findings: BTreeMap<String, FindingSummary>,
}

/// One thing that a search finding: a cause of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingSummary {
    /// The number of programs that show it.
    pub programs: usize,
    /// The file of the case that reproduces it.
    pub file: String,
    /// Whether the reference controller differs from itself there.
    pub is_chance: bool,
}

impl SearchResult {
    /// The outcome, for the exit code.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        match (self.findings.values().any(|finding| !finding.is_chance), self.inconclusive.is_empty()) {
            (true, _) => RunOutcome::NonConformant,
            (false, true) => RunOutcome::Conformant,
            (false, false) => RunOutcome::Inconclusive,
        }
    }

    /// Add the result of another shard. Of two cases for one cause the first is kept.
    pub fn add(&mut self, shard: &Self) {
        self.programs = self.programs.saturating_add(shard.programs);
        for (why, programs) in &shard.inconclusive {
            let all = self.inconclusive.entry(why.clone()).or_default();
            *all = all.saturating_add(*programs);
        }
        for (cause, finding) in &shard.findings {
            match self.findings.get_mut(cause) {
                // A difference by chance may not show in the few seeds of one shard.
                Some(existing) => {
                    existing.programs = existing.programs.saturating_add(finding.programs);
                    existing.is_chance |= finding.is_chance;
                }
                None => drop(self.findings.insert(cause.clone(), finding.clone())),
            }
        }
    }

    /// The last lines of a search.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let programs = |number: usize| if number == 1 { "1 program".to_owned() } else { format!("{number} programs") };
        let mut lines = Vec::new();
        for (why, number) in &self.inconclusive {
            lines.push(format!("inconclusive    {}: {why}", programs(*number)));
        }
        for (cause, finding) in &self.findings {
            let word = if finding.is_chance { "chance        " } else { "non-conformant" };
            lines.push(format!("{word}  {cause}  {}  {}", programs(finding.programs), finding.file));
        }
        let all = programs(self.programs);
        lines.push(match self.findings.values().filter(|finding| !finding.is_chance).count() {
            0 => format!("no difference in {all}"),
            1 => format!("1 cause of a difference in {all}"),
            causes => format!("{causes} causes of a difference in {all}"),
        });
        lines
    }
}

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
