//! What a ReplicaSet's requests must still lead to before it makes or deletes pods again.
//!
//! Upstream: `UIDTrackingControllerExpectations`. New pods are counted, for their names are the server's to choose; deleted ones
//! are known by name, for each shows twice, once on its way out and once gone, and must count once. What has not come about after
//! five minutes is expected no more: a watch may have lost it. A plain data structure; time comes in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::runtime::Key;

/// How long anything is expected.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// What all ReplicaSets expect.
#[derive(Debug, Default)]
pub(crate) struct Expectations(BTreeMap<Key, Expected>);

#[derive(Debug)]
struct Expected {
    /// Pods still to appear; below zero once more have appeared.
    creations: i64,
    /// Pods still to go.
    deletions: BTreeSet<Key>,
    since: Instant,
}

impl Expectations {
    /// Whether a ReplicaSet may go on: nothing is expected any more, or for too long.
    pub(crate) fn are_met(&self, of: &Key, now: Instant) -> bool {
        let Some(expected) = self.0.get(of) else { return true };
        let fulfilled = expected.creations <= 0 && expected.deletions.is_empty();
        fulfilled || now.saturating_duration_since(expected.since) > PATIENCE
    }

    /// So many pods will appear; what else was expected is forgotten.
    pub(crate) fn expect_creations(&mut self, of: &Key, count: usize, now: Instant) {
        let creations = i64::try_from(count).unwrap_or(i64::MAX);
        self.0.insert(of.clone(), Expected { creations, deletions: BTreeSet::new(), since: now });
    }

    /// These pods will go; what else was expected is forgotten.
    pub(crate) fn expect_deletions(&mut self, of: &Key, pods: impl IntoIterator<Item = Key>, now: Instant) {
        let deletions = pods.into_iter().collect();
        self.0.insert(of.clone(), Expected { creations: 0, deletions, since: now });
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

    /// Nothing is expected, for the ReplicaSet is gone.
    pub(crate) fn forget(&mut self, of: &Key) {
        self.0.remove(of);
    }
}
