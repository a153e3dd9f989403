//! The only module that reads a clock or sleeps.
//!
//! There are two clocks: the wall clock dates conditions and events and measures deadlines, and the
//! runtime's clock is for waits. A simulation pauses the runtime's clock; with
//! [`Clock::starting_at`] the wall clock follows it.

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// The source of the time of day.
#[derive(Debug, Clone, Copy)]
pub struct Clock(TimeSource);

#[derive(Debug, Clone, Copy)]
enum TimeSource {
    System,
    Runtime { epoch: Timestamp, start: Instant },
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(TimeSource::System)
    }

    /// A clock that shows `epoch` now and advances as the async runtime's does. If that is paused,
    /// this must be called within the runtime.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self(TimeSource::Runtime { epoch, start: instant() })
    }

    /// The time of day.
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads clocks")]
    pub fn now(&self) -> Timestamp {
        match self.0 {
            TimeSource::System => Timestamp::now(),
            TimeSource::Runtime { epoch, start } => {
                let elapsed = instant().saturating_duration_since(start);
                jiff::SignedDuration::try_from(elapsed)
                    .ok()
                    .and_then(|elapsed| epoch.checked_add(elapsed).ok())
                    .unwrap_or(epoch)
            }
        }
    }
}

/// The runtime's time.
#[expect(clippy::disallowed_methods, reason = "this is the module that reads clocks")]
pub fn instant() -> Instant {
    Instant::now()
}

/// Waits for a while.
#[expect(clippy::disallowed_methods, reason = "this is the module that sleeps")]
pub async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits until a moment; `None` for ever.
pub async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits for a future, but not longer than `limit`; `None` when it took longer.
pub async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}
