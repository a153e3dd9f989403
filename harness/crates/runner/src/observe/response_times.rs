//! Measures how fast a subject answers on the probe, and from that how long a silence to wait for
//! before the next flip.
//!
//! A flip of the probe proves something only if the namespace was silent meanwhile. Right after a
//! change it is not: the subject is about to act, the flip is wasted, and the subject has spent a
//! write on it, of which a client may have only a few a second. So a silence comes first, whose
//! length fits the subject. It proves nothing by itself and ends no wait: flips do.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How many flips are remembered.
const REMEMBERED: usize = 9;
/// The longest silence to wait for: beyond it, a wasted flip is cheaper.
const LONGEST: Duration = Duration::from_millis(250);

/// The durations of the latest flips.
#[derive(Debug, Default)]
pub(super) struct ResponseTimes(Mutex<VecDeque<Duration>>);

impl ResponseTimes {
    /// Record a flip that has travelled through the subject.
    pub(super) fn record(&self, time: Duration) {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.push_back(time);
        if latest.len() > REMEMBERED {
            latest.pop_front();
        }
    }

    /// The silence to wait for: half the median duration of a flip, as about half of its way is the
    /// subject's. Zero for a subject without measurements.
    pub(super) fn silence(&self) -> Duration {
        let latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<_> = latest.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map_or(Duration::ZERO, |usual| (*usual / 2).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_adapts_to_the_speed_of_the_subject() {
        let (pace, ms) = (ResponseTimes::default(), Duration::from_millis);
        assert_eq!(pace.silence(), Duration::ZERO);
        for time in [20, 24, 900, 22] {
            pace.record(ms(time));
        }
        assert_eq!(pace.silence(), ms(12), "one that is slow once is not slow");
        for _ in 0..REMEMBERED {
            pace.record(ms(300));
        }
        assert_eq!(pace.silence(), ms(150));
        for _ in 0..REMEMBERED {
            pace.record(ms(3_000));
        }
        assert_eq!(pace.silence(), LONGEST);
    }
}
