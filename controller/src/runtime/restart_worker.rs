//! Decides about restarts, and carries out what is decided.
//!
//! Unlike the other controllers' this one decides about all workloads in one place, for its changes
//! are gathered over time and its profiles differ in how. What it decides is carried out side by
//! side: in the safe profile workload by workload, in the others, as their controllers do, one
//! after the other within a namespace. The agent gives a namespace no more work than its share, so
//! one whose writes take long delays no other.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::{JoinSet, yield_now};

use super::restarts::{Phase, Restarts, lock};
use crate::clock;
use crate::restart::{ApplyError, Tools, Work, apply, changed, notice};
use crate::settings::Profile;

/// Namespaces and workloads that are written at the same time; of one namespace the agent allows
/// fewer.
const WRITES: usize = 128;

impl Restarts {
    /// Decides and carries out until the end, or until an error that xing's profile ends over.
    pub(super) async fn work(self: Arc<Self>) {
        let mut phase = self.phase.subscribe();
        let begun = phase.wait_for(|phase| *phase != Phase::Looks).await.is_ok_and(|phase| *phase == Phase::Acts);
        let mut writes = JoinSet::new();
        let mut goes_on = begun;
        while goes_on && lock(&self.fatal).is_none() {
            let said = std::mem::take(&mut *lock(&self.said));
            let works = self.agent().take(self.moment(), self.clock.now());
            self.report_changes();
            self.carry_out(said, works, &mut writes).await;
            let next = self.agent().next();
            if next.is_some_and(|next| next <= self.moment()) {
                // There is more to decide. Watches and writes go on in between.
                yield_now().await;
            }
            tokio::select! {
                () = self.news.notified() => {}
                () = clock::sleep_until(next.map(|next| self.began + next)) => {}
                Some(_) = writes.join_next() => {}
                ended = phase.wait_for(|phase| *phase == Phase::Ends) => goes_on = ended.is_err(),
            }
        }
        if !begun || lock(&self.fatal).is_some() {
            return;
        }
        while writes.join_next().await.is_some() {}
        let works = self.agent().flush(self.moment(), self.clock.now());
        self.carry_out(Vec::new(), works, &mut writes).await;
        while writes.join_next().await.is_some() {}
    }

    /// Reports changes to the webhook in place of restarts.
    fn report_changes(&self) {
        for config in self.agent().take_reported() {
            tracing::info!(%config, "Changed; reported to the webhook, and nothing is restarted.");
            if let Some(outbox) = self.outbox.as_ref().filter(|_| !self.settings.dry_run) {
                outbox.put(changed());
            }
        }
    }

    /// Starts to carry out what is to be said and what is to be done.
    async fn carry_out(self: &Arc<Self>, said: Vec<Work>, works: Vec<Work>, writes: &mut JoinSet<()>) {
        let alone = |works: Vec<Work>| works.into_iter().map(|work| vec![work]).collect::<Vec<_>>();
        let mut batches = alone(said);
        batches.extend(match self.settings.profile {
            Profile::Safe => alone(works),
            Profile::Xing | Profile::Reloader => by_namespace(works),
        });
        for batch in batches {
            while writes.len() >= WRITES {
                writes.join_next().await;
            }
            let this = self.clone();
            writes.spawn(async move { this.one_after_the_other(batch).await });
        }
    }

    /// Carries out works of one namespace, up to the first that fails.
    async fn one_after_the_other(&self, works: Vec<Work>) {
        for work in &works {
            let Some(error) = self.one(work).await else { continue };
            if self.settings.profile == Profile::Xing {
                *lock(&self.fatal) = Some(error.to_string());
            }
            break;
        }
        if let Some(work) = works.first().filter(|work| work.action.is_of_lane()) {
            self.agent().carried_out(&work.observed.workload.name.namespace);
        }
        self.news.notify_one();
    }

    /// Carries out one piece of work; an error is one that is not to be ignored.
    async fn one(&self, work: &Work) -> Option<ApplyError> {
        let tell = |kind, about: &_, event: &_| self.recorders[&kind].record(about, event);
        let tools = Tools { api: &self.api, tell: &tell, settings: &self.settings, now: self.clock.now() };
        let (outcome, error) = apply(tools, work).await;
        self.counts.count(work, outcome.as_ref(), &self.settings);
        if let Some(outbox) = &self.outbox
            && let Some(notice) = notice(work, outcome.as_ref(), &self.settings, self.clock.now())
        {
            outbox.put(notice);
        }
        if let Some(outcome) = outcome {
            self.agent().finished(&work.observed, outcome, self.moment());
            self.news.notify_one();
        }
        error
    }
}

/// Works by namespace, in their order.
fn by_namespace(works: Vec<Work>) -> Vec<Vec<Work>> {
    let mut batches = BTreeMap::<String, Vec<Work>>::new();
    for work in works {
        batches.entry(work.observed.workload.name.namespace.clone()).or_default().push(work);
    }
    batches.into_values().collect()
}
