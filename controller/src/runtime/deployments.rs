//! One look at one Deployment: observe, plan, apply.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::lane::{Lane, Looked};
use super::worker::Controller;
use super::{Key, Resource, Writes};
use crate::deployment::{ApplyError, Plan, Tools, apply, observe};
use crate::{Observed, Planner};

/// What the Deployment controller has for itself.
pub(super) struct Deployments {
    pub(super) lane: Lane,
    pub(super) planner: Planner,
    writes: Mutex<Writes>,
}

impl Deployments {
    pub(super) fn new(lane: Lane, planner: Planner) -> Self {
        Self { lane, planner, writes: Mutex::default() }
    }

    /// Looks at one Deployment after the other, until the queue is closed.
    pub(super) async fn work(&self, controller: &Controller) {
        while let Some(key) = self.lane.queue.next().await {
            let looked = self.look(controller, &key).await;
            self.lane.finish(&key, looked);
        }
    }

    async fn look(&self, controller: &Controller, key: &Key) -> Looked<ApplyError> {
        let observed = {
            let cache = controller.cache();
            self.writes().check(key, |resource| cache.version(resource)).map(|()| observe(&cache, key))
        };
        let observed = match observed {
            Ok(Some(observed)) => observed,
            Ok(None) => {
                self.writes().forget(key, None);
                return Looked::Done(None);
            }
            Err(stale) => {
                controller.metrics.skipped_stale(stale.resource.api_group(), stale.resource.plural());
                let resource = stale.resource.plural();
                return Looked::Conflict(ApplyError::Stale { resource, read: stale.read, wrote: stale.wrote });
            }
        };
        let plan = (self.planner)(&observed, controller.settings.clock.now(), &controller.settings);
        match self.apply(controller, &observed, &plan).await {
            Ok(()) => Looked::Done(plan.requeue),
            // Whatever is tried there fails until the namespace is gone.
            Err(ApplyError::NamespaceTerminating) => Looked::Done(None),
            Err(error @ (ApplyError::OutOfDate { .. } | ApplyError::Collision { .. })) => Looked::Conflict(error),
            Err(error) => Looked::Failed(error),
        }
    }

    async fn apply(&self, controller: &Controller, observed: &Observed, plan: &Plan) -> Result<(), ApplyError> {
        if plan.is_idle() {
            return Ok(());
        }
        let cached = |namespace: &str, name: &str| controller.cache().replica_set(&Key::new(namespace, name));
        let meta = &observed.deployment.meta;
        let key = Key::new(&meta.namespace, &meta.name);
        let wrote = |resource: Resource, object: &Value| {
            let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
            self.writes().wrote(&key, &meta.uid, resource, version);
        };
        let Lane { api, recorder, .. } = &self.lane;
        let tools = Tools { api, recorder, settings: &controller.settings, cached: &cached, wrote: &wrote };
        apply(tools, observed, plan).await
    }

    fn writes(&self) -> MutexGuard<'_, Writes> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
