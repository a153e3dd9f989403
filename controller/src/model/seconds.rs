//! Times as the API stores them.

use jiff::Timestamp;

/// The time without its fraction of a second.
pub(crate) fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
