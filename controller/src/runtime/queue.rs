//! The work queue: which object is looked at next.
//!
//! Upstream's rules: a key is in the queue once, however often it is added; it is never with two
//! workers; added while a worker has it, it comes back when that worker is done. A key that failed
//! waits 5 ms, then twice as long each time. What more there is to it, each controller says: see
//! [`Retries`].
//!
//! Not upstream's: no key is lost. Where upstream's Deployment controller drops a key after fifteen
//! retries, this queue sets it aside for the longest wait, 1000 s, and then tries it once in so
//! long. Whatever changes in between wakes it as it does upstream, with fifteen retries anew, so
//! the two differ only where upstream does nothing more.
//!
//! Nor is this upstream's: namespaces take turns, and each has a share of the workers (`ready.rs`),
//! so that none holds another up. Within a namespace the order is upstream's, and so is the limit
//! for the retries of all keys together.
//!
//! It counts as client-go's queues do, so that their dashboards mean the same here.
//!
//! Written here: kube-runtime's scheduler keeps one time for each key. Failures by key, workers
//! that never share one, and client-go's counters would all be written around it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::ready::ReadyKeys;
use crate::api::{Bucket, Key};
use crate::clock;
use crate::metrics::{Load, Loaded, QueueMetrics};
use crate::settings::RateLimit;

/// First wait after a failure.
const FIRST_WAIT: Duration = Duration::from_millis(5);
/// Longest wait after a failure.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(1000);

/// How one controller goes about keys that failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Retries {
    /// Failures in a row after which a key is set aside for the longest wait; `None`: the waits
    /// only grow.
    pub(crate) most: Option<u32>,
    /// How many retries there are at once, and a second in the long run, of all keys of a
    /// namespace; `None`: as many as come.
    pub(crate) together: Option<RateLimit>,
}

impl Retries {
    /// The Deployment controller's: a key is set aside after fifteen. The limit for all keys
    /// together is left out.
    pub(crate) const DEPLOYMENT: Self = Self { most: Some(15), together: None };
    /// The ReplicaSet controller's: the waits only grow.
    pub(crate) const REPLICA_SET: Self = Self { most: None, together: Some(RateLimit { qps: 10.0, burst: 100 }) };
}

/// A queue of keys.
#[derive(Debug)]
pub(crate) struct Queue {
    metrics: QueueMetrics,
    retries: Retries,
    state: Mutex<State>,
    /// Someone waits for work.
    work: Notify,
    /// Someone waits for the next delayed key.
    timer: Notify,
}

#[derive(Debug)]
struct State {
    ready: ReadyKeys,
    /// Keys that must be looked at, and since when: those in `ready`, and those to come back when
    /// their worker is done.
    dirty: BTreeMap<Key, Instant>,
    /// Keys that a worker has, and since when.
    working: BTreeMap<Key, Instant>,
    delayed: BTreeMap<Key, Instant>,
    failures: BTreeMap<Key, u32>,
    /// Keys that failed too often in a row, and when each is tried again.
    set_aside: BTreeMap<Key, Instant>,
    /// What the limit for all keys of a namespace has left, where it is not all of it.
    buckets: BTreeMap<String, Bucket>,
    closed: bool,
}

impl Queue {
    /// An empty queue, of whose workers a namespace has at most a `share`.
    pub(crate) fn new(metrics: QueueMetrics, retries: Retries, share: usize) -> Self {
        let state = Mutex::new(State::new(share));
        Self { metrics, retries, state, work: Notify::new(), timer: Notify::new() }
    }

    /// Adds a key.
    pub(crate) fn add(&self, key: Key) {
        if self.lock().add(key, clock::instant(), &self.metrics) {
            self.work.notify_one();
        }
    }

    /// Adds a key after a while; of two such times the earlier one counts.
    pub(crate) fn add_after(&self, key: Key, wait: Duration) {
        self.metrics.retries.inc();
        let due = clock::instant() + wait;
        let mut state = self.lock();
        let earliest = state.delayed.get(&key).map_or(due, |other| due.min(*other));
        state.delayed.insert(key, earliest);
        drop(state);
        self.timer.notify_one();
    }

    /// Adds a key that failed; `false` if it failed too often in a row and is set aside.
    pub(crate) fn retry(&self, key: Key) -> bool {
        let wait = {
            let mut state = self.lock();
            state.set_aside.remove(&key);
            let failures = state.failures.entry(key.clone()).or_insert(0);
            let before = *failures;
            *failures = before.saturating_add(1);
            if self.retries.most.is_some_and(|most| before >= most) {
                state.failures.remove(&key);
                state.set_aside.insert(key, clock::instant() + LONGEST_WAIT);
                drop(state);
                self.metrics.retries.inc();
                self.timer.notify_one();
                return false;
            }
            let turn = self.retries.together.map(|limit| state.take_token(&key.namespace, limit, clock::instant()));
            wait_after(before).max(turn.unwrap_or_default())
        };
        self.add_after(key, wait);
        true
    }

