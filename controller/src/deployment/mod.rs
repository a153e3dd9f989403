//! Deployments: observe, plan, apply.
//!
//! `triggers` says which Deployments a change wakes. `observe` takes from the caches what the rules
//! look at. [`plan`] (`decide.rs`) decides, and is pure: one file for each group of rules, each
//! naming the function of upstream that it follows and the case that pins it. `apply` carries the
//! decisions out, one request after the other, and knows what each refusal means.
//!
//! An [`Observed`] comes in, a [`Plan`] goes out, both plain data (`plan.rs`), and through `apply`
//! requests and events. Borders: only `apply` talks to the API server and reads a clock; nothing in
//! here knows a queue, a watch, or another controller.

mod apply;
mod body;
mod claim;
mod create;
mod decide;
mod error;
mod fixed;
mod history;
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
pub(crate) mod triggers;

pub(crate) use apply::{Tools, apply};
pub use create::{Taken, plan_after_conflict, plan_after_refusal};
pub use decide::plan;
pub use error::{ApplyError, PlanError};
pub(crate) use observe::observe;
pub use plan::{
    Action, Claim, DeploymentChange, Event, EventKind, NewReplicaSet, Observed, OnError, Plan, Planner,
    ReplicaSetChange, StatusChange, Step,
};
