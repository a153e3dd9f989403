//! This process's own limit on its requests: a token bucket, as client-go's flow control.
//!
//! So many requests at once, so many a second in the long run. Requests get their turns in the order in which they ask. Lists
//! and watches pass freely: upstream's informers have a client of their own, too, and what feeds the caches must not wait behind
//! the writes that it leads to.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::clock;
use crate::metrics::Metrics;
use crate::settings::RateLimit;

/// A wait that is worth a word.
const LONG: Duration = Duration::from_secs(1);

/// Makes requests wait for their turn.
pub(super) struct Throttle {
    bucket: Mutex<Bucket>,
    metrics: Metrics,
}

impl Throttle {
    pub(super) fn new(limit: RateLimit, metrics: Metrics) -> Self {
        Self { bucket: Mutex::new(Bucket::new(limit, clock::instant())), metrics }
    }

    /// Returns when it is this request's turn.
    pub(super) async fn turn(&self, method: &str) {
        // No code panics while it holds the lock, so what is behind it is whole.
        let wait = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(clock::instant());
        self.metrics.throttled(method, wait);
        if wait.is_zero() {
            return;
        }
        if wait > LONG {
            tracing::debug!(
                method,
                ?wait,
                "A request waits for its turn; --kube-api-qps and --kube-api-burst say how long."
            );
        }
        clock::sleep(wait).await;
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

    /// Takes a token; returns how long it takes until it is there.
    pub(crate) fn take(&mut self, now: Instant) -> Duration {
        let earned = now.saturating_duration_since(self.as_of).as_secs_f64() * self.limit.qps;
        self.tokens = (self.tokens + earned).min(f64::from(self.limit.burst)) - 1.0;
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
        let throttle = std::sync::Arc::new(Throttle::new(RateLimit { qps, burst }, Metrics::default()));
        let start = clock::instant();
        let mut went = Vec::new();
        for at in come {
            clock::sleep_until(Some(start + Duration::from_millis(*at))).await;
            let throttle = throttle.clone();
            went.push(tokio::spawn(async move {
                throttle.turn("PUT").await;
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
}
