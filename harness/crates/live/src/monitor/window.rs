//! The last minutes of one Deployment, which become evidence: the objects at the beginning, and
//! every version since.

use std::collections::{BTreeMap, VecDeque};

use lockstep_recording::{ChangeType, Header, ObjectVersion, Recording, RecordingEnd, RecordingEntry, Settling};

#[derive(Debug, Default)]
pub(super) struct EvidenceWindow {
    initial: BTreeMap<(String, String), ObjectVersion>,
    /// With their sizes in bytes.
    later: VecDeque<(ObjectVersion, usize)>,
}

impl EvidenceWindow {
    /// Add the latest version; returns its size.
    pub(super) fn put(&mut self, version: ObjectVersion) -> usize {
        let weight = weight(&version);
        self.later.push_back((version, weight));
        weight
    }

    /// Add an object that existed when the window began.
    pub(super) fn add_initial(&mut self, version: ObjectVersion) {
        self.settle(version);
    }

    /// Move the first version into the initial state; returns its size.
    pub(super) fn shorten(&mut self) -> Option<usize> {
        let (version, weight) = self.later.pop_front()?;
        self.settle(version);
        Some(weight)
    }

    /// The time of the last version.
    pub(super) fn last_at(&self) -> Option<u64> {
        self.later.back().map(|(version, _)| version.at)
    }

    /// The time of the first version after the initial state.
    pub(super) fn first_at(&self) -> Option<u64> {
        self.later.front().map(|(version, _)| version.at)
    }

    /// The size of the window, without the initial state.
    pub(super) fn weight(&self) -> usize {
        self.later.iter().map(|(_, weight)| weight).sum()
    }

    /// The window as a recording.
    pub(super) fn recording(&self, header: Header, until: u64) -> Recording {
        let began = self.first_at().unwrap_or(until);
        let since = |at: u64| at.saturating_sub(began);
        let mut entries: Vec<RecordingEntry> = Vec::with_capacity(self.initial.len() + self.later.len() + 1);
        let initial =
            self.initial.values().map(|version| ObjectVersion { change: ChangeType::Added, at: 0, ..version.clone() });
        entries.extend(initial.map(RecordingEntry::Object));
        entries.push(RecordingEntry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at: 0 }));
        let later = self.later.iter().map(|(version, _)| ObjectVersion { at: since(version.at), ..version.clone() });
        entries.extend(later.map(RecordingEntry::Object));
        let end = RecordingEnd { completed: true, events_complete: false, at: since(until), diagnosis: None };
        Recording { header, entries, end: Some(end) }
    }

    fn settle(&mut self, version: ObjectVersion) {
        let key = (version.kind.clone(), version.name.clone());
        if version.change == ChangeType::Deleted {
            self.initial.remove(&key);
        } else {
            self.initial.insert(key, version);
        }
    }
}

/// The length of the object's JSON.
fn weight(version: &ObjectVersion) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    serde_json::to_writer(&mut count, &*version.object).map_or(0, |()| count.0)
}
