//! Delays an event of a watch, or the answer to a write, until a number of others have reached the
//! subject. It counts rather than measures time, so that each order of what a subject learns can be
//! tested.
//!
//! It counts events of other watches and answers to writes, of one namespace. If fewer arrive,
//! because the subject waits for exactly this one, it is delivered a while after the last. No I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use lockstep_support::clock::Instant;

/// How long after the last of the others no more are expected: longer than any controller takes to
/// react, shorter than a namespace takes to settle.
const QUIET: Duration = Duration::from_millis(250);

/// What has reached the subject, by namespace: the number, and the time of the last.
#[derive(Debug, Default)]
pub(super) struct Reached(BTreeMap<String, (u64, Instant)>);

/// A delayed event or answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// How many others had arrived when the wait began, and when.
    since: (u64, Instant),
    /// How many others must precede it.
    required: u32,
}

impl Reached {
    /// Counts something that has reached the subject.
    pub(super) fn one_more(&mut self, namespace: &str, now: Instant) {
        match self.0.get_mut(namespace) {
            Some((count, last)) => (*count, *last) = (*count + 1, now),
            None => drop(self.0.insert(namespace.to_owned(), (1, now))),
        }
    }

    /// Starts waiting for this many others.
    pub(super) fn wait(&self, namespace: &str, required: u32, now: Instant) -> Waiting {
        let count = self.0.get(namespace).map_or(0, |(count, _)| *count);
        Waiting { since: (count, now), required }
    }

    /// When it may be delivered, and how many have overtaken it so far.
    pub(super) fn due(&self, namespace: &str, waiting: &Waiting) -> (Instant, u32) {
        let (began, since) = waiting.since;
        let (count, last) = self.0.get(namespace).copied().unwrap_or(waiting.since);
        let others = u32::try_from(count.saturating_sub(began)).unwrap_or(u32::MAX);
        if others >= waiting.required { (since, others) } else { (last.max(since) + QUIET, others) }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_support::clock;

    use super::*;

    #[test]
    fn wait_ends_after_enough_others_or_silence() {
        let now = clock::instant();
        let mut reached = Reached::default();
        reached.one_more("ns", now);
        let waiting = reached.wait("ns", 2, now);
        assert_eq!(reached.due("ns", &waiting), (now + QUIET, 0));
        reached.one_more("other", now + QUIET);
        let later = now + Duration::from_millis(100);
        reached.one_more("ns", later);
        assert_eq!(reached.due("ns", &waiting), (later + QUIET, 1));
        reached.one_more("ns", later);
        assert_eq!(reached.due("ns", &waiting), (now, 2));
    }
}
