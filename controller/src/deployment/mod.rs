//! Deployments: observe, plan, apply.
//!
//! - `triggers` says which Deployments a change of an object affects.
//! - `observe` takes from the caches the objects that the rules read.
//! - [`plan`] (`decide.rs`) decides and has no side effects: one file for each group of rules. The
//!   first line of each file names the API field it is about; the rest names upstream's function
//!   and the cases that pin the rule.
//! - `apply` sends the requests of a plan one after the other and interprets each refusal.
//!
//! The input is an [`ObservedDeployment`], the output a [`DeploymentPlan`]; both are plain data
//! (`plan.rs`). Only `apply` talks to the API server and reads a clock. Nothing here knows a queue,
//! a watch, or another controller.

mod apply;
mod body;
mod claim;
mod compatibility;
mod create;
mod decide;
mod error;
mod history;
mod observe;
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
pub(crate) mod triggers;

pub(crate) use apply::{DeploymentContext, apply};
pub use create::{NameConflict, plan_after_conflict, plan_after_refusal};
pub use decide::plan;
pub use error::{DeploymentSyncError, PlanError};
pub(crate) use observe::observe;
pub use plan::{
    DeploymentAction, DeploymentChange, DeploymentPlan, Event, EventKind, NewReplicaSet, ObservedDeployment, OnError,
    PlanStep, Planner, ReplicaSetChange, ReplicaSetClaim, StatusChange,
};
