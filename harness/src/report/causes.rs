//! What many failures have in common: the parts of each case's first finding that return in others,
//! counted by case. Nothing is judged here.

use std::collections::{BTreeMap, BTreeSet};

use super::played::PlaySummary;
use crate::outcome::Outcome;

/// With fewer failures than this each is read by itself.
const MANY: usize = 5;
/// How many are named.
const NAMED: usize = 6;

/// The most frequent parts of the first findings, each in more than one case; nothing where few
/// cases failed.
#[must_use]
pub fn causes(plays: impl IntoIterator<Item = impl Into<PlaySummary>>) -> String {
    let plays = plays.into_iter().map(Into::into);
    let failed: Vec<PlaySummary> = plays.filter(|it| it.outcome == Outcome::NonConformant).collect();
    let cases: BTreeSet<_> = failed.iter().map(|play| &play.case).collect();
    if cases.len() < MANY {
        return String::new();
    }
    let mut counted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for play in &failed {
        for part in &play.causes {
            counted.entry(part).or_default().insert(&play.case);
        }
    }
    let mut counted: Vec<_> = counted.into_iter().map(|(part, cases)| (cases.len(), part)).collect();
    counted.retain(|(number, _)| *number > 1);
    counted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if counted.is_empty() {
        return String::new();
    }
    let lines = counted.iter().take(NAMED).map(|(number, part)| format!("  {number:>5} cases  {part}"));
    let lines: Vec<String> = lines.collect();
    format!("what their first differences have in common:\n{}", lines.join("\n"))
}
