//! Groups the results: two that differ only in the delays are one outcome.

use lockstep_timeline::Timeline;
use lockstep_verdict::{Difference, compare, compare_live};

use super::delay::Delay;

/// The outcomes, starting with the one without delays.
#[derive(Debug, Default)]
pub struct Outcomes {
    classes: Vec<OutcomeClass>,
}

/// One outcome.
#[derive(Debug)]
pub struct OutcomeClass {
    /// The timeline of one such run, without the delays.
    pub timeline: Timeline,
    /// The shortest order that leads to it.
    pub order: Vec<Delay>,
    /// How many orders lead to it.
    pub orders: usize,
    /// Why the run was aborted, if it was.
    pub stopped: Option<String>,
}

impl Outcomes {
    /// Add a run.
    pub fn add(&mut self, mut timeline: Timeline, order: &[Delay], stopped: Option<String>) {
        timeline.case = None;
        timeline.steps.iter_mut().for_each(|step| step.injections.clear());
        let same =
            |kind: &&mut OutcomeClass| kind.stopped == stopped && difference(&kind.timeline, &timeline).is_none();
        match self.classes.iter_mut().find(same) {
            Some(kind) => {
                kind.orders += 1;
                let shorter =
                    (order.len(), total_overtakers(order)) < (kind.order.len(), total_overtakers(&kind.order));
                if shorter {
                    kind.order = order.to_vec();
                }
            }
            None => self.classes.push(OutcomeClass { timeline, order: order.to_vec(), orders: 1, stopped }),
        }
    }

    /// The outcomes in the order in which they were first seen.
    #[must_use]
    pub fn classes(&self) -> &[OutcomeClass] {
        &self.classes
    }

    /// Whether this outcome is among them.
    #[must_use]
    pub fn have(&self, one: &OutcomeClass) -> bool {
        self.classes
            .iter()
            .any(|kind| kind.stopped == one.stopped && difference(&kind.timeline, &one.timeline).is_none())
    }
}

impl OutcomeClass {
    /// The first difference to another outcome.
    #[must_use]
    pub fn differs_from(&self, peer: &Self) -> Option<Difference> {
        difference(&peer.timeline, &self.timeline)
    }

    /// Whether it equals a golden timeline.
    #[must_use]
    pub fn is_as(&self, golden: &Timeline) -> bool {
        let mut golden = golden.clone();
        golden.steps.iter_mut().for_each(|step| step.injections.clear());
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

fn total_overtakers(order: &[Delay]) -> u32 {
    order.iter().map(|late| late.overtaken_by.unwrap_or(u32::MAX / 8)).sum()
}

fn difference(one: &Timeline, two: &Timeline) -> Option<Difference> {
    compare_live(one, two).ok()?.differences.into_iter().next()
}
