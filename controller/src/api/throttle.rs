//! This process's own limit on its requests: a token bucket, as client-go's flow control.
//!
//! So many requests at once, so many a second in the long run. Requests of a namespace get their
//! turns in the order in which they ask. Namespaces take turns: of each one request waits for a
//! token, so five hundred pods of one ReplicaSet do not delay the requests of other namespaces. A
//! namespace also has a limit to its requests that wait for an answer, for all share the streams of
//! a connection, and an admission webhook may take ten seconds for each. Lists and watches pass
//! freely: upstream's informers have a client of their own, too, and what feeds the caches must not
//! wait behind the writes that it leads to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::clock;
use crate::metrics::Metrics;
use crate::settings::RateLimit;

/// A wait that is worth a word.
const LONG: Duration = Duration::from_secs(1);

/// Requests of a namespace that wait for an answer at most.
const OPEN: usize = 50;

/// Makes requests wait for their turn.
pub(super) struct Throttle {
    bucket: Mutex<Bucket>,
    /// By namespace, of those that have requests.
    lines: Mutex<BTreeMap<String, Line>>,
    metrics: Metrics,
}

/// The requests of a namespace.
#[derive(Clone)]
struct Line {
    /// The one that waits for a token.
    first: Arc<tokio::sync::Mutex<()>>,
    /// Those that wait for a token or for an answer.
    open: Arc<Semaphore>,
}

impl Throttle {
    pub(super) fn new(limit: RateLimit, metrics: Metrics) -> Self {
        Self { bucket: Mutex::new(Bucket::new(limit, clock::instant())), lines: Mutex::default(), metrics }
    }

    /// Returns when it is this request's turn; the permit is to be kept until the answer is there.
    pub(super) async fn turn(&self, method: &str, namespace: &str) -> Option<OwnedSemaphorePermit> {
        let start = clock::instant();
        let Line { first, open } = self.line(namespace);
        // Never closed, so there always is a permit.
        let permit = open.acquire_owned().await.ok();
        let first = first.lock().await;
        // No code panics while it holds the lock, so what is behind it is whole.
        let rest = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(clock::instant());
        let wait = clock::instant().saturating_duration_since(start) + rest;
        self.metrics.throttled(method, wait);
        if wait > LONG {
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

    /// The line of a namespace.
    fn line(&self, namespace: &str) -> Line {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if !lines.contains_key(namespace) {
            // Each request keeps its line's semaphore as long as it needs the line.
            lines.retain(|_, line| Arc::strong_count(&line.open) > 1);
        }
        let new = || Line { first: Arc::default(), open: Arc::new(Semaphore::new(OPEN)) };
        lines.entry(namespace.to_owned()).or_insert_with(new).clone()
    }
}

/// A bucket of tokens; each request takes one, on credit if there is none.
#[derive(Debug)]
pub(crate) struct Bucket {
    limit: RateLimit,
    /// Below zero: so many requests are waiting.
    tokens: f64,
    as_of: Instant,
}

impl Bucket {
    pub(crate) fn new(limit: RateLimit, now: Instant) -> Self {
        Self { limit, tokens: f64::from(limit.burst), as_of: now }
    }

    /// Whether it has all its tokens.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.tokens + self.earned(now) >= f64::from(self.limit.burst)
    }

    fn earned(&self, now: Instant) -> f64 {
        now.saturating_duration_since(self.as_of).as_secs_f64() * self.limit.qps
    }

    /// Takes a token; returns how long it takes until it is there.
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

    /// Times in milliseconds at which requests come, and those at which they go.
    #[rstest]
    #[case::a_burst_goes_at_once(10.0, 3, &[0, 0, 0], &[0, 0, 0])]
    #[case::then_at_the_rate(10.0, 2, &[0, 0, 0, 0, 0], &[0, 0, 100, 200, 300])]
    #[case::a_pause_fills_the_bucket(10.0, 2, &[0, 0, 0, 300, 300, 300], &[0, 0, 100, 300, 300, 400])]
    #[case::but_not_above_the_burst(10.0, 2, &[0, 0, 9000, 9000, 9000], &[0, 0, 9000, 9000, 9100])]
    #[case::part_of_a_token_shortens_the_wait(10.0, 1, &[0, 50, 50], &[0, 100, 200])]
    #[case::slower_than_one_a_second(0.5, 1, &[0, 0, 0], &[0, 2000, 4000])]
    #[case::as_upstream(20.0, 30, &[0; 32], &[[0; 30].as_slice(), &[50, 100]].concat())]
    #[tokio::test(start_paused = true)]
    async fn turns(#[case] qps: f64, #[case] burst: u32, #[case] come: &[u64], #[case] go: &[u64]) {
        let throttle = Arc::new(Throttle::new(RateLimit { qps, burst }, Metrics::default()));
        let start = clock::instant();
        let mut went = Vec::new();
        for at in come {
            clock::sleep_until(Some(start + Duration::from_millis(*at))).await;
            let throttle = throttle.clone();
            went.push(tokio::spawn(async move {
                throttle.turn("PUT", "ns").await;
                clock::instant() - start
            }));
            tokio::task::yield_now().await;
        }
        let mut times = Vec::new();
        for turn in went {
            times.push(u64::try_from(turn.await.unwrap().as_millis()).unwrap());
        }
        assert_eq!(times, go);
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_with_many_requests_delays_another_by_one() {
        let throttle = Arc::new(Throttle::new(RateLimit { qps: 10.0, burst: 1 }, Metrics::default()));
        let (start, mut hostile) = (clock::instant(), tokio::task::JoinSet::new());
        for _ in 0..500 {
            let throttle = throttle.clone();
            hostile.spawn(async move { throttle.turn("POST", "hostile").await });
        }
        tokio::task::yield_now().await;
        throttle.turn("POST", "other").await;
        assert!(clock::instant() - start <= Duration::from_millis(200), "{:?}", clock::instant() - start);
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_without_answers_delays_itself_alone_and_idle_lines_go() {
        let throttle = Throttle::new(RateLimit { qps: 1000.0, burst: 1000 }, Metrics::default());
        let mut open = Vec::new();
        for _ in 0..OPEN {
            open.push(throttle.turn("POST", "hostile").await);
        }
        assert!(clock::within(Duration::from_secs(60), throttle.turn("POST", "hostile")).await.is_none());
        assert!(clock::within(Duration::from_secs(60), throttle.turn("POST", "other")).await.is_some());
        drop(open);
        drop(throttle.turn("POST", "third").await);
        assert_eq!(throttle.lines.lock().unwrap().len(), 1);
    }
}
