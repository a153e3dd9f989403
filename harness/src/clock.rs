//! The harness's clock: the only place that reads the time or sleeps.
//!
//! Everything pure takes the time as an argument; everything that talks to a server takes it from
//! here, so that one search finds all that depends on it.

use std::cell::Cell;
use std::time::Duration;

pub use tokio::time::Instant;

thread_local! {
    /// Where a simulation runs on this thread: the time of day at its beginning, and when on the
    /// runtime's clock that was.
    static SIMULATED: Cell<Option<(jiff::Timestamp, Instant)>> = const { Cell::new(None) };
}

/// For as long as it lives, this thread's time of day follows the async runtime's clock, which is
/// paused.
#[derive(Debug)]
pub struct Simulated(());

/// It is `epoch` now, on this thread, and time goes on as the runtime's does. To be called within a
/// runtime whose clock is paused.
pub fn simulate(epoch: jiff::Timestamp) -> Simulated {
    SIMULATED.set(Some((epoch, instant())));
    Simulated(())
}

/// Whether time is simulated on this thread.
pub fn is_simulated() -> bool {
    SIMULATED.get().is_some()
}

impl Drop for Simulated {
    fn drop(&mut self) {
        SIMULATED.set(None);
    }
}

/// The time of day: the machine's, or a simulation's.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now() -> jiff::Timestamp {
    match SIMULATED.get() {
        Some((epoch, start)) => {
            let passed = instant().saturating_duration_since(start);
            epoch.checked_add(passed).unwrap_or(epoch)
        }
        None => jiff::Timestamp::now(),
    }
}

/// The wall-clock time as Kubernetes writes it: RFC 3339, UTC, whole seconds.
pub fn rfc3339() -> String {
    to_rfc3339(now())
}

/// A time as Kubernetes writes it: RFC 3339, UTC, whole seconds.
pub fn to_rfc3339(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The wall-clock time as Kubernetes writes it where seconds are too coarse: RFC 3339, UTC,
/// microseconds.
pub fn rfc3339_micros() -> String {
    now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A monotonic point in time, for measuring how long something took.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn instant() -> Instant {
    Instant::now()
}

/// Milliseconds since a point in time.
pub fn millis_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Wait without holding a thread.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// A wait of this length, to be polled.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn sleep(duration: Duration) -> tokio::time::Sleep {
    tokio::time::sleep(duration)
}

/// Wait and hold the thread: outside of async code only.
pub fn pause_blocking(duration: Duration) {
    std::thread::sleep(duration);
}
