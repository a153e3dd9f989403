//! Versions of several watches in the order in which they were written.
//!
//! Each kind has a watch of its own, and one may be late. So a version waits until every watch has
//! been heard of after it: then all that was written before it is here. A watch that is broken
//! stops everything, and nothing is judged by half of the truth.

use std::collections::BTreeMap;

use super::seen::Seen;

/// What may still be on its way from the server after a watch was heard of, in milliseconds.
const SLACK: u64 = 2_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By resourceVersion, and in the order in which they came.
    waiting: BTreeMap<(u64, u64), Seen>,
    count: u64,
    /// When each kind's watch was last heard of.
    heard: BTreeMap<&'static str, u64>,
}

impl Queue {
    /// A version came.
    pub(super) fn put(&mut self, seen: Seen) {
        self.count += 1;
        self.waiting.insert((seen.version.rv, self.count), seen);
    }

    /// The watch of a kind lives.
    pub(super) fn heard(&mut self, kind: &'static str, at: u64) {
        self.heard.insert(kind, at);
    }

    /// Everything that happened until then has been seen; `None` until each of so many watches was
    /// heard of.
    pub(super) fn horizon(&self, watches: usize) -> Option<u64> {
        let last = self.heard.values().min().filter(|_| self.heard.len() == watches)?;
        last.checked_sub(SLACK)
    }

    /// The first version, if it came by then.
    pub(super) fn next(&mut self, horizon: u64) -> Option<Seen> {
        let first = self.waiting.first_entry().filter(|first| first.get().version.at <= horizon)?;
        Some(first.remove())
    }

    /// All that wait, in their order.
    pub(super) fn all(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::author::Author;
    use super::*;
    use crate::recording::{Change, Version, Writer};

    fn seen(kind: &str, rv: u64, at: u64) -> Seen {
        let (kind, name, by) = (kind.to_owned(), "x".to_owned(), Writer::Other);
        let object = Default::default();
        let version = Version { kind, name, change: Change::Modified, rv, by, author: None, at, object };
        Seen { namespace: "x".to_owned(), author: Author::Other, version }
    }

    #[test]
    fn a_late_watch_is_waited_for() {
        let mut queue = Queue::default();
        queue.heard("Pod", 10_000);
        queue.put(seen("Pod", 7, 10_000));
        assert_eq!(queue.horizon(2), None);
        queue.heard("ReplicaSet", 11_000);
        assert_eq!(queue.horizon(2), Some(8_000));
        assert!(queue.next(8_000).is_none());
        queue.put(seen("ReplicaSet", 5, 11_500));
        queue.heard("Pod", 14_000);
        queue.heard("ReplicaSet", 14_000);
        let horizon = queue.horizon(2).unwrap();
        let order: Vec<u64> = std::iter::from_fn(|| queue.next(horizon)).map(|seen| seen.version.rv).collect();
        assert_eq!(order, [5, 7]);
    }
}
