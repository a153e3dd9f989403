//! The rules of ReplicaSets.
//!
//! [`plan`] decides which pods belong to the ReplicaSet, and which to create or delete; [`report`]
//! then decides the status (`decide.rs`). The input is an [`ObservedReplicaSet`], the output a
//! [`ReplicaSetPlan`] and a [`ReplicaSetReport`]; all are plain data (`plan.rs`). [`body`] makes
//! the requests of a plan, and [`burst`] says in which batches they are sent.

pub mod availability;
pub mod body;
pub mod burst;
mod claim;
mod conditions;
mod decide;
pub mod kill_order;
mod label_match_cache;
mod plan;
mod pods_to_delete;
mod rank;
mod status;
#[cfg(test)]
mod tests;

pub use decide::{plan, report};
pub use plan::{ObservedReplicaSet, PodAdjustment, ReplicaSetPlan, ReplicaSetReport};
pub use pods_to_delete::choose as choose_pods_to_delete;
