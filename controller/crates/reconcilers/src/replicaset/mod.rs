//! ReplicaSets: observe and apply, around the rules of `rollout-rules`.
//!
//! - `triggers` says which ReplicaSets a change of an object affects.
//! - `observe` takes from the caches the objects that the rules read.
//! - `apply` sends the requests and interprets each refusal.
//!
//! Unlike a Deployment, a ReplicaSet creates objects under names that the server generates, so a
//! sync on a stale cache would create too many. Two records prevent that: `expectations` has the
//! effects of its own requests that must be observed before it acts again, and the versions of its
//! own writes must be in the caches before it syncs at all.
//!
//! `reconciler` joins them for the runtime, which has the watches and the queue. Only `apply` talks
//! to the API server. Nothing here knows another controller.

mod apply;
mod error;
mod expectations;
mod observe;
mod reconciler;
mod slow_start;
#[cfg(test)]
mod tests;
mod tracker;
mod triggers;

pub use error::ReplicaSetSyncError;
pub use reconciler::ReplicaSetReconciler;

pub use crate::decisions::rollouts::replicaset::{
    ObservedReplicaSet, PodAdjustment, ReplicaSetPlan, ReplicaSetReport, kill_order, plan, report,
};
