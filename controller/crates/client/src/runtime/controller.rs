//! The interface between the runtime and its controllers.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::api::{Cache, CacheDelta, NamespacedName};

/// A future to spawn as a task.
pub type Task = BoxFuture<'static, ()>;

/// Called by a watch when its first list is complete.
pub type SyncedCallback = Box<dyn FnOnce() + Send>;

/// A kind that a controller needs in the shared cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the other names are the API's")]
pub enum CachedKind {
    Deployments,
    ReplicaSets,
    /// Pods: their owners, and whether they have ended.
    Pods,
    /// Pods with all traits that pod rules use.
    PodsWithTraits,
}

/// An object to reconcile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcileRequest {
    /// The object.
    pub key: NamespacedName,
    /// The delay; `None` for none.
    pub after: Option<Duration>,
}

/// A controller; the methods are in the order in which a run calls them.
///
/// A controller either decides about objects in the shared cache or has its own watches and state.
/// The former declares the kinds that it needs and is notified of changes; the latter keeps the
/// default methods.
pub trait Controller: Send + Sync {
    /// Kinds that it needs in the shared cache.
    fn cached_kinds(&self) -> &'static [CachedKind] {
        &[]
    }

    /// Number of watches that it runs itself.
    fn watch_count(&self) -> usize {
        0
    }

    /// Tasks that never return: its own watches, each of which calls one `on_synced` once, and
    /// timers.
    fn background_tasks(self: Arc<Self>, on_synced: &dyn Fn() -> SyncedCallback) -> Vec<Task>;

    /// Tasks that decide and write; they return after [`Controller::stop`], when all pending writes
    /// are done.
    fn worker_tasks(self: Arc<Self>) -> Vec<Task>;

    /// Problems of its own watches, in words for operators.
    fn problems(&self, _now: Instant) -> Vec<String> {
        Vec::new()
    }

    /// The objects in the shared cache that it decides about.
    fn keys(&self, _cache: &Cache) -> Vec<NamespacedName> {
        Vec::new()
    }

    /// Notes a change of the shared cache, also before [`Controller::start`], and returns the
    /// objects to reconcile.
    fn on_change(&self, _cache: &Cache, _delta: &CacheDelta) -> Vec<ReconcileRequest> {
        Vec::new()
    }

    /// Allows it to act from now on, and reconciles everything: `all` of the shared cache.
    fn start(&self, all: Vec<NamespacedName>);

    /// Queues these objects.
    fn enqueue(&self, _due: Vec<ReconcileRequest>) {}

    /// Reconciles everything again.
    fn resync(&self, all: Vec<NamespacedName>);

    /// Asks it to stop.
    fn stop(&self);

    /// Closes its event queues; returns why it stopped, if it did so by itself.
    fn close(&self) -> Option<String>;
}
