//! The controllers as a set of tasks: the watches, and for each controller a timer, its workers, and one that writes its events.
//!
//! They first see, then wait for leave to act, then act. A process that stands by keeps its caches warm, so it takes over without a
//! list; nothing is put into its queues until then, or the names of all that ever changed would pile up there.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::deployments::Deployments;
use super::events::{Reports, write_events};
use super::informer::Informers;
use super::lane::Lane;
use super::reflector::{Sink, reflect};
use super::replica_sets::ReplicaSets;
use super::restarts::Restarts;
use super::triggers::{Change, Woken};
use super::wire::Raw;
use super::{ApiServer, Cache, Resource, RunError};
use crate::Planner;
use crate::clock;
use crate::metrics::Metrics;
use crate::model::{Deployment, Pod, ReplicaSet, TraitedPod};
use crate::replicaset::Memory;
use crate::settings::{ControllerName, Settings};

/// How long a shutdown waits for syncs that are under way, and then for events.
const GRACE: Duration = Duration::from_secs(5);

/// What all tasks share.
pub(crate) struct Controller {
    pub(super) api: ApiServer,
    cache: Mutex<Cache>,
    informers: Informers,
    /// Kinds that have been seen once.
    seen: watch::Sender<usize>,
    acts: AtomicBool,
    deployments: Option<Deployments>,
    replica_sets: Option<ReplicaSets>,
    restarts: Option<Arc<Restarts>>,
    pub(super) metrics: Metrics,
    pub(super) settings: Settings,
}

/// Events that wait to be written, by controller.
pub(crate) type AllReports = Vec<(ApiServer, Reports)>;

impl Controller {
    /// The controllers that the settings name; `planner` decides for Deployments.
    pub(crate) fn new(
        client: &Client,
        settings: Settings,
        planner: Planner,
        metrics: Metrics,
    ) -> (Arc<Self>, AllReports) {
        let mut all_reports = Vec::new();
        let mut lane = |name| {
            settings.controllers.contains(&name).then(|| {
                let (lane, reports) = Lane::new(name, client.clone(), &settings, &metrics);
                all_reports.push((lane.api.clone(), reports));
                lane
            })
        };
        let deployments = lane(ControllerName::Deployment).map(|lane| Deployments::new(lane, planner));
        let replica_sets = lane(ControllerName::ReplicaSet).map(|lane| ReplicaSets { lane, memory: Memory::default() });
        let restarts = settings.controllers.contains(&ControllerName::ConfigRestart).then(|| {
            let (restarts, reports) = Restarts::new(client, &settings, &metrics);
            all_reports.extend(reports.into_iter().map(|reports| (restarts.events_api(), reports)));
            restarts
        });
        let api = ApiServer::chosen(client.clone(), &settings, &metrics);
        let (seen, acts) = (watch::Sender::new(0), AtomicBool::new(false));
        let cache = Mutex::new(Cache::new(&settings.controllers));
        let informers = Informers::new("rollout", settings.clock, &metrics);
        let controller =
            Self { api, cache, informers, seen, acts, deployments, replica_sets, restarts, metrics, settings };
        (Arc::new(controller), all_reports)
    }

    /// Kinds that are watched: ReplicaSets and pods where anybody looks after those or after Deployments, which are one more; and what
    /// restarts need.
    fn watched(&self) -> usize {
        let rolls_out = self.deployments.is_some() || self.replica_sets.is_some();
        let restarts = self.restarts.as_ref().map_or(0, |restarts| restarts.watched());
        2 * usize::from(rolls_out) + usize::from(self.deployments.is_some()) + restarts
    }

    /// Whether everything has been seen once.
    pub(crate) fn is_synced(&self) -> bool {
        *self.seen.borrow() >= self.watched()
    }

    /// What is wrong with the informers, for people: see [`Informers::complaints`].
    pub(crate) fn complaints(&self) -> Vec<String> {
        let now = clock::instant();
        let mut complaints = self.informers.complaints(now);
        if let Some(of) = &self.restarts {
            complaints.extend(of.informers().complaints(now));
        }
        complaints
    }

    /// Completes when everything has been seen once.
    pub(crate) async fn synced(&self) {
        let all = self.seen.subscribe().wait_for(|seen| *seen >= self.watched()).await.map(drop);
        all.expect("the sender lives as long as this");
    }

    /// From now on objects are looked at: all that there are, and then those that change.
    fn begin(&self) {
        let cache = self.cache();
        self.acts.store(true, Ordering::Release);
        self.look_at_all(cache);
        if let Some(of) = &self.restarts {
            of.begin();
        }
    }

    /// Puts every object into its queue.
    fn look_at_all(&self, cache: MutexGuard<'_, Cache>) {
        let (deployments, replica_sets) =
            (cache.keys(ControllerName::Deployment), cache.keys(ControllerName::ReplicaSet));
        drop(cache);
        if let Some(of) = &self.deployments {
            deployments.into_iter().for_each(|key| of.lane.queue.add(key));
        }
        if let Some(of) = &self.replica_sets {
            replica_sets.into_iter().for_each(|key| of.lane.queue.add(key));
        }
    }

