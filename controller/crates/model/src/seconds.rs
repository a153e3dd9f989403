//! Times with the resolution of the API.

use jiff::Timestamp;

/// The time truncated to the second.
pub fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
