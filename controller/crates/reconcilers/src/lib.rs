//! What surrounds the rules of the controllers: observe through the caches, call the rules, apply
//! the plan.
//!
//! **Architecture Invariant:** this crate decides nothing about a workload; `rollout-rules` and
//! `config-restart` do. [`deployment`], [`replicaset`] and [`restart`] do not know each other, and
//! nothing here knows which of them run.

mod claims;
pub mod decisions;
pub mod deployment;
pub mod replicaset;
pub mod restart;
mod sync_error;

#[cfg(feature = "mutants")]
pub use rollout_controller_mutants as mutants;
pub use sync_error::SyncError;

pub use crate::decisions::rollouts::RuleSettings;
