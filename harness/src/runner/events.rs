//! The end of a case: the Deployments' events, which come when they like.

use std::time::Duration;

use super::play::Play;
use crate::clock;
use crate::recording::{Blame, Trouble};

/// How long to wait for events in virtual time.
const EVENTS: Duration = Duration::from_secs(30);

impl Play<'_> {
    /// Wait until the Deployments' events are all there: one of the canary's own, later than them, is. A subject that publishes
    /// none while the lab answers, or that ended after the last settling, is told so.
    pub(super) async fn events(&mut self, number: u32) -> bool {
        let seat = self.seat;
        let Some(canary) = &seat.canary else {
            // Whatever is to be published has been after as long a time.
            clock::pause(EVENTS).await;
            return seat.exited().is_none();
        };
        let missing = canary.await_event(number, seat.budget, &|| seat.exited().is_some()).await;
        let Err(Trouble { blame, why }) = missing else { return true };
        match seat.exited() {
            Some(ended) => self.trouble(Blame::Subject, ended),
            None => self.trouble(blame, why),
        }
        false
    }
}
