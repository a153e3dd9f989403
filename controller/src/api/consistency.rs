//! How new the caches must be before an object is looked at: as new as what was last written for
//! it. A look at anything older is put off, as a failure is. A plain data structure.
//!
//! Upstream: `ConsistencyStore` (gate StaleControllerConsistencyReplicaSet, on since 1.36), for
//! ReplicaSets: written are its status, and pods that it made, adopted or released. Upstream's
//! Deployment controller has none. It ends most syncs with a status that meets a conflict, and
//! while it waits for that the watches catch up; a plan here ends before such a write, and looked
//! again at once at sizes that it had just changed (cases `during/retemplated-after-creation`,
//! `during/new-replicaset-deleted`). So a Deployment is put off as well, but not for ever: upstream
//! decides by what it sees when a watch stays behind, and so does this (case
//! `found/set-again-before-it-is-seen`).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::key::Key;
use super::resource::Resource;

/// What was last written for each object of one controller.
#[derive(Debug, Default)]
pub(crate) struct Writes(BTreeMap<Key, Written>);

#[derive(Debug)]
struct Written {
    /// UID of the object that it was written for.
    of: String,
    versions: BTreeMap<Resource, u64>,
    /// Since when looks are put off for the last write.
    put_off: Option<Instant>,
}

/// A cache that is behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stale {
    pub(crate) resource: Resource,
    pub(crate) wrote: u64,
    pub(crate) read: u64,
}

impl Writes {
    /// An object of a kind was written for another one. A version that is no number cannot be
    /// compared and is not kept.
    pub(crate) fn wrote(&mut self, key: &Key, uid: &str, resource: Resource, version: &str) {
        let Ok(version) = version.parse() else { return };
        let fresh = || Written { of: uid.to_owned(), versions: BTreeMap::new(), put_off: None };
        let written = self.0.entry(key.clone()).or_insert_with(fresh);
        if written.of != uid {
            *written = fresh();
        }
        written.put_off = None;
        let last = written.versions.entry(resource).or_insert(version);
        *last = version.max(*last);
    }

    /// Whether the caches, which have come to the versions that `read` tells, are new enough; what
    /// they have caught up with is forgotten. Where looks have been put off for so long, the caches
    /// are taken as they are.
    ///
    /// # Errors
    /// [`Stale`]: the first that is behind.
    pub(crate) fn check<'a>(
        &mut self,
        key: &Key,
        now: Instant,
        most: Option<Duration>,
        read: impl Fn(Resource) -> &'a str,
    ) -> Result<(), Stale> {
        let Some(written) = self.0.get_mut(key) else { return Ok(()) };
        for (resource, wrote) in &written.versions {
            let Ok(read) = read(*resource).parse() else { continue };
            let since = *written.put_off.get_or_insert(now);
            if *wrote > read && most.is_none_or(|most| now.saturating_duration_since(since) < most) {
                return Err(Stale { resource: *resource, wrote: *wrote, read });
            }
        }
        self.0.remove(key);
        Ok(())
    }

    /// An object is gone; without a UID, whichever it was.
    pub(crate) fn forget(&mut self, key: &Key, uid: Option<&str>) {
        if self.0.get(key).is_some_and(|written| uid.is_none_or(|uid| written.of == uid)) {
            self.0.remove(key);
        }
    }
}
