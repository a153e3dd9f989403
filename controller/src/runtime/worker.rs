//! The controller as a set of tasks: three watches, a timer, the workers, and one that writes events.
//!
//! It first sees, then waits for leave to act, then acts. One that stands by keeps its caches warm, so it takes over without a
//! list; nothing is put into its queue until then, or the names of all that ever changed would pile up there.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::events::{Reports, write_events};
use super::queue::Queue;
use super::reflector::reflect;
use super::triggers::Change;
use super::wire::Raw;
use super::{ApiServer, Cache, Key, Recorder, Resource, RunError};
use crate::clock;
use crate::deployment::{ApplyError, Plan, Tools, apply, observe};
use crate::metrics::{Metrics, Synced};
use crate::model::{Deployment, Pod, ReplicaSet};
use crate::settings::Settings;
use crate::{Observed, Planner};

/// What this controller is called in metrics.
const NAME: &str = "deployment";
/// Kinds that are watched.
const WATCHED: u32 = 3;
/// How long a shutdown waits for syncs that are under way, and then for events.
const GRACE: Duration = Duration::from_secs(5);

/// What all tasks share.
pub(crate) struct Controller {
    pub(super) api: ApiServer,
    cache: Mutex<Cache>,
    /// Kinds that have been seen once.
    seen: watch::Sender<u32>,
    acts: AtomicBool,
    queue: Arc<Queue>,
    recorder: Recorder,
    metrics: Metrics,
    settings: Settings,
    planner: Planner,
}

impl Controller {
    pub(crate) fn new(api: ApiServer, settings: Settings, planner: Planner, metrics: Metrics) -> (Arc<Self>, Reports) {
        let (recorder, reports) = Recorder::new(settings.clock);
        let queue = Arc::new(Queue::new(metrics.queue(NAME)));
        metrics.show_load(NAME, &queue);
        let (cache, seen, acts) = (Mutex::new(Cache::default()), watch::Sender::new(0), AtomicBool::new(false));
        (Arc::new(Self { api, cache, seen, acts, queue, recorder, metrics, settings, planner }), reports)
    }

    /// Whether everything has been seen once.
    pub(crate) fn is_synced(&self) -> bool {
        *self.seen.borrow() >= WATCHED
    }

    /// Completes when everything has been seen once.
    pub(crate) async fn synced(&self) {
        let all = self.seen.subscribe().wait_for(|seen| *seen >= WATCHED).await.map(drop);
        all.expect("the sender lives as long as this");
    }

    /// Takes a change into the cache and wakes whom it concerns.
    pub(super) fn take(&self, change: Change) {
        let woken = self.cache().take(change);
        // Read after the cache has let go: what comes in too late for the look around that begins the work is queued here.
        if self.acts.load(Ordering::Acquire) {
            for key in woken {
                self.queue.add(key);
            }
        }
    }

    /// From now on Deployments are looked at: all that there are, and then those that change.
    fn begin(&self) {
        let all = {
            let cache = self.cache();
            self.acts.store(true, Ordering::Release);
            cache.keys()
        };
        for key in all {
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
            self.metrics.synced(NAME, Synced::Success);
            return self.queue.forget(key);
        };
        let plan = (self.planner)(&observed, self.settings.clock.now(), &self.settings);
        match self.apply(&observed, &plan).await {
            Ok(()) => {
                self.metrics.synced(NAME, Synced::Success);
                self.queue.forget(key);
                if let Some(wait) = plan.requeue {
                    self.queue.add_after(key.clone(), wait);
                }
            }
            // Whatever is tried there fails until the namespace is gone.
            Err(ApplyError::NamespaceTerminating) => {
                self.metrics.synced(NAME, Synced::Success);
                self.queue.forget(key);
            }
            Err(error) => self.try_again(key, &error),
        }
    }

    fn try_again(&self, key: &Key, error: &ApplyError) {
        let mut result = Synced::Error;
        if matches!(error, ApplyError::OutOfDate { .. } | ApplyError::Collision { .. }) {
            result = Synced::Conflict;
            tracing::debug!(deployment = %key, %error, "Trying again.");
        } else {
            tracing::info!(deployment = %key, %error, "A sync failed; trying again.");
        }
        if !self.queue.retry(key.clone()) {
            result = Synced::Dropped;
            tracing::error!(deployment = %key, %error, "Gave up until something changes.");
        }
        self.metrics.synced(NAME, result);
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

/// Runs until `shutdown`, and acts once it has `leave` to; every task has ended when this returns, and is ended when it is
/// dropped.
pub(crate) async fn run_controller(
    controller: Arc<Controller>,
    reports: Reports,
    leave: impl Future<Output = ()>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let mut events = JoinSet::new();
    events.spawn(write_events(controller.api.clone(), reports));
    let mut tasks = JoinSet::new();
    let seen = || {
        let controller = controller.clone();
        move || controller.seen.send_modify(|seen| *seen += 1)
    };
    tasks.spawn(reflect::<Raw<Deployment>>(controller.clone(), seen()));
    tasks.spawn(reflect::<Raw<ReplicaSet>>(controller.clone(), seen()));
    tasks.spawn(reflect::<Pod>(controller.clone(), seen()));
    let timer = controller.clone();
    tasks.spawn(async move { timer.queue.run_timer().await });
    let mut workers = JoinSet::new();
    for _ in 0..controller.settings.concurrent_deployment_syncs.max(1) {
        let controller = controller.clone();
        workers.spawn(async move { controller.work().await });
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
    controller.queue.close();
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
