//! What a ReplicaSet's requests must still lead to before it makes or deletes pods again.
//!
//! Upstream: `UIDTrackingControllerExpectations`. New pods are counted, for their names are the
//! server's to choose; deleted ones are known by name, for each shows twice, once on its way out
//! and once gone, and must count once. What has not come about after five minutes is expected no
//! more: a watch may have lost it. A plain data structure; time comes in.
//!
//! Unlike upstream's, an expectation belongs to one UID. A pod of a ReplicaSet that is deleted can
//! disappear first: the controller then creates another, and the deletion event that would drop the
//! expectation can arrive before the expectation is set. It is never met, as the pod's owner is
//! unknown by then. Upstream's is kept under the name alone, so a ReplicaSet that is created again
//! under that name creates no pod for five minutes (seen with case `rolling/new-replicaset-deleted`
//! in real time).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::api::Key;

/// How long anything is expected.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// What all ReplicaSets expect.
#[derive(Debug, Default)]
pub(crate) struct Expectations(BTreeMap<Key, Expected>);

#[derive(Debug)]
struct Expected {
    /// UID of the ReplicaSet whose requests these are.
    uid: String,
    /// Pods still to appear; below zero once more have appeared.
    creations: i64,
    /// Pods still to go.
    deletions: BTreeSet<Key>,
    since: Instant,
}

impl Expectations {
    /// UID of the ReplicaSet of this name that may not create or delete pods yet: its requests have
    /// not led to what they were to lead to, and it is not too long ago.
    pub(crate) fn outstanding(&self, of: &Key, now: Instant) -> Option<&str> {
        let expected = self.0.get(of)?;
        let fulfilled = expected.creations <= 0 && expected.deletions.is_empty();
        let over = fulfilled || now.saturating_duration_since(expected.since) > PATIENCE;
        (!over).then_some(&expected.uid)
    }

    /// So many pods will appear; what else was expected is forgotten.
    pub(crate) fn expect_creations(&mut self, of: &Key, uid: &str, count: usize, now: Instant) {
        let creations = i64::try_from(count).unwrap_or(i64::MAX);
        let uid = uid.to_owned();
        self.0.insert(of.clone(), Expected { uid, creations, deletions: BTreeSet::new(), since: now });
    }

    /// These pods will go; what else was expected is forgotten.
    pub(crate) fn expect_deletions(&mut self, of: &Key, uid: &str, pods: impl IntoIterator<Item = Key>, now: Instant) {
        let (uid, deletions) = (uid.to_owned(), pods.into_iter().collect());
        self.0.insert(of.clone(), Expected { uid, creations: 0, deletions, since: now });
    }

    /// A pod has appeared, or will not.
    pub(crate) fn creation_observed(&mut self, of: &Key) {
        if let Some(expected) = self.0.get_mut(of) {
            expected.creations -= 1;
        }
    }

    /// A pod goes, or will not.
    pub(crate) fn deletion_observed(&mut self, of: &Key, pod: &Key) {
        if let Some(expected) = self.0.get_mut(of) {
            expected.deletions.remove(pod);
        }
    }

    /// Nothing is expected, for the ReplicaSet is gone; without a UID, whichever it was.
    pub(crate) fn forget(&mut self, of: &Key, uid: Option<&str>) {
        if self.0.get(of).is_some_and(|expected| uid.is_none_or(|uid| expected.uid == uid)) {
            self.0.remove(of);
        }
    }
}
