//! One look at one Deployment: observe, plan, apply.

use super::Key;
use super::lane::{Lane, Looked};
use super::worker::Controller;
use crate::deployment::{ApplyError, Plan, Tools, apply, observe};
use crate::{Observed, Planner};

/// What the Deployment controller has for itself.
pub(super) struct Deployments {
    pub(super) lane: Lane,
    pub(super) planner: Planner,
}

impl Deployments {
    /// Looks at one Deployment after the other, until the queue is closed.
    pub(super) async fn work(&self, controller: &Controller) {
        while let Some(key) = self.lane.queue.next().await {
            let looked = self.look(controller, &key).await;
            self.lane.finish(&key, looked);
        }
    }

    async fn look(&self, controller: &Controller, key: &Key) -> Looked<ApplyError> {
        let observed = observe(&controller.cache(), key);
        let Some(observed) = observed else { return Looked::Done(None) };
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
        let Lane { api, recorder, .. } = &self.lane;
        apply(Tools { api, recorder, settings: &controller.settings, cached: &cached }, observed, plan).await
    }
}
