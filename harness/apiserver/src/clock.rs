//! The clock. No other module reads the time or sleeps.
//!
//! Delays and timeouts are tokio's, so they take no time while its clock is paused. The time of day
//! is the start time plus the time elapsed on tokio's clock, unless the caller provides a clock.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, Sleep};

/// The configured source of the time of day.
#[derive(Default)]
pub(crate) enum ClockSource {
    /// The machine's time, read once.
    #[default]
    Now,
    At(Timestamp),
    Custom(Box<dyn Fn() -> Timestamp + Send + Sync>),
}

pub(crate) enum ServerClock {
    Since(Timestamp, Instant),
    Custom(Box<dyn Fn() -> Timestamp + Send + Sync>),
}

impl ServerClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn new(start: ClockSource) -> Self {
        match start {
            ClockSource::Now => Self::Since(Timestamp::now(), Instant::now()),
            ClockSource::At(epoch) => Self::Since(epoch, Instant::now()),
            ClockSource::Custom(now) => Self::Custom(now),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Self::Since(epoch, start) => {
                let passed = Instant::now().saturating_duration_since(*start);
                epoch.checked_add(passed).unwrap_or(*epoch)
            }
            Self::Custom(now) => now(),
        }
    }
}

impl fmt::Debug for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("Now"),
            Self::At(epoch) => f.debug_tuple("At").field(epoch).finish(),
            Self::Custom(_) => f.write_str("Given"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn sleep(duration: Duration) -> Sleep {
    tokio::time::sleep(duration)
}

/// Waits for a future, but no longer than this.
pub(crate) async fn within(duration: Duration, future: impl Future<Output = ()>) {
    // The caller checks by itself whether it completed in time.
    drop(tokio::time::timeout(duration, future).await);
}

/// Formats a time as metadata does: RFC 3339, UTC, whole seconds.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_of_day_advances_with_tokio_clock() {
        let clock = ServerClock::new(ClockSource::At(Timestamp::UNIX_EPOCH));
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(rfc3339(clock.now()), "1970-01-01T01:00:00Z");
    }
}
