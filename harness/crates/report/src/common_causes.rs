//! The causes that many failures have in common: the parts of first findings that occur in several
//! cases, counts by case. Judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_support::outcome::RunOutcome;

use super::play_summary::PlaySummary;

/// The least number of failed cases for which common causes are listed.
const LEAST_CASES: usize = 5;
/// The most parts that are listed.
const MOST_PARTS: usize = 6;

/// The most frequent parts of the first findings, each in more than one case. Empty if few cases
/// failed.
#[must_use]
pub fn common_causes(plays: impl IntoIterator<Item = impl Into<PlaySummary>>) -> String {
    let plays = plays.into_iter().map(Into::into);
    let failed: Vec<PlaySummary> = plays.filter(|it| it.outcome == RunOutcome::NonConformant).collect();
    let cases: BTreeSet<_> = failed.iter().map(|play| &play.case).collect();
    if cases.len() < LEAST_CASES {
        return String::new();
    }
    let mut counts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for play in &failed {
        for part in &play.causes {
            counts.entry(part).or_default().insert(&play.case);
        }
    }
    let mut counts: Vec<_> = counts.into_iter().map(|(part, cases)| (cases.len(), part)).collect();
    counts.retain(|(number, _)| *number > 1);
    counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if counts.is_empty() {
        return String::new();
    }
    let lines = counts.iter().take(MOST_PARTS).map(|(number, part)| format!("  {number:>5} cases  {part}"));
    let lines: Vec<String> = lines.collect();
    format!("what their first differences have in common:\n{}", lines.join("\n"))
}
