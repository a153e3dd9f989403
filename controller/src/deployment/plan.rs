//! What was observed, what is to be done about it: plain data on both sides, so that tests compare
//! and harnesses replay.
//!
//! A plan is one sync of upstream's `syncDeployment` written down: its API calls, in its order.
//! Where upstream's next call hangs on an earlier answer, the plan goes on with the answer that a
//! server gives when nobody interferes. Where upstream would write an object that it has itself
//! just made out of date (and get a 409, and come back later), the plan ends: the watch brings the
//! new version, and with it the next sync.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::PlanError;
use crate::model::{Deployment, DeploymentStatus, Pod, ReplicaSet};
pub use crate::model::{Event, EventKind};
use crate::settings::Settings;

/// One Deployment and all that its rules look at, as the caches had it at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The Deployment.
    pub deployment: Arc<Deployment>,
    /// ReplicaSets of its namespace, oldest first (creation, then name). Those that another
    /// controller owns may be left out.
    pub replica_sets: Vec<Arc<ReplicaSet>>,
    /// Pods that these ReplicaSets own, in any phase, by ReplicaSet and name; only Recreate needs
    /// them.
    pub pods: Vec<Pod>,
}

/// What one sync does.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Changes of ownership, first and each for itself: if any fails, the others are still made,
    /// and no step is.
    pub claims: Vec<Claim>,
    /// Everything else, in order.
    pub steps: Vec<Step>,
    /// When to look again even if nothing changes.
    pub requeue: Option<Duration>,
    /// What makes more impossible; the steps before it are carried out.
    pub failure: Option<PlanError>,
}

/// A change of who owns a ReplicaSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Take one that nobody owns, after a live look that the Deployment is still alive.
    Adopt {
        /// Name of the ReplicaSet.
        name: String,
        /// UID it must still have.
        uid: String,
    },
    /// Let go of one whose labels match no more.
    Release {
        /// Name of the ReplicaSet.
        name: String,
        /// UID it must still have.
        uid: String,
    },
}

/// An action and what its failure means.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// What its failure means.
    pub on_error: OnError,
}

/// What the failure of an action means for the rest of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The sync fails and is tried again later.
    Fail,
    /// The rest of this unbroken run of steps is left out, and the plan goes on (upstream:
    /// `reconcileOldReplicaSets`).
    LeaveGroup,
    /// Nothing.
    Ignore,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// POST a ReplicaSet.
    CreateReplicaSet(NewReplicaSet),
    /// PUT an existing ReplicaSet.
    UpdateReplicaSet(ReplicaSetChange),
    /// DELETE a ReplicaSet; one that is gone already is as good.
    DeleteReplicaSet {
        /// Its name.
        name: String,
    },
    /// PUT the Deployment: rollbacks only.
    UpdateDeployment(DeploymentChange),
    /// PUT the Deployment's status; the revision annotation travels with it, which does not count
    /// as a new generation.
    UpdateStatus(StatusChange),
    /// Record an event about the Deployment.
    Event(Event),
}

/// A ReplicaSet to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReplicaSet {
    /// Its name.
    pub name: String,
    /// Its size.
    pub replicas: i32,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The whole object.
    pub object: Value,
}

/// Changes to one ReplicaSet, made in one write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicaSetChange {
    /// Its name.
    pub name: String,
    /// Its new size.
    pub replicas: Option<i32>,
    /// Its new `minReadySeconds`.
    pub min_ready_seconds: Option<i32>,
    /// Annotations to set; others stay.
    pub annotations: BTreeMap<String, String>,
}

/// Changes to the Deployment itself.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentChange {
    /// The template to go back to, if it changes.
    pub template: Option<Value>,
    /// All annotations that it will have.
    pub annotations: BTreeMap<String, String>,
}

/// What the Deployment's status will say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The revision annotation, if it changes.
    pub revision: Option<String>,
    /// The status.
    pub status: DeploymentStatus,
}

impl Plan {
    /// The actions alone, in order.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.steps.iter().map(|step| &step.action)
    }

    /// Whether nothing is to be written.
    pub fn is_idle(&self) -> bool {
        self.claims.is_empty() && self.steps.is_empty() && self.failure.is_none()
    }
}

/// What decides: [`plan`](super::plan), unless a test wants one that is wrong.
pub type Planner = Arc<dyn Fn(&Observed, Timestamp, &Settings) -> Plan + Send + Sync>;
