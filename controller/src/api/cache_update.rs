//! Updates of the cache: what a watch reports, and what it changed in the cache.

use std::sync::Arc;

use super::namespaced_name::NamespacedName;
use crate::model::{Deployment, Pod, ReplicaSet};

/// An object that a watch reports: its key and its state, `None` if it was deleted.
#[derive(Debug)]
pub(crate) enum CacheUpdate {
    Deployment(NamespacedName, Option<Arc<Deployment>>),
    ReplicaSet(NamespacedName, Option<Arc<ReplicaSet>>),
    Pod(NamespacedName, Option<Arc<Pod>>),
}

/// An applied update: the object before and after it.
#[derive(Debug)]
pub(crate) enum CacheDelta {
    Deployment { key: NamespacedName },
    ReplicaSet { key: NamespacedName, before: Option<Arc<ReplicaSet>>, now: Option<Arc<ReplicaSet>> },
    Pod { key: NamespacedName, before: Option<Arc<Pod>>, now: Option<Arc<Pod>> },
}
