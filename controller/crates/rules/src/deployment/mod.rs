//! The rules of Deployments.
//!
//! [`plan`] (`decide.rs`) decides and has no side effects. The input is an [`ObservedDeployment`],
//! the output a [`DeploymentPlan`]; both are plain data (`plan.rs`). [`body`] makes the requests of
//! a plan.

pub mod body;
mod claim;
mod compatibility;
mod create;
mod decide;
mod history;
mod pause;
mod plan;
mod progress;
mod recreate;
mod replica_sets;
mod revision;
mod rollback;
mod rolling;
mod scale;
pub mod sizes;
mod status;
mod sync;
#[cfg(test)]
mod tests;

pub use create::{NameConflict, plan_after_conflict, plan_after_refusal, reapply_creation_status};
pub use decide::plan;
pub use plan::{
    DeploymentAction, DeploymentChange, DeploymentPlan, Event, EventKind, FailurePolicy, NewReplicaSet,
    ObservedDeployment, PlanError, PlanStep, Planner, ReplicaSetChange, StatusChange,
};
