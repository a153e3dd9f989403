//! The controller's rules with every mutant of the bank. A mutant is the controller with one rule
//! changed on purpose. The harness runs cases on each mutant, to prove that a case fails when a
//! rule is wrong (`cargo mutants-bank`).
//!
//! The bank is data, `bank/*.yaml`, a file for each controller:
//!
//! ```yaml
//! - name: unavailable-rounded-up                    # its name
//!   does: rounds a percentage of maxUnavailable up  # its behaviour, after "it"
//!   places:                                         # where it differs, all of them
//!     - file: rules/deployment/sizes.rs             # in `sources`
//!       in: bound(max_unavailable, RoundingDirection::Down)?  # only if `is` occurs more than once
//!       is: RoundingDirection::Down                 # an expression of the controller
//!       instead: RoundingDirection::Up              # the mutant's expression
//! ```
//!
//! With the feature `copy`, the build copies the rules and the config restarts (`rollout-rules`,
//! `config-restart`) and inserts a switch at each place (`build/switches.rs` defines what can be a
//! place). Each copy is a module of this crate. `controller-reconcilers` with its feature `mutants`
//! decides by these modules in place of the two crates; nothing else of it is copied. Without an
//! active mutant it behaves as ever, which `lockstep mutants` checks on all cases before it runs a
//! mutant. All mutants are compiled at once, because separate builds would take hours.
//!
//! Without the feature the crate is empty, so an ordinary build compiles the rules once.
//! `tests/bank.rs` checks in any build that each place occurs in the rules exactly once, so a
//! change of a rule requires a change of its mutants.
#![cfg_attr(
    feature = "copy",
    allow(warnings, clippy::all, reason = "a mutant may leave a variable unused or code that is not reached")
)]

#[cfg(feature = "copy")]
mod switch;
#[cfg(feature = "copy")]
pub use switch::with_mutant;

/// The controller with one rule changed.
#[cfg(feature = "copy")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mutant {
    /// Its name.
    pub name: &'static str,
    /// The controller whose rule is changed.
    pub of: MutatedController,
    /// Its behaviour, as the rest of a sentence that begins with "it".
    pub does: &'static str,
}

/// The controller that a rule belongs to.
#[cfg(feature = "copy")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutatedController {
    /// Deployments.
    Deployment,
    /// ReplicaSets.
    ReplicaSet,
    /// Config restarts.
    ConfigRestart,
}

#[cfg(feature = "copy")]
include!(concat!(env!("OUT_DIR"), "/bank.rs"));
