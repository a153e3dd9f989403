//! The controllers of one run, and the watches that they share.
//!
//! They fill their caches, wait for permission to act, and then act. A standby process keeps its
//! caches warm, so that it takes over without a list; it queues nothing until then, or its queues
//! would collect the name of every object that ever changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
use rollout_model::{Deployment, Pod, PodWithTraits, ReplicaSet};
use tokio::sync::watch;

use super::controller::{CachedKind, Controller, ReconcileRequest, SyncedCallback, Task};
use super::informer::Informers;
use super::reflector::{WatchSink, reflect};
use super::shared_state::SharedState;
use super::wire::{RawObject, WireObject};
use crate::api::{ApiServer, Cache, CacheUpdate, NamespacedName, Resource};
use crate::clock;

/// The controllers of one run.
pub struct Controllers {
    /// In an `Arc`, because a controller's tasks hold it.
    controllers: Vec<Arc<dyn Controller>>,
    shared: Arc<SharedState>,
    api: ApiServer,
    informers: Informers,
    /// Number of kinds whose first list is complete.
    synced_kinds: watch::Sender<usize>,
    is_active: AtomicBool,
}

impl Controllers {
    /// Runs these controllers on a client of their own.
    pub fn new(client: &Client, shared: Arc<SharedState>, controllers: Vec<Arc<dyn Controller>>) -> Arc<Self> {
        let api = ApiServer::with_settings(client.clone(), &shared.settings, &shared.metrics);
        let informers = Informers::new("rollout", shared.settings.clock, &shared.metrics);
        let (synced_kinds, is_active) = (watch::Sender::new(0), AtomicBool::new(false));
        Arc::new(Self { controllers, shared, api, informers, synced_kinds, is_active })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<dyn Controller>> {
        self.controllers.iter()
    }

    /// The kinds to keep in the shared cache; pods with traits replace plain pods.
    fn cached_kinds(&self) -> BTreeSet<CachedKind> {
        let mut kinds: BTreeSet<CachedKind> =
            self.controllers.iter().flat_map(|controller| controller.cached_kinds()).copied().collect();
        if kinds.contains(&CachedKind::PodsWithTraits) {
            kinds.remove(&CachedKind::Pods);
        }
        kinds
    }

    /// The number of watches: those of the shared cache and the controllers' own.
    fn watch_count(&self) -> usize {
        self.cached_kinds().len() + self.controllers.iter().map(|controller| controller.watch_count()).sum::<usize>()
    }

    /// Whether all first lists are complete.
    pub(crate) fn is_synced(&self) -> bool {
        *self.synced_kinds.borrow() >= self.watch_count()
    }

    /// Problems of the informers, in words for operators: see [`Informers::problems`].
    pub(crate) fn problems(&self) -> Vec<String> {
        let now = clock::instant();
        let mut problems = self.informers.problems(now);
        problems.extend(self.controllers.iter().flat_map(|controller| controller.problems(now)));
        problems
    }

    /// Completes when all first lists are complete.
    pub(crate) async fn wait_synced(&self) {
        let watches = self.watch_count();
        let all = self.synced_kinds.subscribe().wait_for(|synced_kinds| *synced_kinds >= watches).await.map(drop);
        all.expect("the sender lives as long as this");
    }

    /// Tasks that never return: the shared watches, the controllers' own tasks, and the resync.
    pub(super) fn background_tasks(self: &Arc<Self>) -> Vec<Task> {
        let on_synced = || -> SyncedCallback {
            let this = self.clone();
            Box::new(move || this.synced_kinds.send_modify(|synced_kinds| *synced_kinds += 1))
        };
        let kinds = self.cached_kinds();
        // Always in this order, because a simulation must replay.
        let watches = [
            (CachedKind::Deployments, Self::watch::<RawObject<Deployment>> as fn(&Arc<Self>, SyncedCallback) -> Task),
            (CachedKind::PodsWithTraits, Self::watch::<PodWithTraits>),
            (CachedKind::Pods, Self::watch::<Pod>),
            (CachedKind::ReplicaSets, Self::watch::<RawObject<ReplicaSet>>),
        ];
        let watches = watches.into_iter().filter(|(kind, _)| kinds.contains(kind));
        let mut tasks: Vec<Task> = watches.map(|(_, watch)| watch(self, on_synced())).collect();
        tasks.extend(self.controllers.iter().flat_map(|controller| controller.clone().background_tasks(&on_synced)));
        if let Some(period) = self.shared.settings.resync_period {
            let this = self.clone();
            tasks.push(Box::pin(async move { this.resync(period).await }));
        }
        tasks
    }

    fn watch<W: WireObject<Update = CacheUpdate>>(self: &Arc<Self>, on_synced: SyncedCallback) -> Task {
        Box::pin(reflect::<W, _>(self.clone(), on_synced))
    }

    /// Lets the controllers act: on all objects in the cache, and then on those that change.
    pub(super) fn start(&self) {
        let cache = self.shared.cache();
        self.is_active.store(true, Ordering::Release);
        let keys = self.keys(&cache);
        drop(cache);
        self.controllers.iter().zip(keys).for_each(|(controller, keys)| controller.start(keys));
    }

    /// Reconciles everything once each period, in case a change was missed; never returns.
    async fn resync(&self, period: Duration) {
        loop {
            clock::sleep(period).await;
            if !self.is_active.load(Ordering::Acquire) {
                continue;
            }
            tracing::debug!(?period, "Looking at everything again.");
            let keys = self.keys(&self.shared.cache());
            self.controllers.iter().zip(keys).for_each(|(controller, keys)| controller.resync(keys));
        }
    }

    /// The objects in the cache, by controller.
    fn keys(&self, cache: &Cache) -> Vec<Vec<NamespacedName>> {
        self.controllers.iter().map(|controller| controller.keys(cache)).collect()
    }
}

impl WatchSink<CacheUpdate> for Controllers {
    fn api(&self) -> &ApiServer {
        &self.api
    }

    fn informers(&self) -> &Informers {
        &self.informers
    }

    fn apply(&self, update: CacheUpdate) {
        let due: Vec<Vec<ReconcileRequest>> = {
            let mut cache = self.shared.cache();
            let delta = cache.apply(update);
            self.controllers.iter().map(|controller| controller.on_change(&cache, &delta)).collect()
        };
        // Read after the cache is unlocked: a change that comes too late for the reconciliation in
        // `start` is queued here.
        if !self.is_active.load(Ordering::Acquire) {
            return;
        }
        self.controllers.iter().zip(due).for_each(|(controller, due)| controller.enqueue(due));
    }

    fn on_listed(&self, resource: Resource, version: &str) {
        self.shared.cache().set_version(resource, version);
    }

    fn on_version(&self, resource: Resource, version: &str) {
        self.shared.cache().advance_version(resource, version);
    }
}
