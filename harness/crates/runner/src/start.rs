//! Waits from the start of a subject until it works.
//!
//! The budget of a step counts from then on, as a slow start is not a wrong decision: a program may
//! take long to load, and the successor of a killed leader waits until its lease has expired. A
//! subject that makes no request within [`PATIENCE`] is non-conformant: the cluster answers and the
//! program runs, but it will never act. A subject that still waits for its lease is not, as the
//! harness killed the run that holds it.

use std::time::Duration;

use lockstep_intercept::{InterceptorLog, SinceStart};
use lockstep_recording::controllers::Controller;
use lockstep_recording::{Blame, Trouble};
use lockstep_support::clock::Instant;

use super::{Environment, Session};
use crate::observe::Probe;
use crate::observe::probe::Reach;

/// How long a subject may take from its start until it works, unless a step may take longer: four
/// times the usual duration of a lease.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often to check whether its process has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How long the test environment may take to answer after that.
const ANSWER: Duration = Duration::from_secs(5);

/// Wait until the subject works, until its time is up, or until it is `over`; returns whether it
/// works.
pub(super) async fn until_at_work(log: &InterceptorLog, budget: Duration, over: impl Fn() -> bool) -> bool {
    let patience = PATIENCE.max(budget);
    loop {
        // Listen first, so that no progress is missed.
        let mut progress = log.listen();
        let since = log.since_start();
        if since.working_since().is_some() {
            return true;
        }
        let left = patience.saturating_sub(since.elapsed());
        if left.is_zero() || over() {
            return false;
        }
        tokio::time::timeout(left.min(LOOK), progress.changed()).await.ok();
    }
}

/// Why a subject that does not work yet will not act, as far as its requests show.
pub(super) fn explain_idleness(since: &SinceStart) -> Option<Trouble> {
    let started = if since.is_restart() { "was started again" } else { "was started" };
    let seconds = since.elapsed().as_secs();
    if let Some(lease) = since.awaited_lease() {
        let why = format!(
            "the subject has not got its lease {lease} in the {seconds} s since it {started}, and does nothing without it; \
             turn its leader election off, or let the lease expire sooner"
        );
        return Some(Trouble::new(Blame::Environment, why));
    }
    (since.requests() == 0).then(|| {
        Trouble::new(Blame::Subject, format!("the subject made no request in the {seconds} s since it {started}"))
    })
}

/// Why a running subject has not served the probe, and what follows from that.
pub(super) fn describe_unserved_probe(
    environment: &Environment,
    log: &InterceptorLog,
    probe: &Probe,
    budget: Duration,
) -> String {
    let since = log.since_start();
    let why = match explain_idleness(&since) {
        Some(trouble) => trouble.why,
        None if Controller::UPSTREAM.into_iter().any(|one| environment.under_test().has(one)) => {
            format!("{} (after {budget:?})", probe.discrepancy().why)
        }
        None => format!("none of its {} requests looks for objects in all namespaces", since.requests()),
    };
    format!("{why}; until the subject serves the probe, no step settles and no case is conformant")
}

impl Session {
    /// Wait until the subject works. Returns since when; `None` where only its objects can show it,
    /// or if it ended.
    ///
    /// # Errors
    /// The subject will not act.
    pub(super) async fn wait_until_at_work(&self, probe: Option<&Probe>) -> Result<Option<Instant>, Trouble> {
        let log = self.interceptor.log();
        if self.bypass_interceptor || until_at_work(log, self.budget, || self.broken().is_some()).await {
            return Ok(log.since_start().working_since());
        }
        let Some(trouble) = explain_idleness(&log.since_start()).filter(|_| self.broken().is_none()) else {
            return Ok(None);
        };
        match probe {
            Some(probe) if probe.reach_of_environment(ANSWER).await == Reach::Nowhere => {
                Err(Trouble::new(Blame::Environment, probe.dead_environment()))
            }
            _ => Err(trouble),
        }
    }

    /// Since when the subject works, if it does.
    pub(super) fn working_since(&self) -> Option<Instant> {
        self.interceptor.log().since_start().working_since()
    }
}
