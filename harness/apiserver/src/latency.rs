//! How long things take: requests on their way, and what a watch has to tell.
//!
//! In calm weather every way takes the same millisecond, and watches are told at once. Else a seed draws each of them, so that requests overtake
//! each other and one watch is behind another, as on a real network; the events of one watch stay in order. All of it is far below
//! the half second of silence that settling waits for.

use std::time::Duration;

use super::chance::Chance;

/// How long a request takes to the server, and an answer back, in calm weather.
const WAY: Duration = Duration::from_millis(1);
/// How long it takes at most otherwise, in microseconds.
const LONGEST_WAY: u64 = 20_000;
/// How far a watch is behind at most, in microseconds.
const LONGEST_LAG: u64 = 60_000;

/// What draws the delays.
#[derive(Debug)]
pub(super) struct Weather {
    chance: Option<Chance>,
}

impl Weather {
    /// Seed 0 is calm.
    pub(super) fn new(seed: u64) -> Self {
        // A stream of its own: delays do not move names and uids.
        Self { chance: (seed != 0).then(|| Chance::new(seed ^ 0x5deb_5deb_5deb_5deb)) }
    }

    /// One way of a request.
    pub(super) fn way(&mut self) -> Duration {
        self.draw(LONGEST_WAY).map_or(WAY, |drawn| WAY + drawn)
    }

    /// How long a watch takes to tell of what is new; `None`: at once.
    pub(super) fn lag(&mut self) -> Option<Duration> {
        self.draw(LONGEST_LAG)
    }

    /// Mostly short, now and then long: the square of an even chance.
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
    fn calm_is_even_and_a_seed_repeats_itself() {
        let mut calm = Weather::new(0);
        assert_eq!((calm.way(), calm.way(), calm.lag()), (WAY, WAY, None));
        let draws = |seed| {
            let mut weather = Weather::new(seed);
            (0..50).map(|_| (weather.way(), weather.lag())).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
        assert!(
            draws(7).iter().all(|(way, lag)| way.as_millis() <= 21 && lag.is_some_and(|lag| lag.as_millis() <= 60))
        );
    }
}
