//! The end of a case: the Events of its Deployments, which arrive with a delay.

use std::time::Duration;

use lockstep_support::clock;

use super::case_run::CaseRun;

/// How long to wait for events in virtual time.
const EVENTS: Duration = Duration::from_secs(30);

impl CaseRun<'_> {
    /// Wait until all Events of the Deployments have arrived, which is proved by a later Event of
    /// the probe's own. Records a trouble for a subject that claims to publish Events and publishes
    /// none while the test environment answers, or that ended after the last settling.
    pub(super) async fn await_events(&mut self, number: u32) -> bool {
        let session = self.session;
        if !session.environment.claims().events {
            return session.exited().is_none();
        }
        let Some(probe) = &self.probe else {
            // Every Event that will be published has been published by then.
            clock::pause(EVENTS).await;
            return session.exited().is_none();
        };
        let missing = probe.await_event(number, session.budget, &|| session.exited().is_some()).await;
        let Err(trouble) = missing else { return true };
        self.push_trouble(session.exited().unwrap_or(trouble));
        false
    }
}
