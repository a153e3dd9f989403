//! Expectations: the watch events that a ReplicaSet's own requests must cause before it creates or
//! deletes pods again.
//!
//! Upstream: `UIDTrackingControllerExpectations`. New pods are counted, because the server
//! generates their names. Deleted pods are tracked by name, because each is observed twice, when it
//! starts to terminate and when it is deleted, and must count once. An expectation expires after
//! five minutes, because a watch may have lost the event. The struct has no side effects; the time
//! is an argument.
//!
//! Unlike upstream's, an expectation belongs to one UID. If a ReplicaSet is deleted, one of its
//! pods can disappear first. The controller then creates another pod, and the deletion event that
//! drops the expectation can arrive before the expectation is set. That expectation is never
//! fulfilled, because the pod's owner is unknown by then. Upstream stores it under the name alone,
//! so a ReplicaSet that is created again with that name creates no pod for five minutes (observed
//! with case `rolling/new-replicaset-deleted` in real time).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use controller_client::api::NamespacedName;
use tokio::time::Instant;

/// How long an expectation lasts.
const EXPECTATION_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The expectations of all ReplicaSets.
#[derive(Debug, Default)]
pub(crate) struct Expectations(BTreeMap<NamespacedName, PendingPods>);

#[derive(Debug)]
struct PendingPods {
    /// UID of the ReplicaSet that sent the requests.
    uid: String,
    /// Pods that must still appear; negative if more have appeared than expected.
    creations: i64,
    /// Pods whose deletion must still be observed.
    deletions: BTreeSet<NamespacedName>,
    since: Instant,
}

impl Expectations {
    /// UID of the ReplicaSet of this name that may not create or delete pods yet, because an
    /// expectation is neither fulfilled nor expired.
    pub(crate) fn pending_uid(&self, of: &NamespacedName, now: Instant) -> Option<&str> {
        let expected = self.0.get(of)?;
        let fulfilled = expected.creations <= 0 && expected.deletions.is_empty();
        let over = fulfilled || now.saturating_duration_since(expected.since) > EXPECTATION_TIMEOUT;
        (!over).then_some(&expected.uid)
    }

    /// Expects `count` new pods, and drops all earlier expectations.
    pub(crate) fn expect_creations(&mut self, of: &NamespacedName, uid: &str, count: usize, now: Instant) {
        let creations = i64::try_from(count).unwrap_or(i64::MAX);
        let uid = uid.to_owned();
        self.0.insert(of.clone(), PendingPods { uid, creations, deletions: BTreeSet::new(), since: now });
    }

    /// Expects the deletion of these pods, and drops all earlier expectations.
    pub(crate) fn expect_deletions(
        &mut self,
        of: &NamespacedName,
        uid: &str,
        pods: impl IntoIterator<Item = NamespacedName>,
        now: Instant,
    ) {
        let (uid, deletions) = (uid.to_owned(), pods.into_iter().collect());
        self.0.insert(of.clone(), PendingPods { uid, creations: 0, deletions, since: now });
    }

    /// Records that a pod has appeared, or that its creation failed.
    pub(crate) fn creation_observed(&mut self, of: &NamespacedName) {
        if let Some(expected) = self.0.get_mut(of) {
            expected.creations -= 1;
        }
    }

    /// Records that a pod terminates or is deleted, or that its deletion failed.
    pub(crate) fn deletion_observed(&mut self, of: &NamespacedName, pod: &NamespacedName) {
        if let Some(expected) = self.0.get_mut(of) {
            expected.deletions.remove(pod);
        }
    }

    /// Drops the expectations of a deleted ReplicaSet; without a UID, of any ReplicaSet of this
    /// name.
    pub(crate) fn forget(&mut self, of: &NamespacedName, uid: Option<&str>) {
        if self.0.get(of).is_some_and(|expected| uid.is_none_or(|uid| expected.uid == uid)) {
            self.0.remove(of);
        }
    }
}
