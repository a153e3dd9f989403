//! What probes ask: is this process well, and is it ready?
//!
//! Well: it would be no better for being started anew. Only a leader that can neither renew nor end is not; one whose API server
//! is away is. Ready: its caches are filled. One that stands by is ready, too: it could take over at once, and a roll-out of
//! this controller itself must not wait for a second leader.

use std::fmt::Write;
use std::sync::Arc;

use super::elector::Seat;
use crate::clock;
use crate::runtime::Controller;

/// Answers probes; clones are the same.
#[derive(Clone)]
pub(super) struct Health {
    controller: Arc<Controller>,
    seat: Option<Seat>,
}

/// One thing that was looked at, and what is wrong with it.
type Check = (&'static str, Result<(), String>);

impl Health {
    pub(super) fn new(controller: Arc<Controller>, seat: Option<Seat>) -> Self {
        Self { controller, seat }
    }

    /// Whether it is well, and the words for it.
    pub(super) fn live(&self) -> (bool, String) {
        summary("livez", &[self.leader_election()])
    }

    /// Whether it is ready, and the words for it.
    pub(super) fn ready(&self) -> (bool, String) {
        let lists = self.controller.is_synced().then_some(()).ok_or("the first lists are not complete yet".to_owned());
        summary("readyz", &[self.leader_election(), ("caches-synced", lists)])
    }

    fn leader_election(&self) -> Check {
        ("leader-election", self.seat.as_ref().map_or(Ok(()), |seat| seat.check(clock::instant())))
    }
}

/// As Kubernetes' own components say it.
fn summary(probe: &str, checks: &[Check]) -> (bool, String) {
    if checks.iter().all(|(_, result)| result.is_ok()) {
        return (true, "ok".to_owned());
    }
    let mut text = String::new();
    for (name, result) in checks {
        let _ = match result {
            Ok(()) => writeln!(text, "[+]{name} ok"),
            Err(why) => writeln!(text, "[-]{name} failed: {why}"),
        };
    }
    let _ = writeln!(text, "{probe} check failed");
    (false, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(summary("livez", &[("a", Ok(()))]), (true, "ok".to_owned()));
        let (fine, text) = summary("readyz", &[("a", Ok(())), ("b", Err("not yet".to_owned()))]);
        assert!(!fine);
        assert_eq!(text, "[+]a ok\n[-]b failed: not yet\nreadyz check failed\n");
    }
}
