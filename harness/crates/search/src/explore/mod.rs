//! Systematic exploration: all orders, up to a bound, in which a controller can learn what happens.
//!
//! A controller receives the events of its watches, one stream for each kind, and the answers to
//! its writes. Each stream keeps its order; the network decides which stream is ahead. A *delay* is
//! a point at which one event, with all behind it in its stream, or one answer, is overtaken by a
//! number of other messages. The bound limits the number of delays in an order. Two delays may be
//! in one step, in different streams. There each is overtaken by one other message or by all, as
//! the combinations of all numbers are too many.
//!
//! The next orders follow from the results so far: a delay that no message reaches, or that no more
//! messages overtake, has no successors. `outcomes` groups the results, and has fingerprints of the
//! server's objects without names. If a step settles in the same state after several orders, they
//! continue alike, and only one is explored further.
//!
//! Pure: `cli` runs the cases.

mod outcomes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use lockstep_case::Case;
use lockstep_recording::controllers::ControllerSet;
use lockstep_verdict::faults;
pub use outcomes::{OutcomeClass, Outcomes, Stop, StopCause, states};

/// The source of delayed messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayedStream {
    /// The watch of a kind, a plural.
    Watch(String),
    /// The answers to writes of a resource: `replicasets`, `deployments/status`.
    Answers(String),
}

/// A delay in one stream.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delay {
    /// The index of the case's step, including those of `given`, from 0.
    pub step: usize,
    /// Its line in the case file.
    pub line: usize,
    /// The delayed stream.
    pub stream: DelayedStream,
    /// The delayed event or answer, counted from the beginning of the step, from 1.
    pub nth: u32,
    /// How many messages of other streams overtake it; `None`: all that arrive.
    pub overtaken_by: Option<u32>,
}

impl Delay {
    /// The fault of the step, as a case writes it.
    fn fault(&self) -> String {
        let action = format!("{{overtaken: {}}}", self.overtaken_by.unwrap_or(ALL));
        match &self.stream {
            DelayedStream::Watch(kind) => faults::in_watch(kind, Some(self.nth), &action),
            DelayedStream::Answers(of) => faults::at_write(self.nth, of, true, &action),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stream {
            DelayedStream::Watch(kind) => write!(f, "event {} of {kind}", self.nth)?,
            DelayedStream::Answers(of) => write!(f, "the answer to write {} of {of}", self.nth)?,
        }
        match self.overtaken_by {
            Some(others) => write!(f, " after line {} is overtaken by {others}", self.line),
            None => write!(f, " after line {} is overtaken by all that come", self.line),
        }
    }
}

/// The case's text with these delays; `None` if a step is written in a way that leaves no place for
/// another line.
#[must_use]
pub fn text(case: &Case, late: &[Delay]) -> Option<String> {
    let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    late.iter().for_each(|late| lines.entry(late.line).or_default().push(late.fault()));
    let text = |faults: Vec<String>| match faults.as_slice() {
        [fault] => fault.clone(),
        faults => format!("[{}]", faults.join(", ")),
    };
    let at = lines.into_iter().map(|(line, faults)| (line, text(faults))).collect();
    faults::with_faults(case, &at)
}

/// The orders of a case that are known so far.
#[derive(Debug)]
pub struct OrderSearch {
    /// The index and line of each step in which a stream may be delayed.
    steps: Vec<(usize, usize)>,
    streams: Vec<DelayedStream>,
    /// The most delays of one order. At most two of them are in one step.
    most: usize,
    next: VecDeque<Vec<Delay>>,
    /// The orders that were run, with the numbers of messages that really overtook.
    orders: BTreeSet<Vec<Delay>>,
    /// The states in which each step has settled and from which the search has continued.
    states: BTreeMap<usize, BTreeSet<u64>>,
}

/// The result of running an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderResult {
    /// How many messages overtook the last delayed one.
    pub overtaken: u32,
    /// The state in which the step of the last delay settled.
    pub settled: Option<u64>,
}

