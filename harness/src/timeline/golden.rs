//! What is blessed of a case on one server: one timeline, or several where upstream itself does
//! several things.
//!
//! Where an operation meets a decision in the middle, what upstream does is a set: the same program
//! on the same server does now one thing, now another. Each of them is an outcome with a timeline
//! of its own, which says in how many of the recordings it was seen. The most frequent is the
//! first.

use super::model::Timeline;

/// The outcomes that are blessed, the most frequent first; there is always one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    first: Timeline,
    others: Vec<Timeline>,
}

impl Golden {
    /// All that upstream does.
    #[must_use]
    pub const fn new(first: Timeline, others: Vec<Timeline>) -> Self {
        Self { first, others }
    }

    /// The most frequent outcome.
    #[must_use]
    pub const fn first(&self) -> &Timeline {
        &self.first
    }

    /// All outcomes in the order of their numbers.
    pub fn outcomes(&self) -> impl Iterator<Item = &Timeline> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The same, each outcome rewritten.
    #[must_use]
    pub fn map(&self, rewrite: impl Fn(Timeline) -> Timeline) -> Self {
        Self::new(rewrite(self.first.clone()), self.others.iter().cloned().map(&rewrite).collect())
    }

    /// The outcome with this number, from 1; the first where there is none.
    #[must_use]
    pub fn outcome(&self, number: usize) -> &Timeline {
        self.outcomes().nth(number.saturating_sub(1)).unwrap_or(&self.first)
    }
}

impl From<Timeline> for Golden {
    fn from(only: Timeline) -> Self {
        Self::new(only, Vec::new())
    }
}
