//! The controllers of one run, and what feeds them: the watches that they share.
//!
//! They first see, then wait for leave to act, then act. A process that stands by keeps its caches
//! warm, so it takes over without a list; nothing is put into queues until then, or the names of
//! all that ever changed would pile up there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;

use super::chosen::{AllReports, chosen};
use super::controller::{Controller, Due, Listed, Need, Task};
use super::informer::Informers;
use super::reflector::{Sink, reflect};
use super::shared::Shared;
use super::wire::{Raw, Wire};
use crate::api::{ApiServer, Cache, Change, Key, Resource};
use crate::clock;
use crate::deployment::Planner;
use crate::metrics::Metrics;
use crate::model::{Deployment, Pod, PodWithTraits, ReplicaSet};
use crate::settings::Settings;

/// What all tasks share.
pub(crate) struct Controllers {
    /// Shared, for the tasks of a controller hold it.
    all: Vec<Arc<dyn Controller>>,
    shared: Arc<Shared>,
    api: ApiServer,
    informers: Informers,
    /// Kinds that have been seen once.
    seen: watch::Sender<usize>,
    acts: AtomicBool,
}

impl Controllers {
    /// The controllers that the settings name; `planner` decides for Deployments.
    pub(crate) fn new(
        client: &Client,
        settings: Settings,
        planner: &Planner,
        metrics: Metrics,
    ) -> (Arc<Self>, AllReports) {
        let shared = Arc::new(Shared::new(settings, metrics));
        let (all, all_reports) = chosen(client, &shared, planner);
        let api = ApiServer::chosen(client.clone(), &shared.settings, &shared.metrics);
        let informers = Informers::new("rollout", shared.settings.clock, &shared.metrics);
        let (seen, acts) = (watch::Sender::new(0), AtomicBool::new(false));
        (Arc::new(Self { all, shared, api, informers, seen, acts }), all_reports)
    }

    /// Each of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<dyn Controller>> {
        self.all.iter()
    }

    /// What they need in the shared cache; of pods only one of the two.
    fn needs(&self) -> BTreeSet<Need> {
        let mut needs: BTreeSet<Need> = self.all.iter().flat_map(|one| one.needs()).copied().collect();
        if needs.contains(&Need::PodsWithTraits) {
            needs.remove(&Need::Pods);
        }
        needs
    }

    /// Kinds that are watched: those in the shared cache, and those that a controller watches
    /// itself.
    fn watched(&self) -> usize {
        self.needs().len() + self.all.iter().map(|one| one.watched()).sum::<usize>()
    }

    /// Whether everything has been seen once.
    pub(crate) fn is_synced(&self) -> bool {
        *self.seen.borrow() >= self.watched()
    }

    /// What is wrong with the informers, for people: see [`Informers::complaints`].
    pub(crate) fn complaints(&self) -> Vec<String> {
        let now = clock::instant();
        let mut complaints = self.informers.complaints(now);
        complaints.extend(self.all.iter().flat_map(|one| one.complaints(now)));
        complaints
    }

    /// Completes when everything has been seen once.
    pub(crate) async fn synced(&self) {
        let watched = self.watched();
        let all = self.seen.subscribe().wait_for(|seen| *seen >= watched).await.map(drop);
        all.expect("the sender lives as long as this");
    }

    /// Tasks that run for ever: the shared watches, and what each controller has besides.
    pub(super) fn background(self: &Arc<Self>) -> Vec<Task> {
        let listed = || -> Listed {
            let this = self.clone();
            Box::new(move || this.seen.send_modify(|seen| *seen += 1))
        };
        let needs = self.needs();
        // Always in this order: a simulation must replay.
        let watches = [
            (Need::Deployments, Self::watch::<Raw<Deployment>> as fn(&Arc<Self>, Listed) -> Task),
            (Need::PodsWithTraits, Self::watch::<PodWithTraits>),
            (Need::Pods, Self::watch::<Pod>),
            (Need::ReplicaSets, Self::watch::<Raw<ReplicaSet>>),
        ];
        let needed = watches.into_iter().filter(|(need, _)| needs.contains(need));
        let mut tasks: Vec<Task> = needed.map(|(_, watch)| watch(self, listed())).collect();
        tasks.extend(self.all.iter().flat_map(|one| one.clone().background(&listed)));
        if let Some(period) = self.shared.settings.resync_period {
            let this = self.clone();
            tasks.push(Box::pin(async move { this.resync(period).await }));
        }
        tasks
    }

    fn watch<W: Wire<Change = Change>>(self: &Arc<Self>, listed: Listed) -> Task {
        Box::pin(reflect::<W, _>(self.clone(), listed))
    }

    /// From now on objects are looked at: all that there are, and then those that change.
    pub(super) fn begin(&self) {
        let cache = self.shared.cache();
        self.acts.store(true, Ordering::Release);
        let keys = self.keys(&cache);
        drop(cache);
        self.all.iter().zip(keys).for_each(|(one, keys)| one.begin(keys));
    }

    /// Looks at everything again, time after time, so that nothing stays as it is for want of a
    /// change; never returns.
    async fn resync(&self, period: Duration) {
        loop {
            clock::sleep(period).await;
            if !self.acts.load(Ordering::Acquire) {
                continue;
            }
            tracing::debug!(?period, "Looking at everything again.");
            let keys = self.keys(&self.shared.cache());
            self.all.iter().zip(keys).for_each(|(one, keys)| one.look_again(keys));
        }
    }

    /// All objects in the cache, by controller.
    fn keys(&self, cache: &Cache) -> Vec<Vec<Key>> {
        self.all.iter().map(|one| one.keys(cache)).collect()
    }
}

impl Sink<Change> for Controllers {
    fn api(&self) -> &ApiServer {
        &self.api
    }

    fn informers(&self) -> &Informers {
        &self.informers
    }

    fn take(&self, change: Change) {
        let due: Vec<Vec<Due>> = {
            let mut cache = self.shared.cache();
            let change = cache.take(change);
            self.all.iter().map(|one| one.changed(&cache, &change)).collect()
        };
        // Read after the cache has let go: what comes in too late for the look around that begins
        // the work is queued here.
        if !self.acts.load(Ordering::Acquire) {
            return;
        }
        self.all.iter().zip(due).for_each(|(one, due)| one.look_at(due));
    }

    fn listed(&self, resource: Resource, version: &str) {
        self.shared.cache().listed(resource, version);
    }

    fn reached(&self, resource: Resource, version: &str) {
        self.shared.cache().reached(resource, version);
    }
}
