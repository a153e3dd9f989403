//! Observed state and plan: plain data on both sides, so that tests can compare plans and a harness
//! can replay them.
//!
//! A plan is one run of upstream's `syncDeployment` as data: its API calls, in its order. Where
//! upstream's next call depends on an earlier answer, the plan assumes the answer that a server
//! gives when no other client interferes. Where upstream would write an object that the same sync
//! has already changed (and get a 409 and retry), the plan ends: the watch delivers the new version
//! and starts the next sync.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rollout_model::{Deployment, DeploymentStatus, ModelError, Pod, ReplicaSet};
pub use rollout_model::{Event, EventKind};
use serde_json::Value;
use thiserror::Error;

use crate::{OwnershipChange, RuleSettings};

/// Why planning for a Deployment ended early.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// This controller does not know the strategy.
    #[error("unexpected deployment strategy type: {0:?}; set spec.strategy.type to RollingUpdate or Recreate")]
    Strategy(String),
    /// A field of the Deployment or of a ReplicaSet is invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// One Deployment and every object its rules read, from one state of the caches.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedDeployment {
    /// The Deployment to sync.
    pub deployment: Arc<Deployment>,
    /// ReplicaSets of its namespace, oldest first (creation time, then name). ReplicaSets that
    /// another controller owns may be missing.
    pub replica_sets: Vec<Arc<ReplicaSet>>,
    /// Pods of these ReplicaSets, in any phase, ordered by ReplicaSet and name; only Recreate reads
    /// them.
    pub pods: Vec<Pod>,
}

/// The writes of one sync.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeploymentPlan {
    /// Changes of ownership, made first. They are independent: if one fails, the others are still
    /// made, but no step is.
    pub claims: Vec<OwnershipChange>,
    /// All other actions, in order.
    pub steps: Vec<PlanStep>,
    /// When to sync again even if no object changes.
    pub requeue: Option<Duration>,
    /// The error that ended planning. The steps before it are applied.
    pub failure: Option<PlanError>,
}

/// An action and how its failure is handled.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanStep {
    /// The request or event.
    pub action: DeploymentAction,
    /// How its failure is handled.
    pub on_error: FailurePolicy,
}

/// How the failure of an action affects the rest of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The sync fails and is retried later.
    Fail,
    /// The following steps up to the first with another `on_error` are skipped, and the plan goes
    /// on (upstream: `reconcileOldReplicaSets`).
    SkipGroup,
    /// The plan goes on with the next step.
    Ignore,
}

/// One request to the API server, or an event.
#[derive(Debug, Clone, PartialEq)]
pub enum DeploymentAction {
    /// POST a ReplicaSet.
    CreateReplicaSet(NewReplicaSet),
    /// PUT an existing ReplicaSet.
    UpdateReplicaSet(ReplicaSetChange),
    /// DELETE a ReplicaSet. One that does not exist any more counts as deleted.
    DeleteReplicaSet {
        /// Its name.
        name: String,
    },
    /// PUT the Deployment. Only rollbacks do this.
    UpdateDeployment(DeploymentChange),
    /// PUT the Deployment's status. The revision annotation is written with it; it does not raise
    /// the generation.
    UpdateStatus(StatusChange),
    /// Record an event about the Deployment.
    Event(Event),
}

/// A ReplicaSet to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReplicaSet {
    /// Its name.
    pub name: String,
    /// Its `spec.replicas`.
    pub replicas: i32,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The whole object.
    pub object: Value,
}

/// Changes to one ReplicaSet that are made in one write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicaSetChange {
    /// Its name.
    pub name: String,
    /// Its new `spec.replicas`.
    pub replicas: Option<i32>,
    /// Its new `minReadySeconds`.
    pub min_ready_seconds: Option<i32>,
    /// Annotations to set; the others are kept.
    pub annotations: BTreeMap<String, String>,
}

/// Changes to the Deployment itself.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentChange {
    /// The template to roll back to, if it changes.
    pub template: Option<Value>,
    /// All annotations after the write.
    pub annotations: BTreeMap<String, String>,
}

/// The Deployment's status after the write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The revision annotation, if it changes.
    pub revision: Option<String>,
    /// The status.
    pub status: DeploymentStatus,
}

impl DeploymentPlan {
    /// The actions without their error handling, in order.
    pub fn actions(&self) -> impl Iterator<Item = &DeploymentAction> {
        self.steps.iter().map(|step| &step.action)
    }

    /// Whether the plan writes nothing and reports no error.
    pub fn is_idle(&self) -> bool {
        self.claims.is_empty() && self.steps.is_empty() && self.failure.is_none()
    }
}

/// Decides about one Deployment: [`plan`](super::plan), unless a test replaces it by a wrong one.
pub type Planner = Arc<dyn Fn(&ObservedDeployment, Timestamp, &RuleSettings) -> DeploymentPlan + Send + Sync>;
