//! The work queue: which object is reconciled next.
//!
//! Upstream's rules: a key is queued once, however often it is added; two workers never have it at
//! the same time; if it is added while a worker has it, it is queued again when that worker is
//! done. A failed key waits 5 ms, and twice as long after each further failure. [`RetryPolicy`] has
//! the rest, by controller.
//!
//! Unlike upstream, no key is lost. Where upstream's Deployment controller drops a key after
//! fifteen retries, this queue sets it aside for the longest wait, 1000 s, and then tries it once
//! per such period. A change in between wakes it as it does upstream, with fifteen new retries, so
//! the two differ only where upstream does nothing more.
//!
//! Also unlike upstream, namespaces take turns, and each has a share of the workers
//! (`ready_keys.rs`), so that none delays another. Within a namespace the order is upstream's, and
//! so is the rate limit on all its retries.
//!
//! Its metrics are client-go's, so that dashboards for those work here.
//!
//! kube-runtime's scheduler is not used, because it keeps one time for each key: failures by key,
//! exclusive workers and client-go's counters would all have to be built around it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::ready_keys::ReadyKeys;
use crate::api::{NamespacedName, TokenBucket};
use crate::clock;
use crate::metrics::{QueueLoad, QueueMetrics, ReportLoad};
use crate::settings::RateLimit;

/// First wait after a failure.
const FIRST_WAIT: Duration = Duration::from_millis(5);
/// Longest wait after a failure.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(1000);

/// How one controller retries failed keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Failures in a row after which a key is set aside for the longest wait; `None` if only the
    /// waits grow.
    pub(crate) max_retries: Option<u32>,
    /// Rate limit on the retries of all keys of a namespace; `None` for no limit.
    pub(crate) rate_limit: Option<RateLimit>,
}

impl RetryPolicy {
    /// The Deployment controller's: a key is set aside after fifteen retries. Upstream's limit on
    /// all keys is omitted.
    pub const DEPLOYMENT: Self = Self { max_retries: Some(15), rate_limit: None };
    /// The ReplicaSet controller's: the waits only grow.
    pub const REPLICA_SET: Self = Self { max_retries: None, rate_limit: Some(RateLimit { qps: 10.0, burst: 100 }) };
}

/// A queue of keys.
#[derive(Debug)]
pub(crate) struct Queue {
    metrics: QueueMetrics,
    policy: RetryPolicy,
    state: Mutex<State>,
    /// Notifies a worker that waits for a key.
    work: Notify,
    /// Notifies the timer, which waits for the next delayed key.
    timer: Notify,
}

#[derive(Debug)]
struct State {
    ready: ReadyKeys,
    /// Keys to reconcile, and since when: those in `ready`, and those that are queued again when
    /// their worker is done.
    dirty: BTreeMap<NamespacedName, Instant>,
    /// Keys that a worker has, and since when.
    working: BTreeMap<NamespacedName, Instant>,
    delayed: BTreeMap<NamespacedName, Instant>,
    failures: BTreeMap<NamespacedName, u32>,
    /// Keys that failed too often in a row, and when each is tried again.
    set_aside: BTreeMap<NamespacedName, Instant>,
    /// The token buckets of namespaces, except full ones.
    buckets: BTreeMap<String, TokenBucket>,
    closed: bool,
}

impl Queue {
    /// An empty queue; a namespace has at most `share` of its workers.
    pub(crate) fn new(metrics: QueueMetrics, policy: RetryPolicy, share: usize) -> Self {
        let state = Mutex::new(State::new(share));
        Self { metrics, policy, state, work: Notify::new(), timer: Notify::new() }
    }

    pub(crate) fn add(&self, key: NamespacedName) {
        if self.lock().add(key, clock::instant(), &self.metrics) {
            self.work.notify_one();
        }
    }

