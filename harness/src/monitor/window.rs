//! The last minutes of one Deployment, to become evidence: what was there at their beginning, and
//! every version since.

use std::collections::{BTreeMap, VecDeque};

use crate::recording::{Change, End, Entry, Header, Recording, Settling, Version};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Window {
    there: BTreeMap<(String, String), Version>,
    /// With what they weigh.
    later: VecDeque<(Version, usize)>,
}

impl Window {
    /// The last version came now; what it weighs.
    pub(super) fn put(&mut self, version: Version) -> usize {
        let weight = weight(&version);
        self.later.push_back((version, weight));
        weight
    }

    /// What was there when the window began.
    pub(super) fn found(&mut self, version: Version) {
        self.settle(version);
    }

    /// The first version becomes part of the beginning; what it weighed.
    pub(super) fn shorten(&mut self) -> Option<usize> {
        let (version, weight) = self.later.pop_front()?;
        self.settle(version);
        Some(weight)
    }

    /// When the last version came.
    pub(super) fn last(&self) -> Option<u64> {
        self.later.back().map(|(version, _)| version.at)
    }

    /// When the first version came after what was there.
    pub(super) fn began(&self) -> Option<u64> {
        self.later.front().map(|(version, _)| version.at)
    }

    /// What all of it weighs but the beginning.
    pub(super) fn weight(&self) -> usize {
        self.later.iter().map(|(_, weight)| weight).sum()
    }

    /// All of it.
    pub(super) fn recording(&self, header: Header, until: u64) -> Recording {
        let began = self.began().unwrap_or(until);
        let since = |at: u64| at.saturating_sub(began);
        let mut entries: Vec<Entry> = Vec::with_capacity(self.there.len() + self.later.len() + 1);
        let there = self.there.values().map(|version| Version { change: Change::Added, at: 0, ..version.clone() });
        entries.extend(there.map(Entry::Object));
        entries.push(Entry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at: 0 }));
        let later = self.later.iter().map(|(version, _)| Version { at: since(version.at), ..version.clone() });
        entries.extend(later.map(Entry::Object));
        let end = End { completed: true, events_complete: false, at: since(until), diagnosis: None };
        Recording { header, entries, end: Some(end) }
    }

    fn settle(&mut self, version: Version) {
        let key = (version.kind.clone(), version.name.clone());
        if version.change == Change::Deleted {
            self.there.remove(&key);
        } else {
            self.there.insert(key, version);
        }
    }
}

/// The length of the object's JSON.
fn weight(version: &Version) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, &*version.object).map_or(0, |()| count.0)
}
