//! Decides whether an event is new, repeats an earlier one, is combined with similar ones, or is
//! dropped.
//!
//! client-go's rules (`EventCorrelator`), which users see in `kubectl describe`: a repeat raises
//! `count`; from the tenth different message for one object and reason within ten minutes on,
//! messages are combined; of a burst about one object 25 events pass, and one more every five
//! minutes. Pure: the time is an argument.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// Entries of each map; the least recently used are dropped.
const CAPACITY: usize = 4096;
/// Different messages for one object and reason from which on they are combined.
const MAX_SIMILAR: usize = 10;
/// Seconds after which messages no longer count as similar.
const SIMILAR_SECONDS: i64 = 600;
/// Events about one object in a burst.
const BURST: f64 = 25.0;
/// Events about one object in the long run, per second.
const RATE: f64 = 1.0 / 300.0;

/// An event before correlation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventReport {
    pub(crate) object: ObjectKey,
    pub(crate) resource_version: String,
    pub(crate) kind: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The event's name, if it is new.
    pub(crate) name: String,
    pub(crate) time: Timestamp,
}

/// An event to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CorrelatedEvent {
    pub(crate) report: EventReport,
    pub(crate) first_time: Timestamp,
    /// 1 for a new event; more if it exists already.
    pub(crate) count: i32,
}

/// Namespace, name and UID.
type ObjectKey = (String, String, String);
/// With the type and the reason of an event.
type ReasonKey = (ObjectKey, &'static str, &'static str);

/// The events so far.
#[derive(Debug, Default)]
pub(crate) struct Correlator {
    /// By object and reason: the different messages, and when the last one came.
    similar: LruMap<ReasonKey, (BTreeSet<String>, Timestamp)>,
    /// By object, reason and message (`None` if combined): count, first time, and name of the
    /// event.
    repeats: LruMap<(ReasonKey, Option<String>), (i32, Timestamp, String)>,
    /// By object, whatever the type of the event (upstream: `getSpamKey`): remaining events, and as
    /// of when.
    tokens: LruMap<ObjectKey, (f64, Timestamp)>,
}

impl Correlator {
    /// The event to write; `None` if it is dropped.
    pub(crate) fn correlate(&mut self, mut report: EventReport) -> Option<CorrelatedEvent> {
        let now = report.time;
        let object = report.object.clone();
        let reason: ReasonKey = (object.clone(), report.kind, report.reason);
        let (messages, last) = self.similar.entry(reason.clone(), (BTreeSet::new(), now));
        if now.duration_since(*last).as_secs() > SIMILAR_SECONDS {
            messages.clear();
        }
        messages.insert(report.message.clone());
        *last = now;
        let mut key = (reason, Some(report.message.clone()));
        if messages.len() >= MAX_SIMILAR {
            messages.pop_first();
            report.message = format!("(combined from similar events): {}", report.message);
            key.1 = None;
        }
        let (count, first_time, event_name) = self.repeats.entry(key, (0, now, report.name.clone()));
        *count += 1;
        report.name.clone_from(event_name);
        let correlated = CorrelatedEvent { report, first_time: *first_time, count: *count };
        self.take_token(object, now).then_some(correlated)
    }

    fn take_token(&mut self, object: ObjectKey, now: Timestamp) -> bool {
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

/// A map that drops its least recently used entry.
#[derive(Debug)]
struct LruMap<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
    clock: u64,
}

impl<K, V> Default for LruMap<K, V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), order: BTreeMap::new(), clock: 0 }
    }
}

impl<K: Ord + Clone, V> LruMap<K, V> {
    fn entry(&mut self, key: K, fresh: V) -> &mut V {
        if self.entries.len() >= CAPACITY
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

    fn report(message: &str, second: i64) -> EventReport {
        EventReport {
            object: ("ns".to_owned(), "web".to_owned(), "u".to_owned()),
            resource_version: "1".to_owned(),
            kind: "Normal",
            reason: "ScalingReplicaSet",
            message: message.to_owned(),
            name: format!("web.{second}"),
            time: Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn repeated_event_increments_the_count_of_the_first() {
        let mut correlator = Correlator::default();
        assert_eq!(correlator.correlate(report("a", 1)).unwrap().count, 1);
        let again = correlator.correlate(report("a", 2)).unwrap();
        assert_eq!((again.count, again.report.name.as_str()), (2, "web.1"));
        assert_eq!(correlator.correlate(report("b", 3)).unwrap().count, 1);
    }

    #[test]
    fn combines_from_the_tenth_message_until_ten_minutes_pass() {
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
    fn burst_is_cut_off_and_refills_slowly() {
        let mut correlator = Correlator::default();
        let passed = (0..100).filter(|_| correlator.correlate(report("a", 1)).is_some()).count();
        assert_eq!(passed, 25);
        let warning = EventReport { kind: "Warning", ..report("a", 1) };
        assert!(correlator.correlate(warning).is_none(), "both types count");
        assert!(correlator.correlate(report("a", 302)).is_some());
        assert!(correlator.correlate(report("a", 303)).is_none());
    }

    #[test]
    fn lru_map_is_bounded() {
        let mut map = LruMap::default();
        for n in 0..CAPACITY + 10 {
            map.entry(n, ());
            map.entry(0, ());
        }
        assert_eq!((map.entries.len(), map.order.len()), (CAPACITY, CAPACITY));
        assert!(map.entries.contains_key(&0) && !map.entries.contains_key(&1));
    }
}
