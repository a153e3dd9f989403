//! ReplicaSets: observe, plan, apply.
//!
//! - `triggers` says which ReplicaSets a change of an object affects.
//! - `observe` takes from the caches the objects that the rules read.
//! - [`plan`] decides which pods belong to the ReplicaSet, and which to create or delete;
//!   [`report`] then decides the status (`decide.rs`). Both have no side effects: one file for each
//!   group of rules. The first line of each file names the API field or the term it is about; the
//!   rest names upstream's function.
//! - `apply` sends the requests and interprets each refusal.
//!
//! Unlike a Deployment, a ReplicaSet creates objects under names that the server generates, so a
//! sync on a stale cache would create too many. Two records prevent that: `expectations` has the
//! effects of its own requests that must be observed before it acts again, and the versions of its
//! own writes must be in the caches before it syncs at all.
//!
//! The input is an [`ObservedReplicaSet`], the output a [`ReplicaSetPlan`] and a
//! [`ReplicaSetReport`]; all are plain data (`plan.rs`). Only `apply` talks to the API server and
//! reads a clock. Nothing here knows a queue, a watch, or another controller.

mod apply;
mod availability;
mod body;
mod burst;
mod claim;
mod conditions;
mod decide;
mod error;
pub(crate) mod expectations;
pub mod kill_order;
mod label_match_cache;
mod observe;
mod plan;
mod pods_to_delete;
mod rank;
mod status;
#[cfg(test)]
mod tests;
mod tracker;
pub(crate) mod triggers;

pub(crate) use apply::{ReplicaSetContext, apply};
pub use decide::{plan, report};
pub use error::ReplicaSetSyncError;
pub(crate) use observe::{observe, observe_counts};
pub use plan::{ObservedReplicaSet, PodAdjustment, PodClaim, ReplicaSetPlan, ReplicaSetReport};
pub(crate) use tracker::ReplicaSetTracker;
