//! The controller with every mutant of the bank in it. A mutant is the controller with one rule
//! changed on purpose; the harness plays cases on each, to prove that a case fails where a rule is
//! wrong (`cargo mutants-bank`).
//!
//! The bank is data, `bank/*.yaml`, a file for each controller:
//!
//! ```yaml
//! - name: unavailable-rounded-up                    # what it is called
//!   does: rounds a percentage of maxUnavailable up  # what it does, after "it"
//!   places:                                         # where it differs, all at once
//!     - file: deployment/sizes.rs                   # beneath controller/src
//!       in: bound(max_unavailable, Round::Down)?    # only where `is` occurs more than once
//!       is: Round::Down                             # an expression of the controller
//!       instead: Round::Up                          # the mutant's
//! ```
//!
//! With the feature `copy`, the build copies `controller/src` and puts a switch at each place
//! (`build/places.rs` says what can be a place). The copy is this crate's root: it has the
//! controller's interface, with `BANK` and `with` besides. With no mutant on it is the controller,
//! which `lockstep mutants` checks on all cases before it plays a mutant. All mutants are compiled
//! at once, because a build for each would take hours.
//!
//! Without the feature the crate is empty, so an ordinary build compiles the controller once. That
//! each place is in the controller exactly once is tested even so (`tests/bank.rs`): a rule cannot
//! change without its mutants.
#![cfg_attr(
    feature = "copy",
    allow(warnings, clippy::all, reason = "a mutant may leave a variable unused or code that is not reached")
)]

#[cfg(feature = "copy")]
mod switch;
#[cfg(feature = "copy")]
pub use switch::with;

/// The controller with one rule changed.
#[cfg(feature = "copy")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mutant {
    /// What it is called.
    pub name: &'static str,
    /// The controller whose rule is changed.
    pub of: ControllerName,
    /// What it does, after "it".
    pub does: &'static str,
}

#[cfg(feature = "copy")]
include!(concat!(env!("OUT_DIR"), "/bank.rs"));
#[cfg(feature = "copy")]
include!(concat!(env!("OUT_DIR"), "/controller/lib.rs"));
