//! The harness's clock: the only module that reads the time or sleeps.
//!
//! Pure code takes the time as an argument. All other code gets it from here, so that one search
//! finds everything that depends on time.

use std::cell::Cell;
use std::time::Duration;

pub use tokio::time::Instant;

thread_local! {
    /// Set while time on this thread is simulated: the simulated time of day at the beginning, and
    /// the runtime's instant at that moment.
    static SIMULATED: Cell<Option<(jiff::Timestamp, Instant)>> = const { Cell::new(None) };
}

/// While this value exists, the time of day on this thread follows the async runtime's paused
/// clock.
#[derive(Debug)]
pub struct SimulatedTime(());

/// Sets the time of day on this thread to `epoch`; it advances with the runtime's clock. Call it
/// within a runtime whose clock is paused.
pub fn simulate(epoch: jiff::Timestamp) -> SimulatedTime {
    SIMULATED.set(Some((epoch, instant())));
    SimulatedTime(())
}

/// Whether time is simulated on this thread.
pub fn is_simulated() -> bool {
    SIMULATED.get().is_some()
}

impl Drop for SimulatedTime {
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

/// Waits without blocking the thread.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// A future that waits for this long.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn sleep(duration: Duration) -> tokio::time::Sleep {
    tokio::time::sleep(duration)
}

/// Waits and blocks the thread: for use outside of async code only.
pub fn pause_blocking(duration: Duration) {
    std::thread::sleep(duration);
}