    /// Forgets that a key ever failed.
    pub(crate) fn forget(&self, key: &Key) {
        let mut state = self.lock();
        state.failures.remove(key);
        state.set_aside.remove(key);
    }

    /// The next key, which the caller must hand back with [`Queue::done`]; `None` once the queue is
    /// closed.
    pub(crate) async fn next(&self) -> Option<Key> {
        loop {
            {
                let mut state = self.lock();
                if state.closed {
                    self.work.notify_one();
                    return None;
                }
                if let Some(key) = state.ready.pop() {
                    let now = clock::instant();
                    if let Some(since) = state.dirty.remove(&key) {
                        self.metrics.waits.observe((now - since).as_secs_f64());
                    }
                    state.working.insert(key.clone(), now);
                    if state.ready.has_next() {
                        self.work.notify_one();
                    }
                    return Some(key);
                }
            }
            self.work.notified().await;
        }
    }

    /// Hands a key back.
    pub(crate) fn done(&self, key: &Key) {
        let mut state = self.lock();
        if let Some(since) = state.working.remove(key) {
            self.metrics.works.observe((clock::instant() - since).as_secs_f64());
            state.ready.done(key);
        }
        if state.dirty.contains_key(key) {
            state.ready.push(key.clone());
        }
        if state.ready.has_next() {
            self.work.notify_one();
        }
    }

    /// Lets no more keys out.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
    }

    /// Moves delayed keys into the queue when they are due; never returns.
    pub(crate) async fn run_timer(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                if state.move_due(clock::instant(), self.retries, &self.metrics) {
                    self.work.notify_one();
                }
                state.delayed.values().chain(state.set_aside.values()).min().copied()
            };
            tokio::select! {
                () = clock::sleep_until(next) => {}
                () = self.timer.notified() => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loaded for Queue {
    fn load(&self) -> Load {
        let (now, state) = (clock::instant(), self.lock());
        let ages = || state.working.values().map(|since| now.saturating_duration_since(*since));
        Load { depth: state.dirty.len(), unfinished: ages().sum(), longest: ages().max().unwrap_or_default() }
    }
}

impl State {
    fn new(share: usize) -> Self {
        Self {
            ready: ReadyKeys::new(share),
            dirty: BTreeMap::new(),
            working: BTreeMap::new(),
            delayed: BTreeMap::new(),
            failures: BTreeMap::new(),
            set_aside: BTreeMap::new(),
            buckets: BTreeMap::new(),
            closed: false,
        }
    }

    /// How long the next retry in a namespace waits for its turn.
    fn take_token(&mut self, namespace: &str, limit: RateLimit, now: Instant) -> Duration {
        if !self.buckets.contains_key(namespace) {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        self.buckets.entry(namespace.to_owned()).or_insert_with(|| Bucket::new(limit, now)).take(now)
    }

    /// Whether there is more work than before.
    fn add(&mut self, key: Key, now: Instant, metrics: &QueueMetrics) -> bool {
        if self.dirty.contains_key(&key) {
            return false;
        }
        metrics.adds.inc();
        self.dirty.insert(key.clone(), now);
        if self.working.contains_key(&key) {
            return false;
        }
        self.ready.push(key);
        true
    }

    fn move_due(&mut self, now: Instant, retries: Retries, metrics: &QueueMetrics) -> bool {
        let is_due = |(key, time): (&Key, &Instant)| (*time <= now).then(|| (*time, key.clone()));
        let mut due: Vec<(Instant, Key)> = self.delayed.iter().filter_map(is_due).collect();
        let back: Vec<(Instant, Key)> = self.set_aside.iter().filter_map(is_due).collect();
        self.delayed.retain(|_, time| *time > now);
        self.set_aside.retain(|_, time| *time > now);
        // One try each: if it fails too, the key is set aside again.
        self.failures.extend(back.iter().filter_map(|(_, key)| Some((key.clone(), retries.most?))));
        due.extend(back);
        due.sort();
        let mut added = false;
        for (_, key) in due {
            added |= self.add(key, now, metrics);
        }
        added
    }
}

/// The wait after so many failures before this one.
fn wait_after(failures: u32) -> Duration {
    FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_WAIT)
}
