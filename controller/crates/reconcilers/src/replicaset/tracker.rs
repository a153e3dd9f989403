//! The records that the ReplicaSet controller keeps between syncs, shared by its workers and the
//! watches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use controller_client::api::{NamespacedName, Resource};

use super::expectations::Expectations;
use super::triggers::SyncReason;
use crate::decisions::rollouts::ConsistencyStore;

/// Expectations and own writes, each behind a lock that is not kept across an await.
#[derive(Debug, Default)]
pub(crate) struct ReplicaSetTracker {
    expectations: Mutex<Expectations>,
    writes: Mutex<ConsistencyStore<NamespacedName, Resource>>,
}

impl ReplicaSetTracker {
    /// Records a watch event, also while this process may not act yet (it is not the leader):
    /// expectations must be complete when it may.
    pub(crate) fn observe(&self, reason: &SyncReason) {
        match reason {
            SyncReason::Changed(_) | SyncReason::After(..) => {}
            SyncReason::PodCreated(key) => self.expectations().creation_observed(key),
            SyncReason::PodDeleted(key, pod) => self.expectations().deletion_observed(key, pod),
            SyncReason::Deleted(key, uid) => {
                self.writes().forget(key, Some(uid));
                self.expectations().forget(key, Some(uid));
            }
        }
    }

    /// The expectations of all ReplicaSets.
    pub(crate) fn expectations(&self) -> MutexGuard<'_, Expectations> {
        // No code panics while it holds the lock, so the data is consistent.
        self.expectations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last writes for each ReplicaSet.
    pub(crate) fn writes(&self) -> MutexGuard<'_, ConsistencyStore<NamespacedName, Resource>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
