//! Which orders come next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::late::{Late, Stream};
use crate::case::Case;
use crate::controllers::Controllers;
use crate::faults;

/// The orders of a case, as far as they are known.
#[derive(Debug)]
pub struct Orders {
    /// The steps at which something may be late, from 0, and their lines.
    steps: Vec<(usize, usize)>,
    streams: Vec<Stream>,
    /// At how many places something may be late, of which two may be in one step.
    most: usize,
    next: VecDeque<Vec<Late>>,
    /// What was played, by what really overtook what.
    orders: BTreeSet<Vec<Late>>,
    /// The states in which each step has settled, and from which was gone on.
    states: BTreeMap<usize, BTreeSet<u64>>,
}

/// What came of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// By how many the last late thing was overtaken.
    pub overtaken: u32,
    /// The state in which the step settled at which it was late.
    pub settled: Option<u64>,
}

impl Orders {
    /// Of a case: what these controllers learn of its steps, late at so many places at most.
    /// `settled` are the states in which the steps settle when nothing is late.
    #[must_use]
    pub fn of(case: &Case, controllers: &Controllers, most: usize, settled: &[u64]) -> Self {
        let watches = controllers.iter().flat_map(faults::watched_by).map(|kind| Stream::Watch((*kind).to_owned()));
        let answers = controllers.iter().flat_map(faults::written_by).map(|of| Stream::Answers((*of).to_owned()));
        let streams: BTreeSet<Stream> = watches.chain(answers).collect();
        let states = settled.iter().enumerate().map(|(step, state)| (step, BTreeSet::from([*state]))).collect();
        let free: BTreeSet<usize> = faults::steps_with_a_middle(case).map(|step| step.line).collect();
        let lines = case.given.iter().chain(&case.steps).map(|step| step.line).enumerate();
        let mut orders = Self {
            steps: lines.filter(|(_, line)| free.contains(line)).collect(),
            streams: streams.into_iter().collect(),
            most,
            next: VecDeque::new(),
            orders: BTreeSet::new(),
            states,
        };
        orders.begin(&[]);
        orders
    }

    /// Go on from these: the first of each stream after each later step, as late as can be.
    fn begin(&mut self, before: &[Late]) {
        if before.len() >= self.most {
            return;
        }
        let after = before.last().map(|late| late.step);
        for (step, line) in self.steps.iter().filter(|(step, _)| after.is_none_or(|after| *step > after)) {
            for stream in &self.streams {
                let late = Late { step: *step, line: *line, stream: stream.clone(), nth: 1, others: None };
                self.next.push_back([before, &[late]].concat());
            }
        }
    }

    /// Go on from these in the step of the last: the first of each stream behind its own, so that
    /// two streams are late there. In which state the step settled says nothing of its middle, so
    /// it is done for each order.
    fn begin_within(&mut self, before: &[Late]) {
        let Some(last) = before.last() else { return };
        let is_second = before.iter().filter(|late| late.step == last.step).count() > 1;
        if before.len() >= self.most || is_second {
            return;
        }
        for stream in self.streams.iter().filter(|stream| **stream > last.stream) {
            let late = Late { stream: stream.clone(), nth: 1, others: None, ..last.clone() };
            self.next.push_back([before, &[late]].concat());
        }
    }

    /// The orders that are played next, so many at most.
    pub fn take(&mut self, most: usize) -> Vec<Vec<Late>> {
        self.next.drain(..most.min(self.next.len())).collect()
    }

    /// What came of one; returns the order as it came about, if it is one of its own.
    pub fn seen(&mut self, order: &[Late], seen: Seen) -> Option<Vec<Late>> {
        let ((last, before), by) = (order.split_last()?, seen.overtaken);
        let is_second = before.last().is_some_and(|one| one.step == last.step);
        if last.others.is_none() {
            let later = Late { nth: last.nth + 1, ..last.clone() };
            self.next.push_back([before, &[later]].concat());
            let most = if is_second { by.min(2) } else { by };
            let fewer = (1..most).map(|others| Late { others: Some(others), ..last.clone() });
            self.next.extend(fewer.map(|late| [before, &[late]].concat()));
        }
        if by == 0 {
            // It came when nothing else did any more: later, and in the same order.
            return None;
        }
        let real = [before, &[Late { others: Some(by), ..last.clone() }]].concat();
        if !self.orders.insert(real.clone()) {
            return None;
        }
        if last.others.is_none_or(|others| others == 1) {
            self.begin_within(&real);
        }
        if let Some(state) = seen.settled
            && self.states.entry(last.step).or_default().insert(state)
        {
            self.begin(&real);
        }
        Some(real)
    }

    /// How many orders there were, that without delay included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.orders.len() + 1
    }

    /// In how many states steps have settled.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states.values().map(BTreeSet::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::parse;

    const CASE: &str =
        "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n  - scale: 4\n";

    /// All orders of a world in which each stream brings one thing, which others overtake.
    fn played(most: usize, mut state: impl FnMut(&[Late]) -> u64) -> (usize, usize) {
        let case = parse("a/b.yaml", "a/b", CASE).unwrap();
        let mut orders = Orders::of(&case, &Controllers::default(), most, &[]);
        let mut plays = 0;
        loop {
            let batch = orders.take(7);
            if batch.is_empty() {
                return (plays, orders.count());
            }
            for order in batch {
                plays += 1;
                let last = order.last().unwrap();
                // The second event of each never comes.
                if last.nth == 1 {
                    let (overtaken, settled) = (last.others.unwrap_or(3), Some(state(&order)));
                    orders.seen(&order, Seen { overtaken, settled });
                }
            }
        }
    }

    #[test]
    fn each_place_is_late_by_each_number_of_others() {
        // Three steps, three watches and three kinds of answers: each is overtaken by one, two and
        // three.
        let (plays, orders) = played(1, |_| 0);
        assert_eq!(orders, 3 * 6 * 3 + 1);
        assert_eq!(plays, 3 * 6 * 4, "and the second event of each never came");
    }

    #[test]
    fn two_streams_are_late_in_one_step() {
        // Six streams, the one thing of each late by one or by all three: fifteen pairs, four ways
        // each, in three steps.
        let within = |order: &[Late]| order.windows(2).any(|pair| pair[0].step == pair[1].step);
        let mut pairs = BTreeSet::new();
        played(2, |order| {
            if within(order) {
                assert!(order[0].stream < order[1].stream, "{order:?}");
                pairs.insert(order.to_vec());
            }
            0
        });
        assert_eq!(pairs.len(), 3 * 15 * 4);
        played(1, |order| {
            assert!(!within(order), "{order:?}");
            0
        });
    }

    #[test]
    fn what_leaves_the_same_behind_is_explored_once() {
        let (_, merged) = played(2, |order| order.last().unwrap().step as u64);
        let (_, all) =
            played(2, |order| order.iter().map(|late| u64::from(late.others.unwrap_or(9)) << 8).sum::<u64>());
        assert!(merged < all, "{merged} of {all}");
    }
}
