//! Skips a sync until the caches have the controller's last write for the object. A skipped sync is
//! retried as a failed one is. A plain data structure.
//!
//! Upstream: `ConsistencyStore` (gate StaleControllerConsistencyReplicaSet, on since 1.36), for
//! ReplicaSets: it tracks writes of the status, and of pods that were created, adopted or released.
//! Upstream's Deployment controller has none: it ends most syncs with a status write that meets a
//! conflict, and the watches catch up during the retry. A plan here ends before such a write, and
//! the next sync decided on sizes that had just changed (cases `during/retemplated-after-creation`,
//! `during/new-replicaset-deleted`). So Deployments are tracked as well, with a maximum wait: if a
//! watch stays behind, upstream decides by what it sees, and so does this controller (case
//! `found/set-again-before-it-is-seen`).

use std::collections::BTreeMap;
use std::time::Duration;

use controller_client::api::{NamespacedName, Resource};
use tokio::time::Instant;

/// The last writes for each object of one controller.
#[derive(Debug, Default)]
pub(crate) struct ConsistencyStore(BTreeMap<NamespacedName, ObjectWrites>);

#[derive(Debug)]
struct ObjectWrites {
    /// UID of the object that the writes are for.
    uid: String,
    versions: BTreeMap<Resource, u64>,
    /// Since when syncs wait for the last write.
    waiting_since: Option<Instant>,
}

/// A cache that is older than a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stale {
    pub(crate) resource: Resource,
    pub(crate) written_version: u64,
    pub(crate) read_version: u64,
}

impl ConsistencyStore {
    /// Records a write of `resource` for an object. A version that is not a number cannot be
    /// compared, and is ignored.
    pub(crate) fn record_write(&mut self, key: &NamespacedName, uid: &str, resource: Resource, version: &str) {
        let Ok(version) = version.parse() else { return };
        let fresh = || ObjectWrites { uid: uid.to_owned(), versions: BTreeMap::new(), waiting_since: None };
        let writes = self.0.entry(key.clone()).or_insert_with(fresh);
        if writes.uid != uid {
            *writes = fresh();
        }
        writes.waiting_since = None;
        let last = writes.versions.entry(resource).or_insert(version);
        *last = version.max(*last);
    }

    /// Checks that the caches, whose versions `read` returns, include all writes for the object,
    /// and forgets the writes if they do. After `max_wait` the caches are accepted as they are.
    ///
    /// # Errors
    /// [`Stale`]: the first cache that is behind.
    pub(crate) fn check<'a>(
        &mut self,
        key: &NamespacedName,
        now: Instant,
        max_wait: Option<Duration>,
        read: impl Fn(Resource) -> &'a str,
    ) -> Result<(), Stale> {
        let Some(writes) = self.0.get_mut(key) else { return Ok(()) };
        for (resource, write) in &writes.versions {
            let Ok(read_version) = read(*resource).parse() else { continue };
            let since = *writes.waiting_since.get_or_insert(now);
            if *write > read_version && max_wait.is_none_or(|max_wait| now.saturating_duration_since(since) < max_wait)
            {
                return Err(Stale { resource: *resource, written_version: *write, read_version });
            }
        }
        self.0.remove(key);
        Ok(())
    }

    /// Forgets a deleted object; without a UID, any object of that name.
    pub(crate) fn forget(&mut self, key: &NamespacedName, uid: Option<&str>) {
        if self.0.get(key).is_some_and(|writes| uid.is_none_or(|uid| writes.uid == uid)) {
            self.0.remove(key);
        }
    }
}
