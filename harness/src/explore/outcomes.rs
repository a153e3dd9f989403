//! What plays have shown, grouped: two that differ in nothing but what was late are one outcome.

use super::late::Late;
use crate::timeline::Timeline;
use crate::verdict::{Difference, compare, compare_live};

/// Outcomes, that without delay first.
#[derive(Debug, Default)]
pub struct Outcomes {
    kinds: Vec<Kind>,
}

/// One outcome.
#[derive(Debug)]
pub struct Kind {
    /// What a play of it showed, without what was late.
    pub timeline: Timeline,
    /// The shortest order that leads to it.
    pub order: Vec<Late>,
    /// How many orders lead to it.
    pub orders: usize,
    /// Why it did not go through to the end, if it did not.
    pub stopped: Option<String>,
}

impl Outcomes {
    /// Take a play in.
    pub fn add(&mut self, mut timeline: Timeline, order: &[Late], stopped: Option<String>) {
        timeline.case = None;
        timeline.steps.iter_mut().for_each(|step| step.meetings.clear());
        let same = |kind: &&mut Kind| kind.stopped == stopped && difference(&kind.timeline, &timeline).is_none();
        match self.kinds.iter_mut().find(same) {
            Some(kind) => {
                kind.orders += 1;
                let shorter = (order.len(), others(order)) < (kind.order.len(), others(&kind.order));
                if shorter {
                    kind.order = order.to_vec();
                }
            }
            None => self.kinds.push(Kind { timeline, order: order.to_vec(), orders: 1, stopped }),
        }
    }

    /// All of them.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Whether one of them is this.
    #[must_use]
    pub fn have(&self, one: &Kind) -> bool {
        self.kinds.iter().any(|kind| kind.stopped == one.stopped && difference(&kind.timeline, &one.timeline).is_none())
    }
}

impl Kind {
    /// By what it differs first from another.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> Option<Difference> {
        difference(&other.timeline, &self.timeline)
    }

    /// Whether it is what a golden timeline says.
    #[must_use]
    pub fn is_as(&self, golden: &Timeline) -> bool {
        let mut golden = golden.clone();
        golden.steps.iter_mut().for_each(|step| step.meetings.clear());
        self.stopped.is_none()
            && compare(&golden, &self.timeline).is_ok_and(|comparison| comparison.differences.is_empty())
    }

    /// The invariants that it breaks.
    #[must_use]
    pub fn breaches(&self) -> Vec<String> {
        let breaches = self.timeline.steps.iter().flat_map(|step| {
            step.breaches.iter().map(|breach| format!("{} at step {}: {}", breach.invariant, step.id, breach.detail))
        });
        breaches.collect()
    }
}

fn others(order: &[Late]) -> u32 {
    order.iter().map(|late| late.others.unwrap_or(u32::MAX / 8)).sum()
}

fn difference(one: &Timeline, two: &Timeline) -> Option<Difference> {
    compare_live(one, two).ok()?.differences.into_iter().next()
}
