//! The latency model: the delays of requests, responses and watch events.
//!
//! With fixed latency each request and each response takes one millisecond, and watches deliver at
//! once. With random latency each delay is drawn from a seed, so that requests overtake each other
//! and one watch lags another, as on a real network; the events of one watch stay in order.

use std::time::Duration;

use crate::SeededRng;

/// The fixed delay of a request or a response.
const TRIP: Duration = Duration::from_millis(1);
/// The maximum that random latency adds, in microseconds.
const LONGEST_TRIP: u64 = 20_000;
/// The maximum lag of a watch, in microseconds.
const LONGEST_LAG: u64 = 60_000;

/// The delays of requests and watch events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Latency {
    /// Each request and each response takes one millisecond; watches deliver at once.
    #[default]
    Fixed,
    /// Each request and each response takes 1 to 21 ms, and each delivery of a watch up to 60 ms,
    /// drawn from the server's seed: mostly short, sometimes long. This finds races that depend on
    /// the order in which watches and responses arrive.
    Random,
}

/// Draws the delays.
#[derive(Debug)]
pub(crate) struct LatencyModel {
    rng: Option<SeededRng>,
}

impl LatencyModel {
    pub(crate) fn new(latency: Latency, seed: u64) -> Self {
        let random = latency == Latency::Random;
        // A separate stream: delays do not affect names and UIDs.
        Self { rng: random.then(|| SeededRng::new(seed ^ 0x5deb_5deb_5deb_5deb)) }
    }

    /// Draws the delay of a request or a response.
    pub(crate) fn trip(&mut self) -> Duration {
        self.draw(LONGEST_TRIP).map_or(TRIP, |drawn| TRIP + drawn)
    }

    /// Draws the lag of a delivery of a watch; `None` if there is none.
    pub(crate) fn lag(&mut self) -> Option<Duration> {
        self.draw(LONGEST_LAG)
    }

    /// Draws from the square of a uniform distribution.
    fn draw(&mut self, longest: u64) -> Option<Duration> {
        let chance = self.rng.as_mut()?;
        let part = chance.below(1000);
        Some(Duration::from_micros(longest * part * part / 1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_latency_is_constant_and_random_latency_repeats_with_the_seed() {
        let mut fixed = LatencyModel::new(Latency::Fixed, 7);
        assert_eq!((fixed.trip(), fixed.trip(), fixed.lag()), (TRIP, TRIP, None));
        let draws = |seed| {
            let mut random = LatencyModel::new(Latency::Random, seed);
            (0..50).map(|_| (random.trip(), random.lag())).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
        assert!(
            draws(7).iter().all(|(trip, lag)| trip.as_millis() <= 21 && lag.is_some_and(|lag| lag.as_millis() <= 60))
        );
    }
}
