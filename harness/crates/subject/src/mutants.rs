//! The mutant bank, if this build has it: mutants in place of `ours`.

use lockstep_recording::controllers::Controller;

#[cfg(feature = "mutants")]
use super::ours;

/// A controller with one rule changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The name.
    pub name: String,
    /// The controller whose rule is changed.
    pub controller: Controller,
    /// What it does differently, worded to follow "it".
    pub behaviour: String,
}

/// The mutants of this build: none without the feature `mutants`.
pub fn list_mutants() -> Vec<Mutant> {
    #[cfg(feature = "mutants")]
    return ours::list_mutants();
    #[cfg(not(feature = "mutants"))]
    Vec::new()
}

/// Calls a function with a mutant in place of `ours` on this thread, if this build has it.
pub fn with_mutant<T>(name: &str, function: impl FnOnce() -> T) -> Option<T> {
    #[cfg(feature = "mutants")]
    return ours::with_mutant(name, function);
    #[cfg(not(feature = "mutants"))]
    {
        let _ = (name, function);
        None
    }
}
