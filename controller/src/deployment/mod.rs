//! Deployments: observe, plan, apply.
//!
//! `observe` takes from the caches what the rules look at. [`plan`] decides, and is pure: one file for each
//! group of rules, each naming the function of upstream that it follows and the case that pins it. `apply` carries the decisions
//! out, one request after the other, and knows what each refusal means.
//!
//! Borders: only `apply` talks to the API server; nothing in here reads a clock.

mod apply;
mod body;
mod claim;
mod create;
mod error;
mod history;
mod mended;
mod observe;
mod pause;
mod plan;
mod progress;
mod recreate;
mod revision;
mod rollback;
mod rolling;
mod scale;
mod select;
pub mod sizes;
mod status;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use apply::{Tools, apply};
pub use create::{Taken, plan_after_conflict, plan_after_refusal};
pub use error::{ApplyError, PlanError};
pub(crate) use observe::observe;
pub use plan::{
    Action, Claim, DeploymentChange, Event, EventKind, NewReplicaSet, Observed, OnError, Plan, ReplicaSetChange,
    StatusChange, Step, plan,
};
