//! Updates of the cache: what a watch reports, and what it changed in the cache.

use std::sync::Arc;

use rollout_model::{Deployment, Pod, ReplicaSet};

use super::namespaced_name::NamespacedName;

/// An object that a watch reports: its key and its state, `None` if it was deleted.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names are the kinds")]
pub enum CacheUpdate {
    Deployment(NamespacedName, Option<Arc<Deployment>>),
    ReplicaSet(NamespacedName, Option<Arc<ReplicaSet>>),
    Pod(NamespacedName, Option<Arc<Pod>>),
}

/// An applied update: the object before and after it.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names are the kinds")]
pub enum CacheDelta {
    Deployment { key: NamespacedName },
    ReplicaSet { key: NamespacedName, before: Option<Arc<ReplicaSet>>, now: Option<Arc<ReplicaSet>> },
    Pod { key: NamespacedName, before: Option<Arc<Pod>>, now: Option<Arc<Pod>> },
}
