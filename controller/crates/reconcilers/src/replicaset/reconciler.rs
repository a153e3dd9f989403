//! The ReplicaSet controller: which changes queue a ReplicaSet, and how one is reconciled: check
//! that the caches are new enough and that no expectation is outstanding; then observe, plan,
//! apply.

use controller_client::api::{Cache, CacheDelta, EventSource, NamespacedName};
use controller_client::clock;
use controller_client::runtime::{
    CachedKind, ControllerContext, Reconcile, ReconcileOutcome, ReconcileRequest, RetryPolicy,
};

use super::apply::{ReplicaSetContext, apply};
use super::error::ReplicaSetSyncError;
use super::observe::{observe, observe_counts};
use super::tracker::ReplicaSetTracker;
use super::triggers::{self, SyncReason};
use crate::decisions::rollouts::RuleSettings;
use crate::decisions::rollouts::replicaset::plan;
use crate::sync_error::SyncError;

/// The state of the ReplicaSet controller.
pub struct ReplicaSetReconciler {
    settings: RuleSettings,
    workers: usize,
    tracker: ReplicaSetTracker,
}

impl ReplicaSetReconciler {
    /// With this many ReplicaSets of a namespace at the same time.
    pub fn new(settings: RuleSettings, workers: usize) -> Self {
        Self { settings, workers, tracker: ReplicaSetTracker::default() }
    }

    async fn try_reconcile(
        &self,
        context: &ControllerContext,
        key: &NamespacedName,
    ) -> Result<ReconcileOutcome<ReplicaSetSyncError>, ReplicaSetSyncError> {
        self.check_caches(context, key)?;
        // Read before the caches: what arrives in between is then both in the caches and still
        // expected, never neither.
        let outstanding = self.tracker.expectations().pending_uid(key, clock::instant()).map(ToOwned::to_owned);
        let ControllerContext { api, recorder, shared, .. } = context;
        let (clock, settings) = (shared.settings.clock, &self.settings);
        let sync = ReplicaSetContext { api, recorder, tracker: &self.tracker, clock, settings };
        // Counts mostly suffice, and their cost does not grow with the number of pods.
        let counts = observe_counts(&shared.cache(), key, outstanding.as_deref());
        if let Some(counts) = counts
            && let Ok(plan) = plan(&counts, clock.now())
            && !plan.has_named_pods()
        {
            return Ok(ReconcileOutcome::Done(apply(sync, counts, plan).await?));
        }
        let observed = observe(&shared.cache(), key, outstanding.as_deref());
        let Some(observed) = observed else {
            self.tracker.writes().forget(key, None);
            self.tracker.expectations().forget(key, None);
            return Ok(ReconcileOutcome::Done(None));
        };
        let plan = match plan(&observed, clock.now()) {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(replica_set = %key, %error, "A ReplicaSet cannot be reconciled.");
                return Ok(ReconcileOutcome::Done(None));
            }
        };
        Ok(ReconcileOutcome::Done(apply(sync, observed, plan).await?))
    }

    fn check_caches(&self, context: &ControllerContext, key: &NamespacedName) -> Result<(), ReplicaSetSyncError> {
        let checked = {
            let cache = context.shared.cache();
            self.tracker.writes().check(key, None, |resource| cache.version(resource))
        };
        checked.map_err(|stale| {
            // Upstream counts these skips for ReplicaSets only.
            context.shared.metrics.count_stale_skip(stale.resource.api_group(), stale.resource.plural());
            SyncError::from(stale).into()
        })
    }
}

impl Reconcile for ReplicaSetReconciler {
    const NAME: &'static str = "replicaset";
    const SOURCE: EventSource =
        EventSource { component: "replicaset-controller", kind: "ReplicaSet", shares_objects: false };
    const RETRY_POLICY: RetryPolicy = RetryPolicy::REPLICA_SET;
    const CACHED_KINDS: &'static [CachedKind] = &[CachedKind::ReplicaSets, CachedKind::PodsWithTraits];
    type Error = ReplicaSetSyncError;

    fn workers(&self) -> usize {
        self.workers
    }

    fn keys(cache: &Cache) -> Vec<NamespacedName> {
        cache.replica_set_keys()
    }

    fn on_change(&self, cache: &Cache, delta: &CacheDelta) -> Vec<ReconcileRequest> {
        let reasons = triggers::sync_reasons(cache, delta);
        reasons.iter().for_each(|reason| self.tracker.observe(reason));
        reasons.into_iter().map(due).collect()
    }

    async fn reconcile(
        &self,
        context: &ControllerContext,
        key: &NamespacedName,
    ) -> ReconcileOutcome<ReplicaSetSyncError> {
        match self.try_reconcile(context, key).await {
            Ok(outcome) => outcome,
            Err(ReplicaSetSyncError::Sync(error)) if error.is_outdated() => ReconcileOutcome::Conflict(error.into()),
            Err(error) => ReconcileOutcome::Failed(error),
        }
    }
}

fn due(reason: SyncReason) -> ReconcileRequest {
    match reason {
        SyncReason::Changed(key)
        | SyncReason::PodCreated(key)
        | SyncReason::PodDeleted(key, _)
        | SyncReason::Deleted(key, _) => ReconcileRequest { key, after: None },
        SyncReason::After(key, wait) => ReconcileRequest { key, after: Some(wait) },
    }
}
