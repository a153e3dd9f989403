//! The ReplicaSet controller: what wakes it, and one look at one ReplicaSet: are the caches new
//! enough, is nothing expected any more; then observe, plan, apply.

use super::controller::{Due, Need};
use super::lane::{Lane, Looked};
use super::queue::Retries;
use super::queued::Keyed;
use crate::api::{Cache, Changed, Key, Resource, Source};
use crate::clock;
use crate::replicaset::triggers::{self, SyncReason};
use crate::replicaset::{
    ReplicaSetContext, ReplicaSetSyncError, ReplicaSetTracker, apply, observe, observe_counts, plan,
};
use crate::settings::{ControllerName, Settings};

/// What the ReplicaSet controller has for itself.
#[derive(Default)]
pub(super) struct ReplicaSets {
    tracker: ReplicaSetTracker,
}

impl ReplicaSets {
    async fn try_look(&self, lane: &Lane, key: &Key) -> Result<Looked<ReplicaSetSyncError>, ReplicaSetSyncError> {
        self.check_caches(lane, key)?;
        // Asked before the caches are: what comes in between shows in the caches and was still
        // expected, never the other way round.
        let outstanding = self.tracker.expectations().pending_uid(key, clock::instant()).map(ToOwned::to_owned);
        let Lane { api, recorder, shared, .. } = lane;
        let settings = &shared.settings;
        let context = ReplicaSetContext { api, recorder, tracker: &self.tracker, settings };
        // Counts are mostly enough, and do not take the longer the more pods there are.
        let counts = observe_counts(&shared.cache(), key, outstanding.as_deref());
        if let Some(counts) = counts
            && let Ok(plan) = plan(&counts, settings.clock.now(), settings)
            && !plan.has_named_pods()
        {
            return Ok(Looked::Done(apply(context, counts, plan).await?));
        }
        let observed = observe(&shared.cache(), key, outstanding.as_deref());
        let Some(observed) = observed else {
            self.tracker.writes().forget(key, None);
            self.tracker.expectations().forget(key, None);
            return Ok(Looked::Done(None));
        };
        let plan = match plan(&observed, settings.clock.now(), settings) {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(replica_set = %key, %error, "A ReplicaSet cannot be looked after.");
                return Ok(Looked::Done(None));
            }
        };
        Ok(Looked::Done(apply(context, observed, plan).await?))
    }

    fn check_caches(&self, lane: &Lane, key: &Key) -> Result<(), ReplicaSetSyncError> {
        let checked = {
            let cache = lane.shared.cache();
            self.tracker.writes().check(key, clock::instant(), None, |resource| cache.version(resource))
        };
        checked.map_err(|stale| {
            lane.shared.metrics.skipped_stale(stale.resource.api_group(), stale.resource.plural());
            let resource: Resource = stale.resource;
            ReplicaSetSyncError::Stale {
                resource: resource.plural(),
                observed_version: stale.read,
                written_version: stale.wrote,
            }
        })
    }
}

impl Keyed for ReplicaSets {
    const NAME: ControllerName = ControllerName::ReplicaSet;
    const SOURCE: Source = Source { component: "replicaset-controller", kind: "ReplicaSet", is_beside_others: false };
    const RETRIES: Retries = Retries::REPLICA_SET;
    const NEEDS: &'static [Need] = &[Need::ReplicaSets, Need::PodsWithTraits];
    type Error = ReplicaSetSyncError;

    fn workers(settings: &Settings) -> usize {
        settings.concurrent_replicaset_syncs
    }

    fn keys(cache: &Cache) -> Vec<Key> {
        cache.replica_set_keys()
    }

    fn changed(&self, cache: &Cache, change: &Changed) -> Vec<Due> {
        let reasons = triggers::sync_reasons(cache, change);
        reasons.iter().for_each(|reason| self.tracker.observe(reason));
        reasons.into_iter().map(due).collect()
    }

    async fn look(&self, lane: &Lane, key: &Key) -> Looked<ReplicaSetSyncError> {
        match self.try_look(lane, key).await {
            Ok(looked) => looked,
            Err(error @ (ReplicaSetSyncError::Stale { .. } | ReplicaSetSyncError::OutOfDate { .. })) => {
                Looked::Conflict(error)
            }
            Err(error) => Looked::Failed(error),
        }
    }
}

fn due(reason: SyncReason) -> Due {
    match reason {
        SyncReason::Changed(key)
        | SyncReason::PodCreated(key)
        | SyncReason::PodDeleted(key, _)
        | SyncReason::Deleted(key, _) => Due { key, after: None },
        SyncReason::After(key, wait) => Due { key, after: Some(wait) },
    }
}