    /// Looks at everything again, time after time, so that nothing stays as it is for want of a change; never returns.
    async fn resync(&self, period: Duration) {
        loop {
            clock::sleep(period).await;
            if !self.acts.load(Ordering::Acquire) {
                continue;
            }
            tracing::debug!(?period, "Looking at everything again.");
            self.look_at_all(self.cache());
            if let Some(of) = &self.restarts {
                of.look_again();
            }
        }
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        let deployments = self.deployments.iter().map(|of| &of.lane);
        deployments.chain(self.replica_sets.iter().map(|of| &of.lane))
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, Cache> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink<Change> for Controller {
    fn api(&self) -> &ApiServer {
        &self.api
    }

    fn informers(&self) -> &Informers {
        &self.informers
    }

    fn take(&self, change: Change) {
        let Woken { deployments, replica_sets } = self.cache().take(change);
        if let Some(of) = &self.replica_sets {
            replica_sets.iter().for_each(|wake| of.note(wake));
        }
        // Read after the cache has let go: what comes in too late for the look around that begins the work is queued here.
        if !self.acts.load(Ordering::Acquire) {
            return;
        }
        if let Some(of) = &self.deployments {
            deployments.into_iter().for_each(|key| of.lane.queue.add(key));
        }
        if let Some(of) = &self.replica_sets {
            replica_sets.into_iter().for_each(|wake| of.wake(wake));
        }
    }

    fn listed(&self, resource: Resource, version: &str) {
        self.cache().listed(resource, version);
    }

    fn reached(&self, resource: Resource, version: &str) {
        self.cache().reached(resource, version);
    }
}

/// Runs until `shutdown`, and acts once it has `leave` to; every task has ended when this returns, and is ended when it is
/// dropped.
pub(crate) async fn run_controller(
    controller: Arc<Controller>,
    reports: AllReports,
    leave: impl Future<Output = ()>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let mut events = JoinSet::new();
    for (api, reports) in reports {
        events.spawn(write_events(api, reports));
    }
    let mut tasks = JoinSet::new();
    let seen = || {
        let controller = controller.clone();
        move || controller.seen.send_modify(|seen| *seen += 1)
    };
    if controller.deployments.is_some() {
        tasks.spawn(reflect::<Raw<Deployment>, _>(controller.clone(), seen()));
    }
    if controller.replica_sets.is_some() {
        tasks.spawn(reflect::<TraitedPod, _>(controller.clone(), seen()));
    } else if controller.deployments.is_some() {
        tasks.spawn(reflect::<Pod, _>(controller.clone(), seen()));
    }
    if controller.deployments.is_some() || controller.replica_sets.is_some() {
        tasks.spawn(reflect::<Raw<ReplicaSet>, _>(controller.clone(), seen()));
    }
    if let Some(restarts) = &controller.restarts {
        restarts.watch(&mut tasks, &seen);
    }
    for queue in controller.lanes().map(|lane| lane.queue.clone()) {
        tasks.spawn(async move { queue.run_timer().await });
    }
    if let Some(period) = controller.settings.resync_period {
        let controller = controller.clone();
        tasks.spawn(async move { controller.resync(period).await });
    }
    let mut workers = JoinSet::new();
    spawn_workers(&controller, &mut workers);
    if let Some(restarts) = controller.restarts.clone() {
        workers.spawn(async move { restarts.work().await });
    }
    let begin = async {
        // Nothing is decided before everything has been seen once.
        controller.synced().await;
        leave.await;
        controller.begin();
        std::future::pending::<Infallible>().await
    };
    let broken = tokio::select! {
        () = shutdown => None,
        never = begin => match never {},
        Some(ended) = tasks.join_next() => Some(ended),
        Some(ended) = workers.join_next() => Some(ended),
        Some(ended) = events.join_next() => Some(ended),
    };
    controller.lanes().for_each(|lane| lane.queue.close());
    if let Some(restarts) = &controller.restarts {
        restarts.end();
    }
    let finished = async { while workers.join_next().await.is_some() {} };
    clock::within(GRACE, finished).await;
    workers.shutdown().await;
    tasks.shutdown().await;
    controller.lanes().for_each(|lane| lane.recorder.close());
    let fatal = controller.restarts.as_ref().and_then(|restarts| restarts.close());
    let written = async { while events.join_next().await.is_some() {} };
    clock::within(GRACE, written).await;
    events.shutdown().await;
    if let Some(fatal) = fatal {
        return Err(RunError::Restart(fatal));
    }
    match broken {
        None => Ok(()),
        Some(Ok(())) => Err(RunError::Task("one that runs for ever returned".to_owned())),
        Some(Err(error)) => Err(RunError::Task(error.to_string())),
    }
}

fn spawn_workers(controller: &Arc<Controller>, workers: &mut JoinSet<()>) {
    let Settings { concurrent_deployment_syncs, concurrent_replicaset_syncs, .. } = controller.settings;
    if controller.deployments.is_some() {
        for _ in 0..concurrent_deployment_syncs.max(1) {
            let controller = controller.clone();
            workers.spawn(async move {
                if let Some(of) = &controller.deployments {
                    of.work(&controller).await;
                }
            });
        }
    }
    if controller.replica_sets.is_some() {
        for _ in 0..concurrent_replicaset_syncs.max(1) {
            let controller = controller.clone();
            workers.spawn(async move {
                if let Some(of) = &controller.replica_sets {
                    of.work(&controller).await;
                }
            });
        }
    }
}

/// Whether an API server answers and serves Deployments and ReplicaSets.
pub(crate) async fn check(api: &ApiServer) -> Result<(), RunError> {
    let served = match api.discover().await {
        Ok(served) => served,
        Err(kube::Error::Api(status)) if status.code == 404 => return Err(RunError::NotServed),
        Err(source @ kube::Error::Api(_)) => {
            return Err(RunError::Refused { source: Box::new(source) });
        }
        Err(source) => {
            return Err(RunError::Unreachable { source: Box::new(source) });
        }
    };
    let needed = [Resource::Deployments.plural(), Resource::ReplicaSets.plural()];
    if needed.iter().all(|plural| served.iter().any(|name| name == plural)) { Ok(()) } else { Err(RunError::NotServed) }
}
