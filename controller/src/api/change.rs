//! A change of the cache: before it goes in, and after.

use std::sync::Arc;

use super::key::Key;
use crate::model::{Deployment, Pod, ReplicaSet};

/// An object that came, changed or went: its place, and how it is now.
#[derive(Debug)]
pub(crate) enum Change {
    Deployment(Key, Option<Arc<Deployment>>),
    ReplicaSet(Key, Option<Arc<ReplicaSet>>),
    Pod(Key, Option<Arc<Pod>>),
}

/// A change that the cache has taken in: what there was before, and what there is now.
#[derive(Debug)]
pub(crate) enum Changed {
    Deployment { key: Key },
    ReplicaSet { key: Key, before: Option<Arc<ReplicaSet>>, now: Option<Arc<ReplicaSet>> },
    Pod { key: Key, before: Option<Arc<Pod>>, now: Option<Arc<Pod>> },
}