impl OrderSearch {
    /// The orders of a case, in which what these controllers learn is delayed at most `most` times.
    /// `settled` are the states in which the steps settle without delays.
    #[must_use]
    pub fn of(case: &Case, controllers: &ControllerSet, most: usize, settled: &[u64]) -> Self {
        let watches =
            controllers.iter().flat_map(faults::watched_by).map(|kind| DelayedStream::Watch((*kind).to_owned()));
        let answers =
            controllers.iter().flat_map(faults::written_by).map(|of| DelayedStream::Answers((*of).to_owned()));
        let streams: BTreeSet<DelayedStream> = watches.chain(answers).collect();
        let states = settled.iter().enumerate().map(|(step, state)| (step, BTreeSet::from([*state]))).collect();
        let free: BTreeSet<usize> = faults::interruptible_steps(case).map(|step| step.line).collect();
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

    /// Extend this order: delay the first message of each stream as far as possible, in each later
    /// step.
    fn begin(&mut self, before: &[Delay]) {
        if before.len() >= self.most {
            return;
        }
        let after = before.last().map(|late| late.step);
        for (step, line) in self.steps.iter().filter(|(step, _)| after.is_none_or(|after| *step > after)) {
            for stream in &self.streams {
                let late = Delay { step: *step, line: *line, stream: stream.clone(), nth: 1, overtaken_by: None };
                self.next.push_back([before, &[late]].concat());
            }
        }
    }

    /// Extend this order in the step of its last delay: delay the first message of each later
    /// stream as well. The state in which the step settles says nothing about its middle, so this
    /// is done for each order.
    fn begin_within(&mut self, before: &[Delay]) {
        let Some(last) = before.last() else { return };
        let is_second = before.iter().filter(|late| late.step == last.step).count() > 1;
        if before.len() >= self.most || is_second {
            return;
        }
        for stream in self.streams.iter().filter(|stream| **stream > last.stream) {
            let late = Delay { stream: stream.clone(), nth: 1, overtaken_by: None, ..last.clone() };
            self.next.push_back([before, &[late]].concat());
        }
    }

    /// The orders to run next, at most `most`.
    pub fn take(&mut self, most: usize) -> Vec<Vec<Delay>> {
        self.next.drain(..most.min(self.next.len())).collect()
    }

    /// Record the result of an order. Returns the order with the real numbers, if it is a new one.
    pub fn record(&mut self, order: &[Delay], result: OrderResult) -> Option<Vec<Delay>> {
        let ((last, before), by) = (order.split_last()?, result.overtaken);
        let is_second = before.last().is_some_and(|one| one.step == last.step);
        if last.overtaken_by.is_none() {
            let later = Delay { nth: last.nth + 1, ..last.clone() };
            self.next.push_back([before, &[later]].concat());
            let most = if is_second { by.min(2) } else { by };
            let fewer = (1..most).map(|others| Delay { overtaken_by: Some(others), ..last.clone() });
            self.next.extend(fewer.map(|late| [before, &[late]].concat()));
        }
        if by == 0 {
            // It arrived when nothing else happened any more, which changes no order.
            return None;
        }
        let real = [before, &[Delay { overtaken_by: Some(by), ..last.clone() }]].concat();
        if !self.orders.insert(real.clone()) {
            return None;
        }
        if last.overtaken_by.is_none_or(|others| others == 1) {
            self.begin_within(&real);
        }
        if let Some(state) = result.settled
            && self.states.entry(last.step).or_default().insert(state)
        {
            self.begin(&real);
        }
        Some(real)
    }

    /// How many orders were run, including the one without delays.
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

/// More messages than any step causes: delayed until nothing else arrives.
const ALL: u32 = 10_000;

#[cfg(test)]
mod tests {
    use lockstep_case::model::FaultAction;
    use lockstep_case::parse;

    use super::*;

    const CASE: &str =
        "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n  - scale: 4\n";

    /// Runs all orders in a model in which each stream has one message, which others overtake.
    fn play_all(most: usize, mut state: impl FnMut(&[Delay]) -> u64) -> (usize, usize) {
        let case = parse("a/b.yaml", "a/b", CASE).unwrap();
        let mut orders = OrderSearch::of(&case, &ControllerSet::default(), most, &[]);
        let mut plays = 0;
        loop {
            let batch = orders.take(7);
            if batch.is_empty() {
                return (plays, orders.count());
            }
            for order in batch {
                plays += 1;
                let last = order.last().unwrap();
                // The second event of each stream never arrives.
                if last.nth == 1 {
                    let (overtaken, settled) = (last.overtaken_by.unwrap_or(3), Some(state(&order)));
                    orders.record(&order, OrderResult { overtaken, settled });
                }
            }
        }
    }

    #[test]
    fn delays_each_stream_by_each_number_of_messages() {
        // Three steps, three watches and three kinds of answers; each is overtaken by one, two and
        // three messages.
        let (plays, orders) = play_all(1, |_| 0);
        assert_eq!(orders, 3 * 6 * 3 + 1);
        assert_eq!(plays, 3 * 6 * 4, "and the second event of each never came");
    }

    #[test]
    fn delays_two_streams_in_one_step() {
        // Six streams, and the one message of each is overtaken by one or by all three: fifteen
        // pairs with four combinations each, in three steps.
        let within = |order: &[Delay]| order.windows(2).any(|pair| pair[0].step == pair[1].step);
        let mut pairs = BTreeSet::new();
        play_all(2, |order| {
            if within(order) {
                assert!(order[0].stream < order[1].stream, "{order:?}");
                pairs.insert(order.to_vec());
            }
            0
        });
        assert_eq!(pairs.len(), 3 * 15 * 4);
        play_all(1, |order| {
            assert!(!within(order), "{order:?}");
            0
        });
    }

    #[test]
    fn explores_equal_states_once() {
        let (_, merged) = play_all(2, |order| order.last().unwrap().step as u64);
        let (_, all) =
            play_all(2, |order| order.iter().map(|late| u64::from(late.overtaken_by.unwrap_or(9)) << 8).sum::<u64>());
        assert!(merged < all, "{merged} of {all}");
    }

    const ONE_STEP: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n";

    #[test]
    fn two_delays_of_a_step_are_a_list() {
        let case = parse("a/b.yaml", "a/b", ONE_STEP).unwrap();
        let late = |stream, overtaken_by| Delay { step: 1, line: 5, stream, nth: 1, overtaken_by };
        let first = late(DelayedStream::Watch("pods".to_owned()), Some(2));
        let answers = late(DelayedStream::Answers("deployments/status".to_owned()), None);
        let text = text(&case, &[first.clone(), answers]).unwrap();
        let late = parse("a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let fault = late.steps[0].fault.as_ref().unwrap();
        let said: Vec<_> = fault.all().map(|fault| (fault.point.stream(), fault.action)).collect();
        let pods = ("pods".to_owned(), FaultAction::Overtaken(2));
        assert_eq!(said, [pods, ("answers to deployments/status".to_owned(), FaultAction::Overtaken(ALL))]);
        let twice = [&first, &first].map(Delay::fault).join(", ");
        let twice = ONE_STEP.replace("- scale: 3", &format!("- {{fault: [{twice}], scale: 3}}"));
        assert!(parse("a/b.yaml", "a/b", &twice).is_err(), "two of one stream");
    }
}
