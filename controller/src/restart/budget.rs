//! How often one workload may be restarted: so many times within any period of a length.
//!
//! A Secret that flaps is not to make a thousand ReplicaSets. What goes beyond the budget waits; it
//! is not lost, for the data still differs from what the pods have. The times are kept on the
//! workload, or a controller that is itself restarted would forget them.
//!
//! Case: `config-restart/s24-safe-budget`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::settings::Budget;

impl Budget {
    /// The restarts that still count, one at `now` included.
    pub fn spent(&self, before: &[Timestamp], now: Timestamp) -> Vec<Timestamp> {
        let mut times = self.counting(before, now);
        times.push(now);
        times
    }

    /// How long the next one has to wait; `None`: not at all.
    pub fn wait(&self, before: &[Timestamp], now: Timestamp) -> Option<Duration> {
        let times = self.counting(before, now);
        let most = usize::try_from(self.restarts).unwrap_or(usize::MAX);
        if most == 0 || times.len() < most {
            return None;
        }
        let free = times[times.len() - most].saturating_add(self.length()).ok()?;
        Duration::try_from(free.duration_since(now)).ok().filter(|wait| !wait.is_zero())
    }

    fn counting(&self, before: &[Timestamp], now: Timestamp) -> Vec<Timestamp> {
        if self.restarts == 0 {
            return Vec::new();
        }
        // A time that is still to come is a clock's error; were it to count, it would stop the
        // workload for ever.
        let counts = |time: &&Timestamp| **time <= now && now.duration_since(**time) < self.length();
        before.iter().filter(counts).copied().collect()
    }

    fn length(&self) -> SignedDuration {
        SignedDuration::try_from(self.period).unwrap_or(SignedDuration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Scenario 24.
    #[test]
    fn what_goes_beyond_waits_until_the_oldest_counts_no_more() {
        let budget = Budget { restarts: 2, period: Duration::from_secs(60) };
        assert_eq!(budget.wait(&[at(0)], at(10)), None);
        assert_eq!(budget.wait(&[at(0), at(10)], at(20)), Some(Duration::from_secs(40)));
        assert_eq!(budget.wait(&[at(0), at(10)], at(60)), None);
        assert_eq!(budget.spent(&[at(0), at(10)], at(60)), [at(10), at(60)]);
        assert_eq!(budget.wait(&[at(999), at(999)], at(60)), None, "times to come do not count");
        assert_eq!(Budget { restarts: 0, ..budget }.wait(&[at(0); 9], at(1)), None);
    }
}
