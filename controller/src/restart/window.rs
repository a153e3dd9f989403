//! When what has changed is acted upon.
//!
//! xing's window is fixed: it opens with the first change and is as long as the grace period, and
//! what is due is done at the next tick of the check period (section 1.7). A config that changes
//! every second therefore restarts every six (defect X10). The other one slides: each change opens
//! it anew, up to a hard maximum after the first.
//!
//! Cases: `config-restart/s22-safe-every-two-seconds`, `config-restart/s23-grace-1s@safe`,
//! `config-restart/longest-wait`.

use std::time::Duration;

use crate::settings::Window;

/// A moment, as the time since the controller began.
pub type Moment = Duration;

impl Window {
    /// The tick at which a change that was first seen then is processed.
    pub fn fixed(&self, first: Moment) -> Moment {
        self.tick(first.saturating_add(self.grace_period))
    }

    /// The moment at which changes are acted upon, of which the first and the last were seen then.
    pub fn sliding(&self, first: Moment, last: Moment) -> Moment {
        let slid = last.saturating_add(self.grace_period);
        let longest = self.longest.max(self.grace_period);
        self.tick(slid.min(first.saturating_add(longest)))
    }

    /// The first tick that is not before a moment. No timer runs in between: an idle controller is
    /// idle.
    fn tick(&self, due: Moment) -> Moment {
        let period = self.check_period.as_nanos().max(1);
        let ticks = due.as_nanos().div_ceil(period).max(1);
        u64::try_from(ticks * period).map_or(Duration::MAX, Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(milliseconds: u64) -> Moment {
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
    fn a_fixed_window(#[case] grace: u64, #[case] check: u64, #[case] first: u64, #[case] due: u64) {
        let window = Window { check_period: at(check), grace_period: at(grace), ..Window::default() };
        assert_eq!(window.fixed(at(first)), at(due));
    }

    /// Scenario 22: every second a change.
    #[test]
    fn a_sliding_window_ends() {
        let window = Window { longest: at(20_000), ..Window::default() };
        assert_eq!(window.sliding(at(0), at(3000)), at(8000));
        assert_eq!(window.sliding(at(0), at(19_000)), at(20_000));
        let short = Window { longest: at(0), ..Window::default() };
        assert_eq!(short.sliding(at(0), at(0)), at(5000), "never shorter than the grace period");
    }
}
