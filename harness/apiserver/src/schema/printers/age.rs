//! Formats ages in two or three figures, as kubectl shows them.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The age of a time. Upstream: `translateTimestampSince`.
pub(crate) fn since(time: &Value, now: Timestamp) -> String {
    match parsed(time) {
        None => "<unknown>".to_owned(),
        Some(time) => human(now.duration_since(time)),
    }
}

/// Parses a time of metadata or a status.
pub(crate) fn parsed(time: &Value) -> Option<Timestamp> {
    time.as_str()?.parse().ok()
}

/// Upstream: `duration.HumanDuration`.
pub(crate) fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |large: i64, unit: &str, small: i64, rest: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{rest}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        _ if days < 365 * 2 => format!("{days}d"),
        _ if days < 365 * 8 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}
