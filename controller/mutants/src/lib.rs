//! The controller with every mutant of the bank. A mutant is the controller with one rule changed
//! on purpose. The harness runs cases on each mutant, to prove that a case fails when a rule is
//! wrong (`cargo mutants-bank`).
//!
//! The bank is data, `bank/*.yaml`, a file for each controller:
//!
//! ```yaml
//! - name: unavailable-rounded-up                    # its name
//!   does: rounds a percentage of maxUnavailable up  # its behaviour, after "it"
//!   places:                                         # where it differs, all of them
//!     - file: rules/deployment/sizes.rs             # a crate's folder in `sources`, and the path
//! in it
//!       in: bound(max_unavailable, RoundingDirection::Down)?  # only if `is` occurs more than once
//!       is: RoundingDirection::Down                 # an expression of the controller
//!       instead: RoundingDirection::Up              # the mutant's expression
//! ```
//!
//! With the feature `copy`, the build copies the rules, the config restarts and what runs them
//! (`rollout-rules`, `config-restart`, `rollout-controller`) and inserts a switch at each place
//! (`build/switches.rs` defines what can be a place). Objects and the client are those of the
//! controller itself. The copy is this crate's root: it has the controller's interface, and in
//! addition `BANK` and `with_mutant`. Without an active mutant it behaves as the controller, which
//! `lockstep mutants` checks on all cases before it runs a mutant. All mutants are compiled at
//! once, because separate builds would take hours.
//!
//! Without the feature the crate is empty, so an ordinary build compiles the controller once.
//! `tests/bank.rs` checks in any build that each place occurs in the controller exactly once, so a
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
    pub of: ControllerName,
    /// Its behaviour, as the rest of a sentence that begins with "it".
    pub does: &'static str,
}

#[cfg(feature = "copy")]
include!(concat!(env!("OUT_DIR"), "/bank.rs"));
#[cfg(feature = "copy")]
include!(concat!(env!("OUT_DIR"), "/controller/lib.rs"));
