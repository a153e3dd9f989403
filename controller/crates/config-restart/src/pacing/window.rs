//! When the controller acts on a change.
//!
//! xing's window is fixed: it opens with the first change, lasts for the grace period, and ends at
//! the next tick of the check period (section 1.7). So a config that changes every second restarts
//! its workloads every six seconds (defect X10). The safe profile's window slides: each change
//! restarts it, up to a maximum after the first change.
//!
//! Cases: `config-restart/safe/s22-every-two-seconds`,
//! `config-restart/safe-and-xing/s23-grace-1s@safe`, `config-restart/safe/longest-wait`.

use std::time::Duration;

use crate::settings::Window;

/// A time, as the duration since the controller started.
pub type Uptime = Duration;

impl Window {
    /// The tick at which a change that was first seen at `first` is processed.
    pub fn fixed_end(&self, first: Uptime) -> Uptime {
        self.next_tick(first.saturating_add(self.grace_period))
    }

    /// When changes are acted on, the first and last of which were seen at these times.
    pub fn sliding_end(&self, first: Uptime, last: Uptime) -> Uptime {
        let slid = last.saturating_add(self.grace_period);
        let longest = self.longest.max(self.grace_period);
        self.next_tick(slid.min(first.saturating_add(longest)))
    }

    /// The first tick at or after a time. Ticks are computed, not timed, so an idle controller does
    /// not wake up.
    fn next_tick(&self, due: Uptime) -> Uptime {
        let period = self.check_period.as_nanos().max(1);
        let ticks = due.as_nanos().div_ceil(period).max(1);
        u64::try_from(ticks * period).map_or(Duration::MAX, Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(milliseconds: u64) -> Uptime {
        Duration::from_millis(milliseconds)
    }

    /// Scenarios 9, 20 and 23: grace and check period in milliseconds.
    #[rstest]
    #[case(5000, 500, 1000, 6000)]
    #[case(5000, 500, 1001, 6500)]
    #[case(0, 500, 1000, 1000)]
    #[case(0, 500, 1001, 1500)]
    #[case(1000, 100, 130, 1200)]
    #[case(30_000, 500, 0, 30_000)]
    #[case(0, 500, 0, 500)]
    fn fixed_window_ends_at_a_tick_after_the_grace_period(
        #[case] grace: u64,
        #[case] check: u64,
        #[case] first: u64,
        #[case] due: u64,
    ) {
        let window = Window { check_period: at(check), grace_period: at(grace), ..Window::default() };
        assert_eq!(window.fixed_end(at(first)), at(due));
    }

    /// Scenario 22: a change every second.
    #[test]
    fn sliding_window_ends_after_the_longest_wait() {
        let window = Window { longest: at(20_000), ..Window::default() };
        assert_eq!(window.sliding_end(at(0), at(3000)), at(8000));
        assert_eq!(window.sliding_end(at(0), at(19_000)), at(20_000));
        let short = Window { longest: at(0), ..Window::default() };
        assert_eq!(short.sliding_end(at(0), at(0)), at(5000), "never shorter than the grace period");
    }
}
