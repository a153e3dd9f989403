//! The latency model: how long requests, answers and watch events take.
//!
//! With fixed latency each request and each answer takes one millisecond and watches deliver at
//! once. With random latency a seed draws each delay, so that requests overtake each other and one
//! watch lags another, as on a real network; the events of one watch stay in order.

use std::time::Duration;

use crate::chance::Chance;

/// How long a request takes to the server, and an answer back, with fixed latency.
const TRIP: Duration = Duration::from_millis(1);
/// What random latency adds to that at most, in microseconds.
const LONGEST_TRIP: u64 = 20_000;
/// How far a watch lags at most, in microseconds.
const LONGEST_LAG: u64 = 60_000;

/// How long requests and watch events take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Latency {
    /// A request takes one millisecond to the server and its answer another; watches deliver at
    /// once.
    #[default]
    Fixed,
    /// Each request and each answer takes 1 to 21 ms, and each delivery of a watch up to 60 ms,
    /// drawn from the server's seed: mostly short, now and then long. Finds races that depend on
    /// the order in which watches and answers arrive.
    Random,
}

/// Draws the delays.
#[derive(Debug)]
pub(super) struct LatencyModel {
    chance: Option<Chance>,
}

impl LatencyModel {
    pub(super) fn new(latency: Latency, seed: u64) -> Self {
        let random = latency == Latency::Random;
        // A stream of its own: delays do not change names and UIDs.
        Self { chance: random.then(|| Chance::new(seed ^ 0x5deb_5deb_5deb_5deb)) }
    }

    /// How long a request or an answer takes.
    pub(super) fn trip(&mut self) -> Duration {
        self.draw(LONGEST_TRIP).map_or(TRIP, |drawn| TRIP + drawn)
    }

    /// How long a watch takes to deliver what is new; `None`: at once.
    pub(super) fn lag(&mut self) -> Option<Duration> {
        self.draw(LONGEST_LAG)
    }

    /// The square of an even distribution.
    fn draw(&mut self, longest: u64) -> Option<Duration> {
        let chance = self.chance.as_mut()?;
        let part = chance.below(1000);
        Some(Duration::from_micros(longest * part * part / 1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_latency_is_even_and_a_seed_repeats_random_latency() {
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
