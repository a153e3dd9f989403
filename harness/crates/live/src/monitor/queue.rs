//! Orders the versions of several watches as they were written.
//!
//! Each kind has its own watch, which may be late. So a version waits until every watch has
//! reported something later: then everything written before it has arrived. A broken watch stops
//! everything, so nothing is judged on incomplete information.
//!
//! What a watch brings may itself be late: after it was opened again, or while a connection or this
//! process was stopped. So a version shows that its watch is up to date only if it is the newest of
//! all kinds, and no watch is up to date after the time at which the server ended it. A version may
//! have been written at any time since its watch was up to date.

use std::collections::BTreeMap;

use lockstep_recording::ObjectVersion;

use super::observed::ObservedVersion;

/// How late a version may still arrive after a later report of its watch, in milliseconds.
const SLACK: u64 = 2_000;

#[derive(Debug, Default)]
pub(super) struct VersionQueue {
    /// By resourceVersion, then by order of arrival.
    waiting: BTreeMap<(u64, u64), ObservedVersion>,
    count: u64,
    /// The newest resourceVersion.
    newest: u64,
    /// When each kind's watch was up to date.
    up_to_date: BTreeMap<&'static str, Contact>,
    /// When the server ends each kind's watch.
    ends: BTreeMap<&'static str, u64>,
}

impl VersionQueue {
    /// Add a version. If it is the newest, its watch was up to date.
    pub(super) fn put(&mut self, mut observed: ObservedVersion) {
        let ObjectVersion { rv, at, ref kind, .. } = observed.version;
        let end = self.ends.get(kind.as_str()).copied().unwrap_or(at);
        if let Some(contact) = self.up_to_date.get_mut(kind.as_str()) {
            observed.earliest = contact.before(at).saturating_sub(SLACK);
            if rv >= self.newest {
                contact.record(at.min(end));
            }
        }
        self.newest = self.newest.max(rv);
        self.count += 1;
        self.waiting.insert((rv, self.count), observed);
    }

    /// The watch of a kind is open until this time.
    pub(super) fn record_opening(&mut self, kind: &'static str, end: u64) {
        self.ends.insert(kind, end);
    }

    /// The objects of a kind were listed, without a watch.
    pub(super) fn record_list(&mut self, kind: &'static str) {
        self.ends.remove(kind);
    }

    /// The watch of a kind, or a list, has shown that it is up to date.
    pub(super) fn record_contact(&mut self, kind: &'static str, at: u64) {
        let end = self.ends.get(kind).copied().unwrap_or(at);
        self.up_to_date.insert(kind, Contact::new(at.min(end)));
    }

    /// The time up to which everything has arrived; `None` until each of this many watches has
    /// been up to date.
    pub(super) fn horizon(&self, watches: usize) -> Option<u64> {
        let last = self.up_to_date.values().map(|contact| contact.last).min();
        last.filter(|_| self.up_to_date.len() == watches)?.checked_sub(SLACK)
    }

    /// The first version, if it arrived by then.
    pub(super) fn next(&mut self, horizon: u64) -> Option<ObservedVersion> {
        let first = self.waiting.first_entry().filter(|first| first.get().version.at <= horizon)?;
        Some(first.remove())
    }

    /// The earliest time at which a waiting version may have been written.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.waiting.values().map(|observed| observed.earliest).min()
    }

    /// All waiting versions, in order.
    pub(super) fn all(&mut self) -> Vec<ObservedVersion> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}

/// When a watch was up to date.
#[derive(Debug)]
struct Contact {
    last: u64,
    /// Contacts that count for later versions only: those that come in the same moment as a version
    /// may have been written long before.
    earlier: [u64; 2],
}

impl Contact {
    fn new(at: u64) -> Self {
        Self { last: at, earlier: [at; 2] }
    }

    /// A version was the newest at this time.
    fn record(&mut self, at: u64) {
        let [_, later] = self.earlier;
        if later + SLACK <= at {
            self.earlier = [later, at];
        }
        self.last = at;
    }

    /// The last contact before the versions that come together at this time.
    fn before(&self, at: u64) -> u64 {
        let [first, second] = self.earlier;
        if second + SLACK <= at { second } else { first }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_recording::{ChangeType, ObjectVersion, WriterRole};

    use super::super::observed::Author;
    use super::*;

    fn observed(kind: &str, rv: u64, at: u64) -> ObservedVersion {
        let (kind, name, by) = (kind.to_owned(), "x".to_owned(), WriterRole::Other);
        let object = Default::default();
        let version = ObjectVersion { kind, name, change: ChangeType::Modified, rv, by, author: None, at, object };
        ObservedVersion { namespace: "x".to_owned(), author: Author::Other, earliest: at, version }
    }

    #[test]
    fn waits_for_a_late_watch() {
        let mut queue = VersionQueue::default();
        queue.record_contact("Pod", 10_000);
        queue.put(observed("Pod", 7, 10_000));
        assert_eq!(queue.horizon(2), None);
        queue.record_contact("ReplicaSet", 11_000);
        assert_eq!(queue.horizon(2), Some(8_000));
        assert!(queue.next(8_000).is_none());
        queue.put(observed("ReplicaSet", 5, 11_500));
        queue.record_contact("Pod", 14_000);
        queue.record_contact("ReplicaSet", 14_000);
        let horizon = queue.horizon(2).unwrap();
        let order: Vec<u64> = std::iter::from_fn(|| queue.next(horizon)).map(|observed| observed.version.rv).collect();
        assert_eq!(order, [5, 7]);
    }
}
