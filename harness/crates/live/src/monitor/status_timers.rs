//! Decides when to check a status.
//!
//! A status is wrong for a while after each change of what it sums up. So it is checked once that
//! has not changed for some time, and again after each later write of the status itself.

use std::collections::{BTreeMap, BTreeSet};

/// Timers by the UIDs of objects.
#[derive(Debug, Default)]
pub(super) struct StatusTimers {
    due: BTreeMap<String, u64>,
    queue: BTreeSet<(u64, String)>,
}

impl StatusTimers {
    /// What the status sums up has changed: check at this time, and not before.
    pub(super) fn restart(&mut self, uid: &str, at: u64) {
        if let Some(before) = self.due.insert(uid.to_owned(), at) {
            self.queue.remove(&(before, uid.to_owned()));
        }
        self.queue.insert((at, uid.to_owned()));
    }

    /// The status was written: check at this time, or earlier if that is due.
    pub(super) fn status_written(&mut self, uid: &str, at: u64) {
        if !self.due.contains_key(uid) {
            self.restart(uid, at);
        }
    }

    /// The object is deleted.
    pub(super) fn drop(&mut self, uid: &str) {
        if let Some(due) = self.due.remove(uid) {
            self.queue.remove(&(due, uid.to_owned()));
        }
    }

    /// The next object to check, if one is due.
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
    fn only_changes_of_summed_objects_postpone_a_check() {
        let mut clocks = StatusTimers::default();
        clocks.restart("a", 10);
        clocks.status_written("a", 15);
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
