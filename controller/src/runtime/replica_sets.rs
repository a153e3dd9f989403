//! One look at one ReplicaSet: are the caches new enough, is nothing expected any more; then observe, plan, apply.

use super::lane::{Lane, Looked};
use super::triggers::Wake;
use super::worker::Controller;
use super::{Key, Resource};
use crate::clock;
use crate::replicaset::{ApplyError, Memory, Tools, apply, observe, plan};

/// What the ReplicaSet controller has for itself.
pub(super) struct ReplicaSets {
    pub(super) lane: Lane,
    pub(super) memory: Memory,
}

impl ReplicaSets {
    /// Takes note of what a watch has shown, also before there is leave to act: what is expected is known by then, too.
    pub(super) fn note(&self, wake: &Wake) {
        match wake {
            Wake::Changed(_) | Wake::After(..) => {}
            Wake::PodCame(key) => self.memory.expectations().creation_observed(key),
            Wake::PodWent(key, pod) => self.memory.expectations().deletion_observed(key, pod),
            Wake::Gone(key, uid) => {
                self.memory.writes().forget(key, Some(uid));
                self.memory.expectations().forget(key, Some(uid));
            }
        }
    }

    /// Puts whom a watch has woken into the queue.
    pub(super) fn wake(&self, wake: Wake) {
        match wake {
            Wake::Changed(key) | Wake::PodCame(key) | Wake::PodWent(key, _) | Wake::Gone(key, _) => {
                self.lane.queue.add(key);
            }
            Wake::After(key, wait) => self.lane.queue.add_after(key, wait),
        }
    }

    /// Looks at one ReplicaSet after the other, until the queue is closed.
    pub(super) async fn work(&self, controller: &Controller) {
        while let Some(key) = self.lane.queue.next().await {
            let looked = match self.look(controller, &key).await {
                Ok(looked) => looked,
                Err(error @ (ApplyError::Stale { .. } | ApplyError::OutOfDate { .. })) => Looked::Conflict(error),
                Err(error) => Looked::Failed(error),
            };
            self.lane.finish(&key, looked);
        }
    }

    async fn look(&self, controller: &Controller, key: &Key) -> Result<Looked<ApplyError>, ApplyError> {
        self.check_caches(controller, key)?;
        // Asked before the caches are: what comes in between shows in the caches and was still expected, never the other way round.
        let outstanding = self.memory.expectations().outstanding(key, clock::instant()).map(ToOwned::to_owned);
        let observed = observe(&controller.cache(), key, outstanding.as_deref());
        let Some(observed) = observed else {
            self.memory.writes().forget(key, None);
            self.memory.expectations().forget(key, None);
            return Ok(Looked::Done(None));
        };
        let settings = &controller.settings;
        let plan = match plan(&observed, settings.clock.now(), settings) {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(replica_set = %key, %error, "A ReplicaSet cannot be looked after.");
                return Ok(Looked::Done(None));
            }
        };
        let Lane { api, recorder, .. } = &self.lane;
        let tools = Tools { api, recorder, memory: &self.memory, settings };
        Ok(Looked::Done(apply(tools, observed, plan).await?))
    }

    fn check_caches(&self, controller: &Controller, key: &Key) -> Result<(), ApplyError> {
        let checked = {
            let cache = controller.cache();
            self.memory.writes().check(key, |resource| cache.version(resource))
        };
        checked.map_err(|stale| {
            controller.metrics.skipped_stale(stale.resource.api_group(), stale.resource.plural());
            let resource: Resource = stale.resource;
            ApplyError::Stale { resource: resource.plural(), read: stale.read, wrote: stale.wrote }
        })
    }
}
