//! The end of a case: the Deployments' events, which come when they like.

use std::time::Duration;

use super::play::Play;
use crate::clock;

/// How long to wait for events in virtual time.
const EVENTS: Duration = Duration::from_secs(30);

impl Play<'_> {
    /// Wait until the Deployments' events are all there: one of the probe's own, later than them,
    /// is. A subject that claims to publish some and publishes none while the test environment
    /// answers, or that ended after the last settling, is in trouble.
    pub(super) async fn events(&mut self, number: u32) -> bool {
        let session = self.session;
        if !session.environment.claims().events {
            return session.exited().is_none();
        }
        let Some(probe) = &self.probe else {
            // Whatever is to be published has been after as long a time.
            clock::pause(EVENTS).await;
            return session.exited().is_none();
        };
        let missing = probe.await_event(number, session.budget, &|| session.exited().is_some()).await;
        let Err(trouble) = missing else { return true };
        self.record(session.exited().unwrap_or(trouble));
        false
    }
}
