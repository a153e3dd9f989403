//! The clock: the only module that reads the time or sleeps.
//!
//! Delays and time-outs are tokio's, so they take no time where its clock is paused. The time of
//! day is a start plus what has passed on tokio's clock since, unless the caller has a clock.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, Sleep};

/// Where the time of day comes from, as configured.
#[derive(Default)]
pub(crate) enum Start {
    /// From the machine, once.
    #[default]
    Now,
    At(Timestamp),
    Given(Box<dyn Fn() -> Timestamp + Send + Sync>),
}

/// The time of day.
pub(crate) enum Clock {
    Since(Timestamp, Instant),
    Given(Box<dyn Fn() -> Timestamp + Send + Sync>),
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn starting(start: Start) -> Self {
        match start {
            Start::Now => Self::Since(Timestamp::now(), Instant::now()),
            Start::At(epoch) => Self::Since(epoch, Instant::now()),
            Start::Given(now) => Self::Given(now),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Self::Since(epoch, start) => {
                let passed = Instant::now().saturating_duration_since(*start);
                epoch.checked_add(passed).unwrap_or(*epoch)
            }
            Self::Given(now) => now(),
        }
    }
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("Now"),
            Self::At(epoch) => f.debug_tuple("At").field(epoch).finish(),
            Self::Given(_) => f.write_str("Given"),
        }
    }
}

/// Completes after this time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn sleep(duration: Duration) -> Sleep {
    tokio::time::sleep(duration)
}

/// Waits until a future completes, but no longer than this.
pub(crate) async fn within(duration: Duration, future: impl Future<Output = ()>) {
    // The caller finds out by itself whether it completed in time.
    drop(tokio::time::timeout(duration, future).await);
}

/// A time as metadata has it: RFC 3339, UTC, whole seconds.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_of_day_advances_with_the_runtimes_clock() {
        let clock = Clock::starting(Start::At(Timestamp::UNIX_EPOCH));
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(rfc3339(clock.now()), "1970-01-01T01:00:00Z");
    }
}
