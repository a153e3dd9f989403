//! This process's rate limit on its own requests: a token bucket, as client-go's flow control.
//!
//! The bucket allows a burst, and a number of requests per second in the long run. Requests of one
//! namespace are served in order. Namespaces take turns, and only one request of each waits for a
//! token, so five hundred pods of one ReplicaSet do not delay the requests of other namespaces. The
//! requests of a namespace that wait for a response are limited too, because all namespaces share
//! the streams of one connection, and an admission webhook may take ten seconds for each. Lists and
//! watches are not limited: upstream's informers have a client of their own as well, and what feeds
//! the caches must not wait behind the writes that result from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::clock;
use crate::metrics::Metrics;
use crate::settings::RateLimit;

/// A longer wait is logged.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// Most requests of one namespace that may wait for a response.
const MAX_OPEN: usize = 50;

/// Makes requests wait for their turn.
pub(super) struct Throttle {
    bucket: Mutex<TokenBucket>,
    /// By namespace with requests.
    queues: Mutex<BTreeMap<String, NamespaceQueue>>,
    metrics: Metrics,
}

/// The requests of one namespace.
#[derive(Clone)]
struct NamespaceQueue {
    /// Held by the request that waits for a token.
    first: Arc<tokio::sync::Mutex<()>>,
    /// Limits the requests that wait for a token or a response.
    open: Arc<Semaphore>,
}

impl Throttle {
    pub(super) fn new(limit: RateLimit, metrics: Metrics) -> Self {
        Self { bucket: Mutex::new(TokenBucket::new(limit, clock::instant())), queues: Mutex::default(), metrics }
    }

    /// Waits until the request may be sent; the caller holds the permit until the response has
    /// arrived.
    pub(super) async fn acquire(&self, method: &str, namespace: &str) -> Option<OwnedSemaphorePermit> {
        let start = clock::instant();
        let NamespaceQueue { first, open } = self.queue(namespace);
        // The semaphore is never closed, so there is always a permit.
        let permit = open.acquire_owned().await.ok();
        let first = first.lock().await;
        // No code panics while it holds the lock, so the state is consistent.
        let rest = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(clock::instant());
        let wait = clock::instant().saturating_duration_since(start) + rest;
        self.metrics.observe_throttle(method, wait);
        if wait > LONG_WAIT {
            tracing::debug!(
                method,
                ?wait,
                "A request waits for its turn; --kube-api-qps and --kube-api-burst say how long."
            );
        }
        if !rest.is_zero() {
            clock::sleep(rest).await;
        }
        drop(first);
        permit
    }

    fn queue(&self, namespace: &str) -> NamespaceQueue {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if !queues.contains_key(namespace) {
            // Each request holds its queue's semaphore while it needs the queue.
            queues.retain(|_, queue| Arc::strong_count(&queue.open) > 1);
        }
        let new = || NamespaceQueue { first: Arc::default(), open: Arc::new(Semaphore::new(MAX_OPEN)) };
        queues.entry(namespace.to_owned()).or_insert_with(new).clone()
    }
}

/// A token bucket; each request takes one token, on credit if the bucket is empty.
#[derive(Debug)]
pub struct TokenBucket {
    limit: RateLimit,
    /// Below zero while requests wait for tokens.
    tokens: f64,
    as_of: Instant,
}

impl TokenBucket {
    pub(crate) fn new(limit: RateLimit, now: Instant) -> Self {
        Self { limit, tokens: f64::from(limit.burst), as_of: now }
    }

    /// Whether no token is missing.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.tokens + self.earned(now) >= f64::from(self.limit.burst)
    }

    fn earned(&self, now: Instant) -> f64 {
        now.saturating_duration_since(self.as_of).as_secs_f64() * self.limit.qps
    }

    /// Takes a token; returns how long to wait for it.
    pub(crate) fn take(&mut self, now: Instant) -> Duration {
        self.tokens = (self.tokens + self.earned(now)).min(f64::from(self.limit.burst)) - 1.0;
        self.as_of = self.as_of.max(now);
        Duration::try_from_secs_f64(-self.tokens / self.limit.qps).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Times in milliseconds at which requests come, and at which they are sent.
    #[rstest]
    #[case::a_burst_goes_at_once(10.0, 3, &[0, 0, 0], &[0, 0, 0])]
    #[case::then_at_the_rate(10.0, 2, &[0, 0, 0, 0, 0], &[0, 0, 100, 200, 300])]
    #[case::a_pause_fills_the_bucket(10.0, 2, &[0, 0, 0, 300, 300, 300], &[0, 0, 100, 300, 300, 400])]
    #[case::but_not_above_the_burst(10.0, 2, &[0, 0, 9000, 9000, 9000], &[0, 0, 9000, 9000, 9100])]
    #[case::part_of_a_token_shortens_the_wait(10.0, 1, &[0, 50, 50], &[0, 100, 200])]
    #[case::slower_than_one_a_second(0.5, 1, &[0, 0, 0], &[0, 2000, 4000])]
    #[case::as_upstream(20.0, 30, &[0; 32], &[[0; 30].as_slice(), &[50, 100]].concat())]
    #[tokio::test(start_paused = true)]
    async fn requests_are_sent_at_the_rate_after_a_burst(
        #[case] qps: f64,
        #[case] burst: u32,
        #[case] come: &[u64],
        #[case] go: &[u64],
    ) {
        let throttle = Arc::new(Throttle::new(RateLimit { qps, burst }, Metrics::default()));
        let start = clock::instant();
        let mut turns = Vec::new();
        for at in come {
            clock::sleep_until(Some(start + Duration::from_millis(*at))).await;
            let throttle = throttle.clone();
            turns.push(tokio::spawn(async move {
                throttle.acquire("PUT", "ns").await;
                clock::instant() - start
            }));
            tokio::task::yield_now().await;
        }
        let mut times = Vec::new();
        for turn in turns {
            times.push(u64::try_from(turn.await.unwrap().as_millis()).unwrap());
        }
        assert_eq!(times, go);
    }

    #[tokio::test(start_paused = true)]
    async fn namespace_with_many_requests_delays_another_by_one() {
        let throttle = Arc::new(Throttle::new(RateLimit { qps: 10.0, burst: 1 }, Metrics::default()));
        let (start, mut hostile) = (clock::instant(), tokio::task::JoinSet::new());
        for _ in 0..500 {
            let throttle = throttle.clone();
            hostile.spawn(async move { throttle.acquire("POST", "hostile").await });
        }
        tokio::task::yield_now().await;
        throttle.acquire("POST", "other").await;
        assert!(clock::instant() - start <= Duration::from_millis(200), "{:?}", clock::instant() - start);
    }

    #[tokio::test(start_paused = true)]
    async fn namespace_without_responses_delays_only_itself() {
        let throttle = Throttle::new(RateLimit { qps: 1000.0, burst: 1000 }, Metrics::default());
        let mut open = Vec::new();
        for _ in 0..MAX_OPEN {
            open.push(throttle.acquire("POST", "hostile").await);
        }
        assert!(clock::within(Duration::from_secs(60), throttle.acquire("POST", "hostile")).await.is_none());
        assert!(clock::within(Duration::from_secs(60), throttle.acquire("POST", "other")).await.is_some());
        drop(open);
        drop(throttle.acquire("POST", "third").await);
        assert_eq!(throttle.queues.lock().unwrap().len(), 1);
    }
}
