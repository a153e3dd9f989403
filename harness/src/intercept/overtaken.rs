//! What comes later than others: an event of a watch, or the answer to a write, that waits until so
//! many others have reached the subject. Counted, not timed, so that each order of what a subject
//! learns can be asked for.
//!
//! What is counted are events of other watches and answers to writes, of one namespace. Where fewer
//! come, because the subject waits for exactly this one, it goes on a while after the last. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Instant;

/// So long after the last of the others nothing more is expected. Longer than any controller takes
/// to react, shorter than a namespace takes to settle.
const QUIET: Duration = Duration::from_millis(250);

/// What has reached the subject, by namespace.
#[derive(Debug, Default)]
pub(super) struct Reached(BTreeMap<String, (u64, Instant)>);

/// Something that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// How many others had come when it began to wait.
    since: (u64, Instant),
    /// So many are to come before it.
    others: u32,
}

impl Reached {
    /// Something has reached the subject.
    pub(super) fn one_more(&mut self, namespace: &str, now: Instant) {
        match self.0.get_mut(namespace) {
            Some((count, last)) => (*count, *last) = (*count + 1, now),
            None => drop(self.0.insert(namespace.to_owned(), (1, now))),
        }
    }

    /// Something begins to wait for so many others.
    pub(super) fn wait(&self, namespace: &str, others: u32, now: Instant) -> Waiting {
        let count = self.0.get(namespace).map_or(0, |(count, _)| *count);
        Waiting { since: (count, now), others }
    }

    /// When it may go on, and how many have overtaken it by now.
    pub(super) fn due(&self, namespace: &str, waiting: &Waiting) -> (Instant, u32) {
        let (began, since) = waiting.since;
        let (count, last) = self.0.get(namespace).copied().unwrap_or(waiting.since);
        let others = u32::try_from(count.saturating_sub(began)).unwrap_or(u32::MAX);
        if others >= waiting.others { (since, others) } else { (last.max(since) + QUIET, others) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn it_goes_on_when_enough_have_come_or_nothing_more_does() {
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
