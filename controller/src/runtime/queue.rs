//! The work queue: which object is looked at next.
//!
//! Upstream's rules: a key is in the queue once, however often it is added; it is never with two workers; added while a worker
//! has it, it comes back when that worker is done. A key that failed waits 5 ms, then twice as long each time. What more there is
//! to it, each controller says: see [`Retries`].
//!
//! Not upstream's: no key is lost. Where upstream's Deployment controller drops a key after fifteen retries, this queue sets it
//! aside for the longest wait, 1000 s, and then tries it once in so long. Whatever changes in between wakes it as it does upstream,
//! with fifteen retries anew, so the two differ only where upstream does nothing more.
//!
//! It counts as client-go's queues do, so that their dashboards mean the same here.
//!
//! Written here: kube-runtime's scheduler keeps one time for each key. Failures by key, workers that
//! never share one, and client-go's counters would all be written around it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

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
    /// Failures in a row after which a key is set aside for the longest wait; `None`: the waits only grow.
    pub(crate) most: Option<u32>,
    /// How many retries there are at once, and a second in the long run, of all keys together; `None`: as many as come.
    pub(crate) together: Option<RateLimit>,
}

impl Retries {
    /// The Deployment controller's: a key is set aside after fifteen. The limit for all keys together is left out.
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

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<Key>,
    /// Keys that must be looked at, and since when: those in `ready`, and those to come back when their worker is done.
    dirty: BTreeMap<Key, Instant>,
    /// Keys that a worker has, and since when.
    working: BTreeMap<Key, Instant>,
    delayed: BTreeMap<Key, Instant>,
    failures: BTreeMap<Key, u32>,
    /// Keys that failed too often in a row, and when each is tried again.
    set_aside: BTreeMap<Key, Instant>,
    /// What the limit for all keys together has left.
    bucket: Option<Bucket>,
    closed: bool,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new(metrics: QueueMetrics, retries: Retries) -> Self {
        let bucket = retries.together.map(|limit| Bucket::new(limit, clock::instant()));
        let state = Mutex::new(State { bucket, ..State::default() });
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
            let turn = state.bucket.as_mut().map(|bucket| bucket.take(clock::instant()));
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

    /// The next key, which the caller must hand back with [`Queue::done`]; `None` once the queue is closed.
    pub(crate) async fn next(&self) -> Option<Key> {
        loop {
            {
                let mut state = self.lock();
                if state.closed {
                    self.work.notify_one();
                    return None;
                }
                if let Some(key) = state.ready.pop_front() {
                    let now = clock::instant();
                    if let Some(since) = state.dirty.remove(&key) {
                        self.metrics.waits.observe((now - since).as_secs_f64());
                    }
                    state.working.insert(key.clone(), now);
                    if !state.ready.is_empty() {
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
        }
        if state.dirty.contains_key(key) {
            state.ready.push_back(key.clone());
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
        self.ready.push_back(key);
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

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::metrics::Metrics;

    fn queue() -> Queue {
        Queue::new(Metrics::default().queue("test"), Retries::DEPLOYMENT)
    }

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_queued_once_and_never_with_two_workers() {
        let queue = queue();
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(queue.next().await, Some(key("a")));
        queue.add(key("a"));
        assert_eq!(queue.next().now_or_never(), None);
        queue.done(&key("a"));
        assert_eq!(queue.next().await, Some(key("a")));
        queue.done(&key("a"));
        assert_eq!(queue.next().now_or_never(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_twice_as_long_each_time_and_are_set_aside_after_fifteen() {
        assert_eq!(wait_after(0), Duration::from_millis(5));
        assert_eq!(wait_after(14), Duration::from_millis(5 << 14));
        assert_eq!(wait_after(40), LONGEST_WAIT);
        let queue = queue();
        for _ in 0..15 {
            assert!(queue.retry(key("a")));
        }
        assert!(!queue.retry(key("a")));
        assert!(queue.retry(key("a")), "a key that something woke meanwhile starts anew");
        assert!(queue.lock().set_aside.is_empty(), "it is tried sooner than that");
    }

    /// Fails a key at every try; returns the seconds at which the tries were, as long as they last.
    async fn tries(queue: &Queue, lasts: Duration) -> Vec<u64> {
        let (start, mut seconds) = (clock::instant(), Vec::new());
        while let Some(Some(key)) = clock::within(lasts.saturating_sub(clock::instant() - start), queue.next()).await {
            seconds.push((clock::instant() - start).as_secs());
            queue.retry(key.clone());
            queue.done(&key);
        }
        seconds
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_set_aside_is_tried_once_in_the_longest_wait_until_it_works() {
        let queue = std::sync::Arc::new(queue());
        let timer = tokio::spawn({
            let queue = queue.clone();
            async move { queue.run_timer().await }
        });
        queue.add(key("a"));
        let seconds = tries(&queue, Duration::from_secs(3500)).await;
        assert_eq!(seconds.len(), 19, "the first, fifteen retries, and three times one: {seconds:?}");
        assert_eq!(seconds[15..], [163, 1163, 2163, 3163]);
        assert_eq!(queue.metrics.retries.get(), 19, "being set aside is being put off");

        queue.add(key("a"));
        let seconds = tries(&queue, Duration::from_secs(600)).await;
        assert_eq!(seconds.len(), 16, "what changed gives it fifteen retries anew: {seconds:?}");

        queue.add(key("a"));
        let again = queue.next().await.unwrap();
        queue.forget(&again);
        queue.done(&again);
        assert_eq!(tries(&queue, Duration::from_secs(5000)).await, [0_u64; 0], "it worked, so it is not tried again");
        timer.abort();
    }

    /// DefaultTypedControllerRateLimiter: no key is dropped, and from the 101st retry on there are ten a second.
    #[tokio::test(start_paused = true)]
    async fn a_replica_set_is_never_dropped_and_all_keys_share_a_limit() {
        let queue = Queue::new(Metrics::default().queue("test"), Retries::REPLICA_SET);
        for _ in 0..99 {
            assert!(queue.retry(key("a")));
        }
        let due = |name: &str| queue.lock().delayed[&key(name)] - clock::instant();
        assert!(queue.retry(key("b")) && queue.retry(key("c")) && queue.retry(key("d")));
        assert_eq!(
            (due("b"), due("c"), due("d")),
            (FIRST_WAIT, Duration::from_millis(100), Duration::from_millis(200))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_keys_come_when_due() {
        let queue = std::sync::Arc::new(queue());
        let timer = tokio::spawn({
            let queue = queue.clone();
            async move { queue.run_timer().await }
        });
        let start = clock::instant();
        queue.add_after(key("late"), Duration::from_secs(5));
        queue.add_after(key("soon"), Duration::from_secs(2));
        queue.add_after(key("late"), Duration::from_secs(9));
        assert_eq!(queue.next().await, Some(key("soon")));
        assert_eq!(clock::instant() - start, Duration::from_secs(2));
        assert_eq!(queue.next().await, Some(key("late")));
        assert_eq!(clock::instant() - start, Duration::from_secs(5));
        timer.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn closing_sends_every_worker_home() {
        let queue = queue();
        queue.add(key("a"));
        queue.close();
        assert_eq!(futures::join!(queue.next(), queue.next(), queue.next()), (None, None, None));
    }

    /// What client-go counts: a key that waits already is not added again, one that a worker has is; put off is put off, why ever.
    #[tokio::test(start_paused = true)]
    async fn counts_as_upstream_does() {
        let queue = queue();
        for name in ["a", "a", "b"] {
            queue.add(key(name));
        }
        clock::sleep(Duration::from_secs(2)).await;
        let first = queue.next().await.unwrap();
        queue.add(first.clone());
        queue.add_after(key("c"), Duration::from_secs(60));
        clock::sleep(Duration::from_secs(3)).await;
        let second = queue.next().await.unwrap();
        clock::sleep(Duration::from_secs(1)).await;
        assert_eq!((queue.metrics.adds.get(), queue.metrics.retries.get()), (3, 1));
        let load = Load { depth: 1, unfinished: Duration::from_secs(5), longest: Duration::from_secs(4) };
        assert_eq!(queue.load(), load);
        queue.done(&first);
        queue.done(&second);
        assert_eq!(queue.load(), Load { depth: 1, unfinished: Duration::ZERO, longest: Duration::ZERO });
    }
}
