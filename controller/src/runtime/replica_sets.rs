//! The ReplicaSet controller: what wakes it, and one look at one ReplicaSet: are the caches new
//! enough, is nothing expected any more; then observe, plan, apply.

use super::controller::{Due, Need};
use super::lane::{Lane, Looked};
use super::queue::Retries;
use super::queued::Keyed;
use crate::api::{Cache, Changed, Key, Resource, Source};
use crate::clock;
use crate::replicaset::triggers::{self, Wake};
use crate::replicaset::{ApplyError, Memory, Tools, apply, observe, observe_counts, plan};
use crate::settings::{ControllerName, Settings};

/// What the ReplicaSet controller has for itself.
#[derive(Default)]
pub(super) struct ReplicaSets {
    memory: Memory,
}

impl ReplicaSets {
    async fn try_look(&self, lane: &Lane, key: &Key) -> Result<Looked<ApplyError>, ApplyError> {
        self.check_caches(lane, key)?;
        // Asked before the caches are: what comes in between shows in the caches and was still
        // expected, never the other way round.
        let outstanding = self.memory.expectations().outstanding(key, clock::instant()).map(ToOwned::to_owned);
        let Lane { api, recorder, shared, .. } = lane;
        let settings = &shared.settings;
        let tools = Tools { api, recorder, memory: &self.memory, settings };
        // Counts are mostly enough, and do not take the longer the more pods there are.
        let counts = observe_counts(&shared.cache(), key, outstanding.as_deref());
        if let Some(counts) = counts
            && let Ok(plan) = plan(&counts, settings.clock.now(), settings)
            && !plan.names_pods()
        {
            return Ok(Looked::Done(apply(tools, counts, plan).await?));
        }
        let observed = observe(&shared.cache(), key, outstanding.as_deref());
        let Some(observed) = observed else {
            self.memory.writes().forget(key, None);
            self.memory.expectations().forget(key, None);
            return Ok(Looked::Done(None));
        };
        let plan = match plan(&observed, settings.clock.now(), settings) {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(replica_set = %key, %error, "A ReplicaSet cannot be looked after.");
                return Ok(Looked::Done(None));
            }
        };
        Ok(Looked::Done(apply(tools, observed, plan).await?))
    }

    fn check_caches(&self, lane: &Lane, key: &Key) -> Result<(), ApplyError> {
        let checked = {
            let cache = lane.shared.cache();
            self.memory.writes().check(key, clock::instant(), None, |resource| cache.version(resource))
        };
        checked.map_err(|stale| {
            lane.shared.metrics.skipped_stale(stale.resource.api_group(), stale.resource.plural());
            let resource: Resource = stale.resource;
            ApplyError::Stale { resource: resource.plural(), read: stale.read, wrote: stale.wrote }
        })
    }
}

impl Keyed for ReplicaSets {
    const NAME: ControllerName = ControllerName::ReplicaSet;
    const SOURCE: Source = Source { component: "replicaset-controller", kind: "ReplicaSet", is_beside_others: false };
    const RETRIES: Retries = Retries::REPLICA_SET;
    const NEEDS: &'static [Need] = &[Need::ReplicaSets, Need::PodsWithTraits];
    type Error = ApplyError;

    fn workers(settings: &Settings) -> usize {
        settings.concurrent_replicaset_syncs
    }

    fn keys(cache: &Cache) -> Vec<Key> {
        cache.replica_set_keys()
    }

    fn changed(&self, cache: &Cache, change: &Changed) -> Vec<Due> {
        let woken = triggers::woken(cache, change);
        woken.iter().for_each(|wake| self.memory.note(wake));
        woken.into_iter().map(due).collect()
    }

    async fn look(&self, lane: &Lane, key: &Key) -> Looked<ApplyError> {
        match self.try_look(lane, key).await {
            Ok(looked) => looked,
            Err(error @ (ApplyError::Stale { .. } | ApplyError::OutOfDate { .. })) => Looked::Conflict(error),
            Err(error) => Looked::Failed(error),
        }
    }
}

fn due(wake: Wake) -> Due {
    match wake {
        Wake::Changed(key) | Wake::PodCame(key) | Wake::PodWent(key, _) | Wake::Gone(key, _) => {
            Due { key, after: None }
        }
        Wake::After(key, wait) => Due { key, after: Some(wait) },
    }
}
