//! The Deployment controller: what wakes it, and one look at one Deployment.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::controller::{Due, Need};
use super::lane::{Lane, Looked};
use super::queue::Retries;
use super::queued::Keyed;
use crate::api::{Cache, Changed, Key, Resource, Source, Writes};
use crate::clock;
use crate::deployment::{
    DeploymentContext, DeploymentPlan, DeploymentSyncError, ObservedDeployment, Planner, apply, observe, triggers,
};
use crate::settings::{ControllerName, Settings};

/// So long a look is put off until the watches have caught up. Where one stays behind for longer,
/// upstream has gone on by then.
const PUT_OFF: Duration = Duration::from_millis(300);

/// What the Deployment controller has for itself.
pub(super) struct Deployments {
    planner: Planner,
    writes: Mutex<Writes>,
}

impl Deployments {
    pub(super) fn new(planner: Planner) -> Self {
        Self { planner, writes: Mutex::default() }
    }

    async fn apply(
        &self,
        lane: &Lane,
        observed: &ObservedDeployment,
        plan: &DeploymentPlan,
    ) -> Result<(), DeploymentSyncError> {
        if plan.is_idle() {
            return Ok(());
        }
        let cached = |namespace: &str, name: &str| lane.shared.cache().replica_set(&Key::new(namespace, name));
        let meta = &observed.deployment.meta;
        let key = Key::new(&meta.namespace, &meta.name);
        let record_write = |resource: Resource, version: &str| self.writes().wrote(&key, &meta.uid, resource, version);
        let Lane { api, recorder, shared, .. } = lane;
        let context = DeploymentContext {
            api,
            recorder,
            settings: &shared.settings,
            cached: &cached,
            record_write: &record_write,
        };
        apply(context, observed, plan).await
    }

    fn writes(&self) -> MutexGuard<'_, Writes> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keyed for Deployments {
    const NAME: ControllerName = ControllerName::Deployment;
    const SOURCE: Source = Source { component: "deployment-controller", kind: "Deployment", is_beside_others: false };
    const RETRIES: Retries = Retries::DEPLOYMENT;
    const NEEDS: &'static [Need] = &[Need::Deployments, Need::ReplicaSets, Need::Pods];
    type Error = DeploymentSyncError;

    fn workers(settings: &Settings) -> usize {
        settings.concurrent_deployment_syncs
    }

    fn keys(cache: &Cache) -> Vec<Key> {
        cache.deployment_keys()
    }

    fn changed(&self, cache: &Cache, change: &Changed) -> Vec<Due> {
        triggers::affected_deployments(cache, change).into_iter().map(|key| Due { key, after: None }).collect()
    }

    async fn look(&self, lane: &Lane, key: &Key) -> Looked<DeploymentSyncError> {
        let observed = {
            let cache = lane.shared.cache();
            let checked = self.writes().check(key, clock::instant(), Some(PUT_OFF), |resource| cache.version(resource));
            checked.map(|()| observe(&cache, key))
        };
        let observed = match observed {
            Ok(Some(observed)) => observed,
            Ok(None) => {
                self.writes().forget(key, None);
                return Looked::Done(None);
            }
            Err(stale) => {
                lane.shared.metrics.skipped_stale(stale.resource.api_group(), stale.resource.plural());
                let resource = stale.resource.plural();
                return Looked::Conflict(DeploymentSyncError::Stale {
                    resource,
                    observed_version: stale.read,
                    written_version: stale.wrote,
                });
            }
        };
        let settings = &lane.shared.settings;
        let plan = (self.planner)(&observed, settings.clock.now(), settings);
        match self.apply(lane, &observed, &plan).await {
            Ok(()) => Looked::Done(plan.requeue),
            // Whatever is tried there fails until the namespace is gone.
            Err(DeploymentSyncError::NamespaceTerminating) => Looked::Done(None),
            Err(error @ (DeploymentSyncError::OutOfDate { .. } | DeploymentSyncError::Collision { .. })) => {
                Looked::Conflict(error)
            }
            Err(error) => Looked::Failed(error),
        }
    }
}
