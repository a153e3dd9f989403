//! The decision about one Deployment: the rules, in upstream's order.
//!
//! Upstream: `syncDeployment`.
//!
//! Cases: `pause/in-mid-rollout`, `deadline/exceeded`.

use jiff::Timestamp;

use super::PlanError;
use super::plan::{EventKind, Observed, OnError, Plan};
use super::sync::{End, Flow, Sync};
use crate::model::names;
use crate::settings::Settings;

/// Decides what one sync does about a Deployment.
///
/// Pure: the same three arguments give the same plan. `now` dates new conditions and measures the
/// progress deadline.
pub fn plan(observed: &Observed, now: Timestamp, settings: &Settings) -> Plan {
    let mut sync = Sync::new(observed, now, settings);
    let end = sync.run();
    let mut plan = sync.into_plan();
    if let Err(End::Failed(error)) = end {
        plan.failure = Some(error);
    }
    plan
}

impl Sync<'_> {
    fn run(&mut self) -> Flow<()> {
        if self.selects_all() {
            return self.refuse_to_select_all();
        }
        let owned = self.claim()?;
        if self.deployment.meta.is_deleting() {
            let sets = self.find_sets(&owned, false)?;
            return self.write_counts(&sets);
        }
        self.note_pause()?;
        if self.deployment.spec.paused {
            return self.scale_and_report(&owned);
        }
        if let Some(revision) = self.rollback_request() {
            return self.roll_back(&owned, revision);
        }
        if self.is_scaling_event(&owned)? {
            return self.scale_and_report(&owned);
        }
        let strategy = &self.deployment.spec.strategy;
        if strategy.is_recreate() {
            self.roll_out_recreate(&owned)
        } else if strategy.is_rolling() {
            self.roll_out_rolling(&owned)
        } else {
            Err(PlanError::Strategy(strategy.kind.clone()).into())
        }
    }

    fn selects_all(&self) -> bool {
        self.deployment.spec.selector.as_ref().is_some_and(|selector| selector.is_empty())
    }

    /// API validation lets no such Deployment in; a cluster older than the rule may hold one
    /// (upstream: TestDontSyncDeploymentsWithEmptyPodSelector).
    fn refuse_to_select_all(&mut self) -> Flow<()> {
        let message = "This deployment is selecting all pods. A non-empty selector is required.";
        self.event(EventKind::Warning, names::event::SELECTING_ALL, message.to_owned());
        let generation = self.deployment.meta.generation;
        if self.deployment.status.observed_generation < generation {
            self.deployment.status.observed_generation = generation;
            self.on_error = OnError::Ignore;
            self.write_status(self.deployment.status.clone())?;
        }
        Ok(())
    }
}
