//! The crates that decide. With the feature `mutants` they are copies that contain the mutant bank;
//! without an active mutant these behave the same.

#[cfg(feature = "mutants")]
pub use rollout_controller_mutants::{config_restart as restarts, rollout_rules as rollouts};
#[cfg(not(feature = "mutants"))]
pub use {config_restart as restarts, rollout_rules as rollouts};
