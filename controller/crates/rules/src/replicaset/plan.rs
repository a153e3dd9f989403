//! Observed state, plan and status report: plain data, so that tests can compare them.

use std::sync::Arc;

use rollout_model::{Pod, PodCount, ReplicaSet, ReplicaSetStatus};
use serde_json::Value;

use crate::OwnershipChange;

/// One ReplicaSet and every object its rules read, from one state of the caches.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedReplicaSet {
    /// The ReplicaSet to sync.
    pub replica_set: Arc<ReplicaSet>,
    /// Either the pods that it owns, by name, and then the orphaned pods of its namespace, by name,
    /// each with its traits and with count 1; or only the pods that it owns, grouped with those
    /// that the rules do not distinguish, in no order.
    pub pods: Vec<PodCount>,
    /// ReplicaSets with the same controller owner, this one included. Needed only if there are too
    /// many pods.
    pub siblings: Vec<Arc<ReplicaSet>>,
    /// Pods of its namespace with their traits, at least those that share a node with one of its
    /// own pods. Needed only if there are too many pods.
    pub neighbours: Vec<Arc<Pod>>,
    /// Whether its expectations are fulfilled or expired, so that it may create and delete pods.
    pub can_manage_pods: bool,
}

/// What one sync does before it updates the status.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaSetPlan {
    /// Changes of ownership. They are independent: if one fails, the others are still made, but
    /// nothing else is done.
    pub claims: Vec<OwnershipChange>,
    /// The pods that count as replicas after the claims.
    pub active: Vec<PodCount>,
    /// How their number is changed.
    pub adjustment: PodAdjustment,
}

impl ReplicaSetPlan {
    /// Whether the plan names pods. Such a plan must be made from individual pods, not from counts.
    #[must_use]
    pub fn has_named_pods(&self) -> bool {
        !self.claims.is_empty() || matches!(self.adjustment, PodAdjustment::Delete { .. })
    }
}

/// A change of the number of pods.
#[derive(Debug, Clone, PartialEq)]
pub enum PodAdjustment {
    /// No pod is created or deleted.
    Nothing,
    /// Creates pods, all from one body.
    Create {
        /// How many pods.
        count: usize,
        /// The body of the request.
        pod: Value,
    },
    /// Deletes these pods, in no order.
    Delete {
        /// Their names.
        names: Vec<String>,
    },
    /// Pods are missing, but none can be created.
    Impossible {
        /// The reason.
        why: &'static str,
    },
}

/// The status to write after pods were created or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSetReport {
    /// The status.
    pub status: ReplicaSetStatus,
    /// Whether it differs from the current status.
    pub is_changed: bool,
}
