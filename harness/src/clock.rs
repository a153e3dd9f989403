//! The harness's clock: the only place that reads the time or sleeps.
//!
//! Everything pure takes the time as an argument; everything that talks to a server takes it from
//! here, so that one search finds all that depends on it.

use std::time::{Duration, Instant};

/// The wall-clock time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// The wall-clock time as Kubernetes writes it: RFC 3339, UTC, whole seconds.
pub fn rfc3339() -> String {
    to_rfc3339(now())
}

/// A time as Kubernetes writes it: RFC 3339, UTC, whole seconds.
pub fn to_rfc3339(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The wall-clock time as Kubernetes writes it where seconds are too coarse: RFC 3339, UTC, microseconds.
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

/// Wait and hold the thread: outside of async code only.
pub fn pause_blocking(duration: Duration) {
    std::thread::sleep(duration);
}
