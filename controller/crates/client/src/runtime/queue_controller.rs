//! A controller with a work queue, as upstream's controllers: changes of the shared cache queue
//! keys, and several workers reconcile one object each, never the same one.

use std::fmt::Display;
use std::sync::Arc;

use kube::Client;

use super::controller::{CachedKind, Controller, ReconcileRequest, SyncedCallback, Task};
use super::controller_context::{ControllerContext, ReconcileOutcome};
use super::queue::RetryPolicy;
use super::shared_state::SharedState;
use crate::api::{ApiServer, Cache, CacheDelta, EventQueue, EventSource, NamespacedName};

/// Namespaces that can use their whole share of the workers at the same time. Upstream has no
/// shares, so its number of workers is one namespace's share here.
const NAMESPACES: usize = 4;

/// What one queue-based controller defines.
pub trait Reconcile: Send + Sync + 'static {
    /// Its short name, which its queue has, too.
    const NAME: &'static str;
    /// Component and kind of its events.
    const SOURCE: EventSource;
    /// How it retries failed keys.
    const RETRY_POLICY: RetryPolicy;
    /// Kinds that it needs in the shared cache.
    const CACHED_KINDS: &'static [CachedKind];
    /// Why reconciling an object fails.
    type Error: Display;

    /// How many objects of one namespace are reconciled at the same time.
    fn workers(&self) -> usize;

    /// The objects in the cache that it reconciles.
    fn keys(cache: &Cache) -> Vec<NamespacedName>;

    /// As [`Controller::on_change`].
    fn on_change(&self, cache: &Cache, delta: &CacheDelta) -> Vec<ReconcileRequest>;

    /// Reconciles one object: observe, plan, apply.
    fn reconcile(
        &self,
        context: &ControllerContext,
        key: &NamespacedName,
    ) -> impl Future<Output = ReconcileOutcome<Self::Error>> + Send;
}

/// Runs a reconciler with its context.
pub struct QueueController<K> {
    context: ControllerContext,
    reconciler: K,
}

impl<K: Reconcile> QueueController<K> {
    /// Makes the controller, and returns its event queue with the client that writes the events.
    pub fn new(reconciler: K, client: &Client, shared: &Arc<SharedState>) -> (Self, (ApiServer, EventQueue)) {
        let share = reconciler.workers().max(1);
        let (context, events) = ControllerContext::new(K::NAME, K::RETRY_POLICY, share, K::SOURCE, client, shared);
        let api = context.api.clone();
        (Self { context, reconciler }, (api, events))
    }

    /// Reconciles one object after the other, until the queue is closed.
    async fn work(&self) {
        while let Some(key) = self.context.queue.next().await {
            let outcome = self.reconciler.reconcile(&self.context, &key).await;
            self.context.finish(&key, outcome);
        }
    }
}

impl<K: Reconcile> Controller for QueueController<K> {
    fn cached_kinds(&self) -> &'static [CachedKind] {
        K::CACHED_KINDS
    }

    fn background_tasks(self: Arc<Self>, _on_synced: &dyn Fn() -> SyncedCallback) -> Vec<Task> {
        let queue = self.context.queue.clone();
        vec![Box::pin(async move { queue.run_timer().await })]
    }

    fn worker_tasks(self: Arc<Self>) -> Vec<Task> {
        let worker = |_| -> Task {
            let this = self.clone();
            Box::pin(async move { this.work().await })
        };
        (0..self.reconciler.workers().max(1) * NAMESPACES).map(worker).collect()
    }

    fn keys(&self, cache: &Cache) -> Vec<NamespacedName> {
        K::keys(cache)
    }

    fn on_change(&self, cache: &Cache, delta: &CacheDelta) -> Vec<ReconcileRequest> {
        self.reconciler.on_change(cache, delta)
    }

    fn start(&self, all: Vec<NamespacedName>) {
        self.resync(all);
    }

    fn enqueue(&self, due: Vec<ReconcileRequest>) {
        for ReconcileRequest { key, after } in due {
            match after {
                None => self.context.queue.add(key),
                Some(wait) => self.context.queue.add_after(key, wait),
            }
        }
    }

    fn resync(&self, all: Vec<NamespacedName>) {
        all.into_iter().for_each(|key| self.context.queue.add(key));
    }

    fn stop(&self) {
        self.context.queue.close();
    }

    fn close(&self) -> Option<String> {
        self.context.recorder.close();
        None
    }
}
