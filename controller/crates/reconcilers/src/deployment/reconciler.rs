//! The Deployment controller: which changes queue a Deployment, and how one is reconciled.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use controller_client::api::{Cache, CacheDelta, EventSource, NamespacedName, Resource};
use controller_client::clock;
use controller_client::runtime::{
    CachedKind, ControllerContext, Reconcile, ReconcileOutcome, ReconcileRequest, RetryPolicy,
};
use tokio::time::Instant;

use super::apply::{DeploymentContext, apply, apply_claims};
use super::error::DeploymentSyncError;
use super::observe::observe;
use super::triggers;
use crate::decisions::rollouts::deployment::{DeploymentPlan, ObservedDeployment, Planner};
use crate::decisions::rollouts::{ConsistencyStore, RuleSettings, WaitLimit};
use crate::sync_error::SyncError;

/// How long a sync waits for the watches to catch up. If one stays behind for longer, upstream has
/// gone on by then.
const PUT_OFF: Duration = Duration::from_millis(300);

/// The state of the Deployment controller.
pub struct DeploymentReconciler {
    planner: Planner,
    settings: RuleSettings,
    workers: usize,
    start: Instant,
    writes: Mutex<ConsistencyStore<NamespacedName, Resource>>,
}

impl DeploymentReconciler {
    /// With the planner that decides, and this many Deployments of a namespace at the same time.
    pub fn new(planner: Planner, settings: RuleSettings, workers: usize) -> Self {
        Self { planner, settings, workers, start: clock::instant(), writes: Mutex::default() }
    }

    /// Plans and applies; returns when to sync again even if nothing changes.
    async fn plan_and_apply(
        &self,
        context: &ControllerContext,
        mut observed: ObservedDeployment,
    ) -> Result<Option<Duration>, DeploymentSyncError> {
        let mut plan = self.plan(context, &observed);
        if plan.is_idle() {
            return Ok(plan.requeue);
        }
        let cached =
            |namespace: &str, name: &str| context.shared.cache().replica_set(&NamespacedName::new(namespace, name));
        let deployment = observed.deployment.clone();
        let meta = &deployment.meta;
        let key = NamespacedName::new(&meta.namespace, &meta.name);
        let record_write =
            |resource: Resource, version: &str| self.writes().record_write(&key, &meta.uid, resource, version);
        let ControllerContext { api, recorder, shared, .. } = context;
        let sync = DeploymentContext {
            api,
            recorder,
            clock: shared.settings.clock,
            settings: &self.settings,
            cached: &cached,
            record_write: &record_write,
        };
        let lost = apply_claims(sync, meta, &plan.claims).await?;
        if !lost.is_empty() {
            observed.replica_sets.retain(|rs| !lost.contains(&rs.meta.name));
            plan = self.plan(context, &observed);
        }
        apply(sync, &observed, &plan).await?;
        Ok(plan.requeue)
    }

    fn plan(&self, context: &ControllerContext, observed: &ObservedDeployment) -> DeploymentPlan {
        (self.planner)(observed, context.shared.settings.clock.now(), &self.settings)
    }

    fn writes(&self) -> MutexGuard<'_, ConsistencyStore<NamespacedName, Resource>> {
        // No code panics while it holds the lock, so the state is consistent.
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reconcile for DeploymentReconciler {
    const NAME: &'static str = "deployment";
    const SOURCE: EventSource =
        EventSource { component: "deployment-controller", kind: "Deployment", shares_objects: false };
    const RETRY_POLICY: RetryPolicy = RetryPolicy::DEPLOYMENT;
    const CACHED_KINDS: &'static [CachedKind] = &[CachedKind::Deployments, CachedKind::ReplicaSets, CachedKind::Pods];
    type Error = DeploymentSyncError;

    fn workers(&self) -> usize {
        self.workers
    }

    fn keys(cache: &Cache) -> Vec<NamespacedName> {
        cache.deployment_keys()
    }

    fn on_change(&self, cache: &Cache, delta: &CacheDelta) -> Vec<ReconcileRequest> {
        triggers::affected_deployments(cache, delta)
            .into_iter()
            .map(|key| ReconcileRequest { key, after: None })
            .collect()
    }

    async fn reconcile(
        &self,
        context: &ControllerContext,
        key: &NamespacedName,
    ) -> ReconcileOutcome<DeploymentSyncError> {
        let observed = {
            let cache = context.shared.cache();
            let limit = WaitLimit { now: clock::instant().saturating_duration_since(self.start), longest: PUT_OFF };
            let checked = self.writes().check(key, Some(limit), |resource| cache.version(resource));
            checked.map(|()| observe(&cache, key))
        };
        let observed = match observed {
            Ok(Some(observed)) => observed,
            Ok(None) => {
                self.writes().forget(key, None);
                return ReconcileOutcome::Done(None);
            }
            Err(stale) => return ReconcileOutcome::Conflict(SyncError::from(stale).into()),
        };
        match self.plan_and_apply(context, observed).await {
            Ok(requeue) => ReconcileOutcome::Done(requeue),
            // Every write fails until the namespace is gone.
            Err(DeploymentSyncError::NamespaceTerminating) => ReconcileOutcome::Done(None),
            Err(error @ DeploymentSyncError::Collision { .. }) => ReconcileOutcome::Conflict(error),
            Err(DeploymentSyncError::Sync(error)) if error.is_outdated() => ReconcileOutcome::Conflict(error.into()),
            Err(error) => ReconcileOutcome::Failed(error),
        }
    }
}
