//! A subject's way from its start to its work.
//!
//! The budget of a step counts from the moment at which the subject is at work, as a slow start is
//! no wrong decision: a program may take long to load, and a leader that was killed waits until its
//! own lease has expired. A subject that makes no request at all in
//! [`PATIENCE`] is non-conformant: the cluster answers, the program runs, and nothing that was asked of it will ever be done. One
//! that still waits for its lease is not, as the harness killed the run that has it.

use std::time::Duration;

use super::{Environment, Session};
use crate::clock::Instant;
use crate::controllers::Controller;
use crate::intercept::{InterceptorLog, SinceStart};
use crate::observe::Probe;
use crate::observe::probe::Reach;
use crate::recording::{Blame, Trouble};

/// How long a subject may take from its start to its work, unless a step may take longer: four
/// times as long as leases usually last.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether its process has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How long the test environment may take to answer once the patience is over.
const ANSWER: Duration = Duration::from_secs(5);

/// Wait until a subject is at work, for as long as is granted to it or until it is `over`; whether
/// it is.
pub(super) async fn until_at_work(log: &InterceptorLog, budget: Duration, over: impl Fn() -> bool) -> bool {
    let patience = PATIENCE.max(budget);
    loop {
        // Before the look, so that nothing is missed in between.
        let mut progress = log.listen();
        let since = log.since_start();
        if since.at_work_since().is_some() {
            return true;
        }
        let left = patience.saturating_sub(since.elapsed());
        if left.is_zero() || over() {
            return false;
        }
        tokio::time::timeout(left.min(LOOK), progress.changed()).await.ok();
    }
}

/// Why nothing can be expected of a subject that is not at work, where its requests tell.
pub(super) fn idle(since: &SinceStart) -> Option<Trouble> {
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

/// Why a subject that runs has not served the probe, and what follows from that.
pub(super) fn unserved(environment: &Environment, log: &InterceptorLog, probe: &Probe, budget: Duration) -> String {
    let since = log.since_start();
    let why = match idle(&since) {
        Some(trouble) => trouble.why,
        None if Controller::UPSTREAM.into_iter().any(|one| environment.under_test().has(one)) => {
            format!("{} (after {budget:?})", probe.discrepancy().why)
        }
        None => format!("none of its {} requests looks for objects in all namespaces", since.requests()),
    };
    format!("{why}; until the subject serves the probe, no step settles and no case is conformant")
}

impl Session {
    /// Wait until the subject is at work. Since when it is; `None` where only its objects can tell,
    /// or how it ended.
    ///
    /// # Errors
    /// It cannot be expected to do anything.
    pub(super) async fn comes_to_work(&self, probe: Option<&Probe>) -> Result<Option<Instant>, Trouble> {
        let log = self.interceptor.log();
        if self.bypass_interceptor || until_at_work(log, self.budget, || self.broken().is_some()).await {
            return Ok(log.since_start().at_work_since());
        }
        let Some(trouble) = idle(&log.since_start()).filter(|_| self.broken().is_none()) else { return Ok(None) };
        match probe {
            Some(probe) if probe.reach_of_environment(ANSWER).await == Reach::Nowhere => {
                Err(Trouble::new(Blame::Environment, probe.dead_environment()))
            }
            _ => Err(trouble),
        }
    }

    /// Since when the subject is at work, if it is.
    pub(super) fn at_work_since(&self) -> Option<Instant> {
        self.interceptor.log().since_start().at_work_since()
    }
}
