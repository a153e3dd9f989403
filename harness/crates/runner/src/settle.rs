//! Settling after an operation, and the requests that are intercepted meanwhile.

use lockstep_case::model::{Bindings, Step};
use lockstep_recording::Blame;

use super::case_run::{Abort, CaseRun};
use super::{Session, injection};
use crate::observe::settle::{SettleContext, SettleOutcome, SubjectActivity, settle};
use crate::observe::virtual_settle;

impl CaseRun<'_> {
    /// Settle. Intercepted requests are handled meanwhile, and settling starts over after each.
    pub(super) async fn settle_step(&mut self) -> Result<SettleOutcome, Abort> {
        let activity = if self.session.is_stopped() { SubjectActivity::Stopped } else { SubjectActivity::Full };
        loop {
            let mut injection = self.injection.take();
            let settled = self.with_context(activity, async |context, run| {
                tokio::select! {
                    biased;
                    intercepted = injection::next_intercepted(injection.as_mut()) => Err(intercepted),
                    outcome = run.settle_once_at_work(&context) => Ok(outcome),
                }
            });
            let settled = settled.await;
            self.injection = injection;
            match settled {
                Ok(outcome) => return Ok(outcome),
                Err(intercepted) => self.on_intercepted(intercepted).await?,
            }
        }
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
                self.abort(trouble.blame, format!("line {}, with a kind held: {}", step.line, trouble.why))
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
            in_flight: &|| self.request_log.in_flight(),
            withheld: &withheld,
            acts_later: &|| {
                subject == SubjectActivity::Full
                    && (self.request_log.has_pending_retry() || session.has_pending_reconnect(&self.namespace))
            },
            budget: self.patience,
        };
        work(context, self).await
    }
}

impl Session {
    /// How many events of a namespace the interceptor withholds from the subject.
    fn withheld_events(&self, namespace: &str) -> u64 {
        self.interceptor.control().held_count(namespace)
    }

    /// Whether the subject has not yet opened a watch again that the interceptor has ended.
    fn has_pending_reconnect(&self, namespace: &str) -> bool {
        self.interceptor.control().may_reopen_watch(namespace)
    }
}
