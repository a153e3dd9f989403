//! The rules of the Deployment and ReplicaSet controllers.
//!
//! **Architecture Invariant:** this crate knows objects (`rollout-model`) only: no client, no
//! cache, no async code, no clock and no randomness. [`deployment`] and [`replicaset`] do not know
//! each other.
//!
//! For each controller, `plan` is a pure function. It takes what was observed, the time and the
//! settings, and returns what to do as plain data. There is one file for each group of rules. The
//! first line of each names the API field it is about; the rest names upstream's function and the
//! cases that pin the rule.

mod consistency;
#[cfg(test)]
mod consistency_test;
pub mod deployment;
mod merge_sort;
mod ownership;
pub mod replicaset;
mod settings;

pub use consistency::{ConsistencyStore, StaleCache, WaitLimit};
pub use ownership::OwnershipChange;
pub use settings::{Compatibility, RuleSettings};
