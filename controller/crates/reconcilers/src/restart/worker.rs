//! Decides about restarts and carries the decisions out.
//!
//! Unlike the other controllers, this one decides about all workloads in one place, because changes
//! are gathered over time and the profiles differ in how. Decisions are carried out concurrently:
//! in profile safe workload by workload, in the others, as their controllers do, one after the
//! other within a namespace. The reconciler gives a namespace no more work than its share, so slow
//! writes in one namespace delay no other.

use std::collections::BTreeMap;
use std::panic;
use std::sync::Arc;

use controller_client::clock;
use tokio::task::{JoinSet, yield_now};

use super::apply::{RestartContext, RestartError, apply};
use super::controller::{ControllerPhase, RestartController, lock};
use crate::decisions::restarts::{Profile, WorkItem, change_payload, payload_for};

/// Concurrent batches of writes; the reconciler allows fewer for one namespace.
const WRITES: usize = 128;

impl RestartController {
    /// Decides and carries out until shutdown, or until an error that ends profile xing.
    pub(super) async fn work(self: Arc<Self>) {
        let mut phase = self.phase.subscribe();
        let started = phase
            .wait_for(|phase| *phase != ControllerPhase::Watching)
            .await
            .is_ok_and(|phase| *phase == ControllerPhase::Active);
        let mut writes = JoinSet::new();
        let mut is_running = started;
        while is_running && lock(&self.fatal).is_none() {
            let change_work = std::mem::take(&mut *lock(&self.change_work));
            let works = self.reconciler().take_due(self.elapsed(), self.clock.now());
            self.report_changes();
            self.carry_out(change_work, works, &mut writes).await;
            let next = self.reconciler().next_due();
            if next.is_some_and(|next| next <= self.elapsed()) {
                // There is more to decide. Watches and writes continue in between.
                yield_now().await;
            }
            tokio::select! {
                () = self.wakeup.notified() => {}
                () = clock::sleep_until(next.map(|next| self.start + next)) => {}
                Some(()) = join_next(&mut writes) => {}
                ended = phase.wait_for(|phase| *phase == ControllerPhase::Ending) => is_running = ended.is_err(),
            }
        }
        if !started || lock(&self.fatal).is_some() {
            return;
        }
        while join_next(&mut writes).await.is_some() {}
        let works = self.reconciler().flush(self.elapsed(), self.clock.now());
        self.carry_out(Vec::new(), works, &mut writes).await;
        while join_next(&mut writes).await.is_some() {}
    }

    /// Reports changes to the webhook instead of restarting workloads (`--webhook-url`).
    fn report_changes(&self) {
        for config in self.reconciler().take_webhook_changes() {
            tracing::info!(%config, "Changed; reported to the webhook, and nothing is restarted.");
            if let Some(webhook) = self.webhook.as_ref().filter(|_| !self.settings.dry_run) {
                webhook.put(change_payload());
            }
        }
    }

    /// Starts to carry out the work of changes and of decisions.
    async fn carry_out(self: &Arc<Self>, change_work: Vec<WorkItem>, works: Vec<WorkItem>, writes: &mut JoinSet<()>) {
        let singly = |works: Vec<WorkItem>| works.into_iter().map(|work| vec![work]).collect::<Vec<_>>();
        let mut batches = singly(change_work);
        batches.extend(match self.settings.profile {
            Profile::Safe => singly(works),
            Profile::Xing | Profile::Reloader => by_namespace(works),
        });
        for batch in batches {
            while writes.len() >= WRITES {
                join_next(writes).await;
            }
            let this = self.clone();
            writes.spawn(async move { this.carry_out_in_order(batch).await });
        }
    }

    /// Carries out the work of one namespace, up to the first failure.
    async fn carry_out_in_order(&self, works: Vec<WorkItem>) {
        for work in &works {
            let Some(error) = self.carry_out_one(work).await else { continue };
            if self.settings.profile == Profile::Xing {
                *lock(&self.fatal) = Some(error.to_string());
            }
            break;
        }
        if let Some(work) = works.first().filter(|work| work.action.is_write()) {
            self.reconciler().finish_namespace(&work.observed.workload.name.namespace);
        }
        self.wakeup.notify_one();
    }

    /// Carries out one piece of work; returns an error unless it is to be ignored.
    async fn carry_out_one(&self, work: &WorkItem) -> Option<RestartError> {
        let record_event = |kind, about: &_, event: &_| self.recorders[&kind].record(about, event);
        let context = RestartContext {
            api: &self.api,
            record_event: &record_event,
            settings: &self.settings,
            now: self.clock.now(),
        };
        let (outcome, error) = apply(context, work).await;
        self.counts.count(work, outcome.as_ref(), &self.settings);
        if let Some(webhook) = &self.webhook
            && let Some(payload) = payload_for(work, outcome.as_ref(), &self.settings, self.clock.now())
        {
            webhook.put(payload);
        }
        if let Some(outcome) = outcome {
            self.reconciler().on_write_finished(&work.observed, outcome, self.elapsed());
            self.wakeup.notify_one();
        }
        error
    }
}

/// Waits for the end of one write. If it panicked, so does the caller: the workload would otherwise
/// wait for ever for the outcome, and nothing would show it.
async fn join_next(writes: &mut JoinSet<()>) -> Option<()> {
    let ended = writes.join_next().await?;
    if let Some(panicked) = ended.err().and_then(|error| error.try_into_panic().ok()) {
        panic::resume_unwind(panicked);
    }
    Some(())
}

/// The work by namespace, in order.
fn by_namespace(works: Vec<WorkItem>) -> Vec<Vec<WorkItem>> {
    let mut batches = BTreeMap::<String, Vec<WorkItem>>::new();
    for work in works {
        batches.entry(work.observed.workload.name.namespace.clone()).or_default().push(work);
    }
    batches.into_values().collect()
}
