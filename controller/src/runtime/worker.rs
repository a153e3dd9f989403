//! The controller as a set of tasks: three watches, a timer, the workers, and one that writes events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::events::{Reports, write_events};
use super::queue::Queue;
use super::reflector::reflect;
use super::triggers::Change;
use super::wire::Raw;
use super::{ApiServer, Cache, Key, Recorder, Resource, RunError};
use crate::clock;
use crate::deployment::{ApplyError, Plan, Tools, apply, observe};
use crate::model::{Deployment, Pod, ReplicaSet};
use crate::settings::Settings;
use crate::{Observed, Planner};

/// Kinds that are watched.
const WATCHED: u32 = 3;
/// How long a shutdown waits for syncs that are under way, and then for events.
const GRACE: Duration = Duration::from_secs(5);

/// What all tasks share.
pub(crate) struct Controller {
    pub(super) api: ApiServer,
    cache: Mutex<Cache>,
    queue: Queue,
    recorder: Recorder,
    settings: Settings,
    planner: Planner,
}

impl Controller {
    pub(crate) fn new(api: ApiServer, settings: Settings, planner: Planner) -> (Arc<Self>, Reports) {
        let (recorder, reports) = Recorder::new(settings.clock);
        let (cache, queue) = (Mutex::new(Cache::default()), Queue::default());
        (Arc::new(Self { api, cache, queue, recorder, settings, planner }), reports)
    }

    /// Takes a change into the cache and wakes whom it concerns.
    pub(super) fn take(&self, change: Change) {
        let woken = self.cache().take(change);
        for key in woken {
            self.queue.add(key);
        }
    }

    async fn work(&self) {
        while let Some(key) = self.queue.next().await {
            self.sync(&key).await;
            self.queue.done(&key);
        }
    }

    /// Looks at one Deployment once: observe, plan, apply.
    async fn sync(&self, key: &Key) {
        let observed = observe(&self.cache(), key);
        let Some(observed) = observed else {
            return self.queue.forget(key);
        };
        let plan = (self.planner)(&observed, self.settings.clock.now(), &self.settings);
        match self.apply(&observed, &plan).await {
            Ok(()) => {
                self.queue.forget(key);
                if let Some(wait) = plan.requeue {
                    self.queue.add_after(key.clone(), wait);
                }
            }
            // Whatever is tried there fails until the namespace is gone.
            Err(ApplyError::NamespaceTerminating) => self.queue.forget(key),
            Err(error) => self.try_again(key, &error),
        }
    }

    fn try_again(&self, key: &Key, error: &ApplyError) {
        if matches!(error, ApplyError::OutOfDate { .. } | ApplyError::Collision { .. }) {
            tracing::debug!(deployment = %key, %error, "Trying again.");
        } else {
            tracing::info!(deployment = %key, %error, "A sync failed; trying again.");
        }
        if !self.queue.retry(key.clone()) {
            tracing::error!(deployment = %key, %error, "Gave up until something changes.");
        }
    }

    async fn apply(&self, observed: &Observed, plan: &Plan) -> Result<(), ApplyError> {
        if plan.is_idle() {
            return Ok(());
        }
        let cached = |namespace: &str, name: &str| self.cache().replica_set(&Key::new(namespace, name));
        let tools = Tools { api: &self.api, recorder: &self.recorder, settings: &self.settings, cached: &cached };
        apply(tools, observed, plan).await
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs until `shutdown`; every task has ended when this returns, and is ended when it is dropped.
pub(crate) async fn run_controller(
    controller: Arc<Controller>,
    reports: Reports,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let mut events = JoinSet::new();
    events.spawn(write_events(controller.api.clone(), reports));
    let mut tasks = JoinSet::new();
    let synced = Arc::new(Semaphore::new(0));
    let seen = || {
        let synced = synced.clone();
        move || synced.add_permits(1)
    };
    tasks.spawn(reflect::<Raw<Deployment>>(controller.clone(), seen()));
    tasks.spawn(reflect::<Raw<ReplicaSet>>(controller.clone(), seen()));
    tasks.spawn(reflect::<Pod>(controller.clone(), seen()));
    let timer = controller.clone();
    tasks.spawn(async move { timer.queue.run_timer().await });
    let mut workers = JoinSet::new();
    for _ in 0..controller.settings.concurrent_deployment_syncs.max(1) {
        let (controller, synced) = (controller.clone(), synced.clone());
        workers.spawn(async move {
            // Nothing is decided before everything has been seen once.
            if let Ok(all) = synced.acquire_many(WATCHED).await {
                drop(all);
                controller.work().await;
            }
        });
    }
    let broken = tokio::select! {
        () = shutdown => None,
        Some(ended) = tasks.join_next() => Some(ended),
        Some(ended) = workers.join_next() => Some(ended),
        Some(ended) = events.join_next() => Some(ended),
    };
    controller.queue.close();
    synced.close();
    let finished = async { while workers.join_next().await.is_some() {} };
    clock::within(GRACE, finished).await;
    workers.shutdown().await;
    tasks.shutdown().await;
    controller.recorder.close();
    let written = async { while events.join_next().await.is_some() {} };
    clock::within(GRACE, written).await;
    events.shutdown().await;
    match broken {
        None => Ok(()),
        Some(Ok(())) => Err(RunError::Task("one that runs for ever returned".to_owned())),
        Some(Err(error)) => Err(RunError::Task(error.to_string())),
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
