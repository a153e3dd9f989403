//! The only place that reads a clock or sleeps.
//!
//! Two clocks: the wall's, which dates conditions and events and is what deadlines are measured by,
//! and the runtime's, which waits. A simulation pauses the runtime's clock; with
//! [`Clock::starting_at`] the wall's then follows it.

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// Where the time of day comes from.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Source);

#[derive(Debug, Clone, Copy)]
enum Source {
    System,
    Runtime { epoch: Timestamp, start: Instant },
}

impl Clock {
    /// The machine's.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// It is `epoch` now, and time goes on as the async runtime's does. Must be called within a
    /// runtime if its clock is paused.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self(Source::Runtime { epoch, start: instant() })
    }

    /// The time of day.
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads clocks")]
    pub(crate) fn now(&self) -> Timestamp {
        match self.0 {
            Source::System => Timestamp::now(),
            Source::Runtime { epoch, start } => {
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
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Waits for a while.
#[expect(clippy::disallowed_methods, reason = "this is the module that sleeps")]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits until a moment; without one, for ever.
pub(crate) async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits for a future, but not longer than `limit`; `None` when it took longer.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}
