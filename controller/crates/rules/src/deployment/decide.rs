//! syncDeployment: applies the rules to one Deployment in upstream's order.
//!
//! Upstream: `syncDeployment`.
//!
//! Cases: `pause/in-mid-rollout`, `deadline/exceeded`.

use jiff::Timestamp;
use rollout_model::names;

use super::plan::{DeploymentPlan, EventKind, FailurePolicy, ObservedDeployment, PlanError};
use super::sync::{DeploymentSync, SyncEnd, SyncStep};
use crate::RuleSettings;

/// Decides what one sync does about a Deployment.
///
/// The same three arguments always give the same plan. `now` is the time of new conditions, and
/// the progress deadline is measured against it.
pub fn plan(observed: &ObservedDeployment, now: Timestamp, settings: &RuleSettings) -> DeploymentPlan {
    let mut sync = DeploymentSync::new(observed, now, settings);
    let end = sync.run();
    let mut plan = sync.into_plan();
    if let Err(SyncEnd::Failed(error)) = end {
        plan.failure = Some(error);
    }
    plan
}

impl DeploymentSync<'_> {
    fn run(&mut self) -> SyncStep<()> {
        if self.selects_all_pods() {
            return self.reject_empty_selector();
        }
        let owned = self.claim_replica_sets()?;
        if self.deployment.meta.is_deleting() {
            let sets = self.find_replica_sets(&owned, false)?;
            return self.update_counts(&sets);
        }
        self.update_paused_condition()?;
        if self.deployment.spec.paused {
            return self.scale_and_update_status(&owned);
        }
        if let Some(revision) = self.rollback_request() {
            return self.roll_back(&owned, revision);
        }
        if self.is_scaling_event(&owned)? {
            return self.scale_and_update_status(&owned);
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

    fn selects_all_pods(&self) -> bool {
        self.deployment.spec.selector.as_ref().is_some_and(|selector| selector.is_empty())
    }

    /// API validation refuses such a Deployment, but a cluster older than that validation may have
    /// one (upstream: TestDontSyncDeploymentsWithEmptyPodSelector).
    fn reject_empty_selector(&mut self) -> SyncStep<()> {
        let message = "This deployment is selecting all pods. A non-empty selector is required.";
        self.event(EventKind::Warning, names::event::SELECTING_ALL, message.to_owned());
        let generation = self.deployment.meta.generation;
        if self.deployment.status.observed_generation < generation {
            self.deployment.status.observed_generation = generation;
            self.on_error = FailurePolicy::Ignore;
            self.write_status(self.deployment.status.clone())?;
        }
        Ok(())
    }
}
