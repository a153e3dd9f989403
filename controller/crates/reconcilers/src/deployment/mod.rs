//! Deployments: observe and apply, around the rules of `rollout-rules`.
//!
//! - `triggers` says which Deployments a change of an object affects.
//! - `observe` takes from the caches the objects that the rules read.
//! - `apply` sends the requests of a plan one after the other and interprets each refusal.
//!
//! - `reconciler` joins them for the runtime, which has the watches and the queue.
//!
//! Only `apply` talks to the API server. Nothing here knows another controller.

mod apply;
mod error;
mod observe;
mod reconciler;
mod triggers;

pub use error::DeploymentSyncError;
pub use reconciler::DeploymentReconciler;

pub use crate::decisions::rollouts::deployment::{
    DeploymentAction, DeploymentChange, DeploymentPlan, Event, EventKind, FailurePolicy, NameConflict, NewReplicaSet,
    ObservedDeployment, PlanError, PlanStep, Planner, ReplicaSetChange, StatusChange, plan, plan_after_conflict,
    plan_after_refusal, sizes,
};
