//! What becomes of an event: a new one, one more of one that is there, one of many alike, or
//! nothing.
//!
//! client-go's rules (`EventCorrelator`), which are what users see in `kubectl describe`: a repeat
//! raises `count`; from the tenth different message for one object and reason within ten minutes
//! they are combined; a burst of more than 25 events about one object is cut off, and one more is
//! let through every five minutes. Pure: time comes in.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// Entries that each memory holds; the ones not used for longest go first.
const MEMORY: usize = 4096;
/// Different messages for one object and reason from which on they are combined.
const ALIKE: usize = 10;
/// Seconds after which messages no longer count as alike.
const ALIKE_SECONDS: i64 = 600;
/// Events about one object at once.
const BURST: f64 = 25.0;
/// Events about one object in the long run, per second.
const RATE: f64 = 1.0 / 300.0;

/// An event as it was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Namespace, name and UID of the object that it is about.
    pub(crate) about: (String, String, String),
    pub(crate) resource_version: String,
    pub(crate) kind: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The event's own name, if it becomes one of its own.
    pub(crate) name: String,
    pub(crate) time: Timestamp,
}

/// An event as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Correlated {
    pub(crate) report: Report,
    pub(crate) first_time: Timestamp,
    /// 1: it is new. More: it is there already.
    pub(crate) count: i32,
}

type ObjectKey = (String, String, String, &'static str);
type ReasonKey = (ObjectKey, &'static str);

/// Memory of events.
#[derive(Debug, Default)]
pub(crate) struct Correlator {
    /// By object and reason: different messages, and when the last came.
    alike: Memory<ReasonKey, (BTreeSet<String>, Timestamp)>,
    /// By object, reason and message (none where combined): how often, since when, under which
    /// name.
    seen: Memory<(ReasonKey, Option<String>), (i32, Timestamp, String)>,
    /// By object: events it may still have, and as of when.
    tokens: Memory<ObjectKey, (f64, Timestamp)>,
}

impl Correlator {
    /// What to write; `None`: nothing.
    pub(crate) fn correlate(&mut self, mut report: Report) -> Option<Correlated> {
        let now = report.time;
        let (namespace, name, uid) = report.about.clone();
        let object: ObjectKey = (namespace, name, uid, report.kind);
        let reason: ReasonKey = (object.clone(), report.reason);
        let (messages, last) = self.alike.entry(reason.clone(), (BTreeSet::new(), now));
        if now.duration_since(*last).as_secs() > ALIKE_SECONDS {
            messages.clear();
        }
        messages.insert(report.message.clone());
        *last = now;
        let mut key = (reason, Some(report.message.clone()));
        if messages.len() >= ALIKE {
            messages.pop_first();
            report.message = format!("(combined from similar events): {}", report.message);
            key.1 = None;
        }
        let (count, first_time, event_name) = self.seen.entry(key, (0, now, report.name.clone()));
        *count += 1;
        report.name.clone_from(event_name);
        let correlated = Correlated { report, first_time: *first_time, count: *count };
        self.let_through(object, now).then_some(correlated)
    }

    fn let_through(&mut self, object: ObjectKey, now: Timestamp) -> bool {
        let (tokens, last) = self.tokens.entry(object, (BURST, now));
        *tokens = (*tokens + now.duration_since(*last).as_secs_f64().max(0.0) * RATE).min(BURST);
        *last = now;
        let enough = *tokens >= 1.0;
        if enough {
            *tokens -= 1.0;
        }
        enough
    }
}

/// A map that forgets what was not used for longest.
#[derive(Debug)]
struct Memory<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
    clock: u64,
}

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), order: BTreeMap::new(), clock: 0 }
    }
}

impl<K: Ord + Clone, V> Memory<K, V> {
    fn entry(&mut self, key: K, fresh: V) -> &mut V {
        if self.entries.len() >= MEMORY
            && !self.entries.contains_key(&key)
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.clock += 1;
        let now = self.clock;
        self.order.insert(now, key.clone());
        let (used, value) = self.entries.entry(key).or_insert((now, fresh));
        if *used != now {
            self.order.remove(used);
            *used = now;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(message: &str, second: i64) -> Report {
        Report {
            about: ("ns".to_owned(), "web".to_owned(), "u".to_owned()),
            resource_version: "1".to_owned(),
            kind: "Normal",
            reason: "ScalingReplicaSet",
            message: message.to_owned(),
            name: format!("web.{second}"),
            time: Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn a_repeat_counts_up_under_the_first_name() {
        let mut correlator = Correlator::default();
        assert_eq!(correlator.correlate(report("a", 1)).unwrap().count, 1);
        let again = correlator.correlate(report("a", 2)).unwrap();
        assert_eq!((again.count, again.report.name.as_str()), (2, "web.1"));
        assert_eq!(correlator.correlate(report("b", 3)).unwrap().count, 1);
    }

    #[test]
    fn the_tenth_different_message_is_combined_until_ten_minutes_pass() {
        let mut correlator = Correlator::default();
        for n in 0..9 {
            assert!(!correlator.correlate(report(&n.to_string(), n)).unwrap().report.message.starts_with('('));
        }
        let tenth = correlator.correlate(report("9", 9)).unwrap();
        assert_eq!((tenth.count, tenth.report.message.as_str()), (1, "(combined from similar events): 9"));
        assert_eq!(correlator.correlate(report("10", 10)).unwrap().count, 2);
        assert_eq!(correlator.correlate(report("11", 700)).unwrap().report.message, "11");
    }

    #[test]
    fn a_flood_is_cut_off_and_trickles_later() {
        let mut correlator = Correlator::default();
        let passed = (0..100).filter(|_| correlator.correlate(report("a", 1)).is_some()).count();
        assert_eq!(passed, 25);
        assert!(correlator.correlate(report("a", 302)).is_some());
        assert!(correlator.correlate(report("a", 303)).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        for n in 0..MEMORY + 10 {
            memory.entry(n, ());
            memory.entry(0, ());
        }
        assert_eq!((memory.entries.len(), memory.order.len()), (MEMORY, MEMORY));
        assert!(memory.entries.contains_key(&0) && !memory.entries.contains_key(&1));
    }
}
