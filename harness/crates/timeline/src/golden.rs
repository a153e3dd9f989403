//! The golden outcomes of a case on one server: one timeline, or several if upstream itself has
//! several outcomes.
//!
//! If an operation coincides with a decision, the same upstream program on the same server decides
//! now one thing, now another. Each outcome has a timeline of its own, which says in how many of
//! the recordings it occurred. The most frequent is the first.

use super::model::Timeline;

/// The blessed outcomes, the most frequent first; there is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenOutcomes {
    first: Timeline,
    alternatives: Vec<Timeline>,
}

impl GoldenOutcomes {
    /// These outcomes; `first` is the most frequent.
    #[must_use]
    pub const fn new(first: Timeline, alternatives: Vec<Timeline>) -> Self {
        Self { first, alternatives }
    }

    /// The most frequent outcome.
    #[must_use]
    pub const fn first(&self) -> &Timeline {
        &self.first
    }

    /// All outcomes, in the order of their numbers.
    pub fn outcomes(&self) -> impl Iterator<Item = &Timeline> {
        std::iter::once(&self.first).chain(&self.alternatives)
    }

    /// The number of outcomes.
    #[must_use]
    pub const fn count(&self) -> usize {
        1 + self.alternatives.len()
    }

    /// Applies a function to each outcome.
    #[must_use]
    pub fn map(&self, rewrite: impl Fn(Timeline) -> Timeline) -> Self {
        Self::new(rewrite(self.first.clone()), self.alternatives.iter().cloned().map(&rewrite).collect())
    }

    /// The outcome with this number, from 1; the first if there is none.
    #[must_use]
    pub fn outcome(&self, number: usize) -> &Timeline {
        self.outcomes().nth(number.saturating_sub(1)).unwrap_or(&self.first)
    }
}

impl From<Timeline> for GoldenOutcomes {
    fn from(only: Timeline) -> Self {
        Self::new(only, Vec::new())
    }
}
