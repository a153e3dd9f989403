//! The last line of a run.

use std::time::Duration;

use super::paint::Paint;
use super::table::word;
use crate::outcome::Outcome;

/// `12 cases in 3.2 s: 10 conformant, 1 non-conformant, 1 inconclusive`.
#[must_use]
pub fn summary(outcomes: &[Outcome], took: Duration, colour: bool) -> String {
    let paint = Paint::new(colour);
    if outcomes.is_empty() {
        return paint.outcome(Outcome::NothingSelected, "no case selected");
    }
    let kinds = [
        Outcome::Conformant,
        Outcome::NonConformant,
        Outcome::Inconclusive,
        Outcome::Unblessed,
        Outcome::BadInput,
        Outcome::Internal,
    ];
    let count = |kind: Outcome| outcomes.iter().filter(|outcome| **outcome == kind).count();
    let parts = kinds.into_iter().filter(|kind| count(*kind) > 0);
    let parts: Vec<String> =
        parts.map(|kind| paint.outcome(kind, &format!("{} {}", count(kind), word(kind)))).collect();
    let s = if outcomes.len() == 1 { "" } else { "s" };
    format!("{} case{s} in {:.1} s: {}", outcomes.len(), took.as_secs_f64(), parts.join(", "))
}
