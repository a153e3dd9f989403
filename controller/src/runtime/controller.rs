//! What the runtime asks of a controller. It knows nothing else of any.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::api::{Cache, Changed, Key};

/// Something to be run as a task.
pub(super) type Task = BoxFuture<'static, ()>;

/// What a watch calls when its first list is complete.
pub(super) type Listed = Box<dyn FnOnce() + Send>;

/// A kind that the cache which the controllers share is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    Deployments,
    ReplicaSets,
    /// Pods: who owns them, and whether they have ended.
    Pods,
    /// Pods with everything that rules about pods ask for.
    PodsWithTraits,
}

/// An object to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) key: Key,
    /// After a while; `None`: now.
    pub(super) after: Option<Duration>,
}

/// A controller: what the runtime asks of it, in the order of a run.
///
/// The objects that it decides about are in the cache that the controllers share, or it has watches
/// and a view of its own. The former say what they need there, and are told what changes; the
/// latter leave that out.
pub(super) trait Controller: Send + Sync {
    /// Kinds that it needs in the shared cache.
    fn needs(&self) -> &'static [Need] {
        &[]
    }

    /// How many kinds it watches itself.
    fn watched(&self) -> usize {
        0
    }

    /// Tasks that run for ever: watches of its own, each of which calls a `listed` once, and
    /// timers.
    fn background(self: Arc<Self>, listed: &dyn Fn() -> Listed) -> Vec<Task>;

    /// Tasks that decide and write; each returns after [`Controller::end`], when what must be
    /// written has been.
    fn workers(self: Arc<Self>) -> Vec<Task>;

    /// What is wrong with watches of its own, for people.
    fn complaints(&self, _now: Instant) -> Vec<String> {
        Vec::new()
    }

    /// All objects in the shared cache that it decides about.
    fn keys(&self, _cache: &Cache) -> Vec<Key> {
        Vec::new()
    }

    /// A change went into the shared cache: takes note of it, also before there is leave to act,
    /// and returns what to look at.
    fn changed(&self, _cache: &Cache, _change: &Changed) -> Vec<Due> {
        Vec::new()
    }

    /// It may act from now on, and looks at everything: at `all` of the shared cache.
    fn begin(&self, all: Vec<Key>);

    /// Looks at these when they are due.
    fn look_at(&self, _due: Vec<Due>) {}

    /// Looks at everything again.
    fn look_again(&self, all: Vec<Key>);

    /// It is to end.
    fn end(&self);

    /// Takes no more events; returns why it ended, if it did so by itself.
    fn close(&self) -> Option<String>;
}
