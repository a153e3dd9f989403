//! Skips a sync until the caches have the controller's last write for the object. A skipped sync is
//! retried as a failed one is. A plain data structure; the time is an argument.
//!
//! Upstream: `ConsistencyStore` (gate StaleControllerConsistencyReplicaSet, on since 1.36), for
//! ReplicaSets: it tracks writes of the status, and of pods that were created, adopted or released.
//! Upstream's Deployment controller has none: it ends most syncs with a status write that meets a
//! conflict, and the watches catch up during the retry. A plan here ends before such a write, and
//! the next sync decided on sizes that had just changed. So Deployments are tracked as well, with a
//! maximum wait: if a watch stays behind, upstream decides by what it sees, and so does this
//! controller.
//!
//! Cases: `during/retemplated-after-creation`, `during/new-replicaset-deleted`,
//! `found/set-again-before-it-is-seen`.

use std::collections::BTreeMap;
use std::time::Duration;

/// The last writes for each object of one controller: `K` names an object, `R` the resource that
/// was written.
#[derive(Debug)]
pub struct ConsistencyStore<K, R>(BTreeMap<K, ObjectWrites<R>>);

#[derive(Debug)]
struct ObjectWrites<R> {
    /// UID of the object that the writes are for.
    uid: String,
    versions: BTreeMap<R, u64>,
    /// Since when syncs wait for the last write.
    waiting_since: Option<Duration>,
}

/// For how long syncs wait for a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimit {
    /// The current time, from any start.
    pub now: Duration,
    /// The longest wait.
    pub longest: Duration,
}

/// A cache that is older than a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleCache<R> {
    /// What the cache holds.
    pub resource: R,
    /// The resourceVersion that was written.
    pub written_version: u64,
    /// The resourceVersion that the cache has reached.
    pub read_version: u64,
}

impl<K, R> Default for ConsistencyStore<K, R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Clone, R: Ord + Copy> ConsistencyStore<K, R> {
    /// Records a write of `resource` for an object. A version that is not a number cannot be
    /// compared, and is ignored.
    pub fn record_write(&mut self, key: &K, uid: &str, resource: R, version: &str) {
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
    /// and forgets the writes if they do. At the limit the caches are accepted as they are.
    ///
    /// # Errors
    /// [`StaleCache`]: the first cache that is behind.
    pub fn check<'a>(
        &mut self,
        key: &K,
        limit: Option<WaitLimit>,
        read: impl Fn(R) -> &'a str,
    ) -> Result<(), StaleCache<R>> {
        let Some(writes) = self.0.get_mut(key) else { return Ok(()) };
        for (resource, write) in &writes.versions {
            let Ok(read_version) = read(*resource).parse() else { continue };
            let mut may_wait = |WaitLimit { now, longest }: WaitLimit| {
                now.saturating_sub(*writes.waiting_since.get_or_insert(now)) < longest
            };
            if *write > read_version && limit.is_none_or(&mut may_wait) {
                return Err(StaleCache { resource: *resource, written_version: *write, read_version });
            }
        }
        self.0.remove(key);
        Ok(())
    }

    /// Forgets a deleted object; without a UID, any object of that name.
    pub fn forget(&mut self, key: &K, uid: Option<&str>) {
        if self.0.get(key).is_some_and(|writes| uid.is_none_or(|uid| writes.uid == uid)) {
            self.0.remove(key);
        }
    }
}