    /// Adds a key after a delay; of two delays the one that ends earlier counts.
    pub(crate) fn add_after(&self, key: NamespacedName, wait: Duration) {
        self.metrics.retries.inc();
        let due = clock::instant() + wait;
        let mut state = self.lock();
        let earliest = state.delayed.get(&key).map_or(due, |other| due.min(*other));
        state.delayed.insert(key, earliest);
        drop(state);
        self.timer.notify_one();
    }

    /// Adds a failed key after its back-off; returns `false` if it failed too often in a row and is
    /// set aside.
    pub(crate) fn retry(&self, key: NamespacedName) -> bool {
        let wait = {
            let mut state = self.lock();
            state.set_aside.remove(&key);
            let failures = state.failures.entry(key.clone()).or_insert(0);
            let before = *failures;
            *failures = before.saturating_add(1);
            if self.policy.max_retries.is_some_and(|most| before >= most) {
                state.failures.remove(&key);
                state.set_aside.insert(key, clock::instant() + MAX_WAIT);
                drop(state);
                self.metrics.retries.inc();
                self.timer.notify_one();
                return false;
            }
            let turn = self.policy.rate_limit.map(|limit| state.take_token(&key.namespace, limit, clock::instant()));
            wait_after(before).max(turn.unwrap_or_default())
        };
        self.add_after(key, wait);
        true
    }

    /// Forgets the failures of a key.
    pub(crate) fn forget(&self, key: &NamespacedName) {
        let mut state = self.lock();
        state.failures.remove(key);
        state.set_aside.remove(key);
    }

    /// The next key, which the caller must hand back with [`Queue::done`]; `None` after the queue
    /// is closed.
    pub(crate) async fn next(&self) -> Option<NamespacedName> {
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
    pub(crate) fn done(&self, key: &NamespacedName) {
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

    /// Stops the workers: [`Queue::next`] returns `None` from now on.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
    }

    /// Moves delayed keys into the queue when they are due; never returns.
    pub(crate) async fn run_timer(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                if state.move_due(clock::instant(), self.policy, &self.metrics) {
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
        // No code panics while it holds the lock, so the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReportLoad for Queue {
    fn load(&self) -> QueueLoad {
        let (now, state) = (clock::instant(), self.lock());
        let ages = || state.working.values().map(|since| now.saturating_duration_since(*since));
        QueueLoad { depth: state.dirty.len(), unfinished: ages().sum(), longest: ages().max().unwrap_or_default() }
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

    /// How long the next retry in a namespace waits for its token.
    fn take_token(&mut self, namespace: &str, limit: RateLimit, now: Instant) -> Duration {
        if !self.buckets.contains_key(namespace) {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        self.buckets.entry(namespace.to_owned()).or_insert_with(|| TokenBucket::new(limit, now)).take(now)
    }

    /// Adds a key; returns whether a worker can take it now.
    fn add(&mut self, key: NamespacedName, now: Instant, metrics: &QueueMetrics) -> bool {
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

    fn move_due(&mut self, now: Instant, policy: RetryPolicy, metrics: &QueueMetrics) -> bool {
        let is_due = |(key, time): (&NamespacedName, &Instant)| (*time <= now).then(|| (*time, key.clone()));
        let mut due: Vec<(Instant, NamespacedName)> = self.delayed.iter().filter_map(is_due).collect();
        let back: Vec<(Instant, NamespacedName)> = self.set_aside.iter().filter_map(is_due).collect();
        self.delayed.retain(|_, time| *time > now);
        self.set_aside.retain(|_, time| *time > now);
        // One attempt each: if it fails too, the key is set aside again.
        self.failures.extend(back.iter().filter_map(|(_, key)| Some((key.clone(), policy.max_retries?))));
        due.extend(back);
        due.sort();
        let mut added = false;
        for (_, key) in due {
            added |= self.add(key, now, metrics);
        }
        added
    }
}

/// The back-off after this many earlier failures.
fn wait_after(failures: u32) -> Duration {
    FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures)).min(MAX_WAIT)
}
