//! When it is time to ask whether a status is right.
//!
//! A status is wrong for a while after each change of what it sums up. So it is asked once that has
//! not changed for some time, and once more after each later write of the status itself.

use std::collections::{BTreeMap, BTreeSet};

/// See the module. Objects are known by their UIDs.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    due: BTreeMap<String, u64>,
    queue: BTreeSet<(u64, String)>,
}

impl Clocks {
    /// What the status sums up has changed: ask at this time, and not before.
    pub(super) fn restart(&mut self, uid: &str, at: u64) {
        if let Some(before) = self.due.insert(uid.to_owned(), at) {
            self.queue.remove(&(before, uid.to_owned()));
        }
        self.queue.insert((at, uid.to_owned()));
    }

    /// The status was written: ask at this time, if not earlier anyway.
    pub(super) fn written(&mut self, uid: &str, at: u64) {
        if !self.due.contains_key(uid) {
            self.restart(uid, at);
        }
    }

    /// The object is gone.
    pub(super) fn drop(&mut self, uid: &str) {
        if let Some(due) = self.due.remove(uid) {
            self.queue.remove(&(due, uid.to_owned()));
        }
    }

    /// The next one to be asked about, if it is time.
    pub(super) fn next(&mut self, now: u64) -> Option<String> {
        self.queue.first().filter(|(due, _)| *due <= now)?;
        let (_, uid) = self.queue.pop_first()?;
        self.due.remove(&uid);
        Some(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_status_sums_up_puts_it_off() {
        let mut clocks = Clocks::default();
        clocks.restart("a", 10);
        clocks.written("a", 15);
        clocks.restart("b", 5);
        clocks.restart("b", 12);
        clocks.restart("c", 1);
        clocks.drop("c");
        assert_eq!(clocks.next(9), None);
        assert_eq!(clocks.next(12).as_deref(), Some("a"));
        assert_eq!(clocks.next(12).as_deref(), Some("b"));
        assert_eq!(clocks.next(100), None);
    }
}
