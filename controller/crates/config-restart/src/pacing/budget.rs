//! Limits how often one workload is restarted: a number of restarts within any period of a given
//! length.
//!
//! Without it, a Secret that flaps would create a thousand ReplicaSets. A restart that exceeds the
//! budget waits. It is not lost, because the data still differs from what the pods have. The times
//! are stored on the workload; otherwise a restarted controller would forget them.
//!
//! Case: `config-restart/safe/s24-budget`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::settings::Budget;

impl Budget {
    /// The restarts within the period that ends now, plus one at `now`.
    pub fn with_restart_at(&self, before: &[Timestamp], now: Timestamp) -> Vec<Timestamp> {
        let mut times = self.recent(before, now);
        times.push(now);
        times
    }

    /// How long the next restart has to wait; `None`: it need not.
    pub fn wait(&self, before: &[Timestamp], now: Timestamp) -> Option<Duration> {
        let times = self.recent(before, now);
        let max = usize::try_from(self.restarts).unwrap_or(usize::MAX);
        if max == 0 || times.len() < max {
            return None;
        }
        let free = times[times.len() - max].saturating_add(self.length()).ok()?;
        Duration::try_from(free.duration_since(now)).ok().filter(|wait| !wait.is_zero())
    }

    fn recent(&self, before: &[Timestamp], now: Timestamp) -> Vec<Timestamp> {
        if self.restarts == 0 {
            return Vec::new();
        }
        // A future time is a clock error. If it counted, it would block the workload forever.
        let is_recent = |time: &&Timestamp| **time <= now && now.duration_since(**time) < self.length();
        before.iter().filter(is_recent).copied().collect()
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
    fn a_restart_beyond_the_budget_waits_until_the_oldest_one_expires() {
        let budget = Budget { restarts: 2, period: Duration::from_secs(60) };
        assert_eq!(budget.wait(&[at(0)], at(10)), None);
        assert_eq!(budget.wait(&[at(0), at(10)], at(20)), Some(Duration::from_secs(40)));
        assert_eq!(budget.wait(&[at(0), at(10)], at(60)), None);
        assert_eq!(budget.with_restart_at(&[at(0), at(10)], at(60)), [at(10), at(60)]);
        assert_eq!(budget.wait(&[at(999), at(999)], at(60)), None, "times to come do not count");
        assert_eq!(Budget { restarts: 0, ..budget }.wait(&[at(0); 9], at(1)), None);
    }
}
