//! What was observed, what is to be done about it, and what is said of it: plain data, so that
//! tests compare.

use std::sync::Arc;

use serde_json::Value;

use crate::model::{Pod, PodCount, ReplicaSet, ReplicaSetStatus};

/// One ReplicaSet and all that its rules look at, as the caches had it at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The ReplicaSet.
    pub replica_set: Arc<ReplicaSet>,
    /// The pods that it owns, by name, and then those of its namespace that have no owner, by name;
    /// each with its traits and counted once. Or only those that it owns, counted by what is asked
    /// of them, in no order.
    pub pods: Vec<PodCount>,
    /// ReplicaSets of the same managing owner, this one included. Needed only where there are too
    /// many pods.
    pub siblings: Vec<Arc<ReplicaSet>>,
    /// Pods of its namespace with their traits, at least those that share a node with one of its
    /// own. Needed only where there are too many pods.
    pub neighbours: Vec<Arc<Pod>>,
    /// Whether its last requests have led to what they were to lead to, so that it may make and
    /// delete pods again.
    pub may_manage: bool,
}

/// What one sync does before it reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Changes of ownership, each for itself: if any fails, the others are still made, and nothing
    /// else is done.
    pub claims: Vec<Claim>,
    /// The pods that count as replicas once these claims are made.
    pub active: Vec<PodCount>,
    /// What is done about their number.
    pub work: Work,
}

impl Plan {
    /// Whether it names pods, so that it must be made from each pod and not from counts.
    #[must_use]
    pub fn names_pods(&self) -> bool {
        !self.claims.is_empty() || matches!(self.work, Work::Delete { .. })
    }
}

/// A change of who owns a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Take one that has no owner, after a live look that the ReplicaSet is still alive.
    Adopt {
        /// Name of the pod.
        name: String,
        /// UID it must still have.
        uid: String,
    },
    /// Let go of one whose labels match no more.
    Release {
        /// Name of the pod.
        name: String,
        /// UID it must still have.
        uid: String,
    },
}

/// What is done about the number of pods.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Nothing.
    Rest,
    /// So many new ones, all from one body.
    Create {
        /// How many.
        count: usize,
        /// The body.
        pod: Value,
    },
    /// These go, in no order.
    Delete {
        /// Their names.
        names: Vec<String>,
    },
    /// Some are missing and none can be made.
    Impossible {
        /// Why.
        why: &'static str,
    },
}

/// What is said of a ReplicaSet when its pods have been seen to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The status.
    pub status: ReplicaSetStatus,
    /// Whether it is worth writing.
    pub is_new: bool,
}
