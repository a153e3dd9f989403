//! Settling after an operation, and the requests that are intercepted meanwhile; at the end of a
//! case, waiting for the Events of its Deployments, which arrive with a delay.

use std::time::Duration;

use lockstep_case::model::{Bindings, Step};
use lockstep_recording::{Blame, Trouble};
use lockstep_support::clock::{self, Instant};

use crate::Session;
use crate::armed_injection::{ArmedInjection, decides_late, next_intercepted};
use crate::case_run::{Abort, CaseRun};
use crate::observe::Probe;
use crate::observe::probe::{ANSWER, Reach};
use crate::observe::settle::{SettleContext, SettleOutcome, SubjectActivity, settle};
use crate::observe::virtual_settle;
use crate::request_log::RequestLog;
use crate::start::{explain_idleness, until_at_work};

/// How long to wait for events in virtual time.
const EVENTS: Duration = Duration::from_secs(30);

impl CaseRun<'_> {
    /// Settle. Intercepted requests are handled meanwhile, and settling starts over after each.
    pub(super) async fn settle_step(&mut self) -> Result<SettleOutcome, Abort> {
        let activity = if self.session.is_stopped() { SubjectActivity::Stopped } else { SubjectActivity::Full };
        loop {
            let mut injection = self.injection.take();
            let settled = self.with_context(activity, async |context, run| {
                tokio::select! {
                    biased;
                    intercepted = next_intercepted(injection.as_mut()) => Err(intercepted),
                    outcome = run.settle_once_at_work(&context) => Ok(outcome),
                }
            });
            let settled = settled.await;
            self.injection = injection;
            match settled {
                Ok(mut outcome) => {
                    outcome.unsettled = outcome.unsettled.map(|trouble| self.excuse_injection(trouble));
                    return Ok(outcome);
                }
                Err(intercepted) => self.on_intercepted(intercepted).await?,
            }
        }
    }

    /// The trouble, which the subject is not blamed for if the injection keeps it from what a real
    /// server would serve: lists of a held kind, so that it cannot see the probe either, and
    /// watches in the place of an old list.
    fn excuse_injection(&self, trouble: Trouble) -> Trouble {
        let why = match &self.injection {
            _ if trouble.ended => return trouble,
            Some(ArmedInjection::Held { watch, resource, .. }) if watch.has_held_list() => decides_late(resource),
            Some(ArmedInjection::Held { watch, resource, .. }) if watch.has_held_request() => {
                format!("the subject lists or watches {resource} again, which waits as well: {}", trouble.why)
            }
            Some(ArmedInjection::Watch { armed, .. }) if armed.has_refused_watch() => {
                format!("the subject never lists, so it cannot be given an old list: {}", trouble.why)
            }
            _ => return trouble,
        };
        Trouble { blame: Blame::Environment, why, ..trouble }
    }

    /// Settle. The budget counts from the time the subject starts to work, even if that happens in
    /// the middle.
    async fn settle_once_at_work(&self, context: &SettleContext<'_>) -> SettleOutcome {
        if context.subject == SubjectActivity::Stopped {
            return self.settle_within_budget(context).await;
        }
        loop {
            let since = match self.session.wait_until_at_work(self.probe.as_deref()).await {
                Ok(since) => since,
                Err(trouble) => return SettleOutcome { unsettled: Some(trouble), rounds: 0 },
            };
            let outcome = self.settle_within_budget(context).await;
            let is_blamed = outcome.unsettled.as_ref().is_some_and(|it| it.blame == Blame::Subject && !it.ended);
            if !is_blamed || self.session.working_since() == since {
                return outcome;
            }
        }
    }

    async fn settle_within_budget(&self, context: &SettleContext<'_>) -> SettleOutcome {
        let cache = &self.session.environment.cache;
        match &self.probe {
            Some(probe) => settle(cache, probe, context, &self.driver_writes).await,
            None => virtual_settle::settle(cache, context, &self.driver_writes).await,
        }
    }

    /// Wait until the subject has done what it can with a stale view.
    pub(super) async fn settle_on_stale_view(&mut self, step: &Step) -> Result<(), Abort> {
        let outcome =
            self.with_context(SubjectActivity::Stale, async |context, run| run.settle_once_at_work(&context).await);
        match outcome.await.unsettled {
            Some(trouble) => {
                let Trouble { blame, why, .. } = self.excuse_injection(trouble);
                self.abort(blame, format!("line {}, with a kind held: {why}", step.line))
            }
            None => Ok(()),
        }
    }

    /// Run something with the context of settling.
    pub(super) async fn with_context<T>(
        &self,
        subject: SubjectActivity,
        work: impl AsyncFnOnce(SettleContext<'_>, &Self) -> T,
    ) -> T {
        let session = self.session;
        let withheld = || if subject == SubjectActivity::Stale { 0 } else { session.withheld_events(&self.namespace) };
        let context = SettleContext {
            namespace: &self.namespace,
            terminations: self.case.terminations,
            unbound: self.case.bindings == Bindings::Held,
            under_test: session.environment.under_test(),
            subject,
            exited: &|| session.broken(),
            writes: &|| self.request_log.writes(),
            answers: &|| self.request_log.answers(),
            writes_beside: &|| self.log_beside.as_ref().map_or(0, RequestLog::writes),
            in_flight: &|| self.request_log.in_flight() + self.log_beside.as_ref().map_or(0, RequestLog::in_flight),
            withheld: &withheld,
            acts_later: &|| {
                subject == SubjectActivity::Full
                    && (self.request_log.has_pending_retry() || session.has_pending_reconnect(&self.namespace))
            },
            silence: self.silence,
            // A retry whose delay doubles may break the first silence, 20 s after the beginning.
            budget: self.patience + 2 * self.silence,
        };
        work(context, self).await
    }

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

impl Session {
    /// Wait until the subject works. Returns since when; `None` where only its objects can show it,
    /// or if it ended.
    ///
    /// # Errors
    /// The subject will not act.
    async fn wait_until_at_work(&self, probe: Option<&Probe>) -> Result<Option<Instant>, Trouble> {
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
    fn working_since(&self) -> Option<Instant> {
        self.interceptor.log().since_start().working_since()
    }

    /// How many events of a namespace the interceptor withholds from the subject.
    fn withheld_events(&self, namespace: &str) -> u64 {
        self.interceptor.control().held_count(namespace)
    }

    /// Whether the subject has not yet opened a watch again that the interceptor has ended.
    fn has_pending_reconnect(&self, namespace: &str) -> bool {
        self.interceptor.control().may_reopen_watch(namespace)
    }
}
