//! The mutant bank, where this build has it: wrong controllers in the place of `ours`.

#[cfg(feature = "mutants")]
use super::ours;
use crate::mutants::Mutant;

/// The wrong controllers that this build has: none without the feature `mutants`.
pub fn bank() -> Vec<Mutant> {
    #[cfg(feature = "mutants")]
    return ours::bank();
    #[cfg(not(feature = "mutants"))]
    Vec::new()
}

/// Do something on this thread with a wrong controller in the place of `ours`, if this build has
/// it.
pub fn with_mutant<T>(name: &str, something: impl FnOnce() -> T) -> Option<T> {
    #[cfg(feature = "mutants")]
    return ours::with_mutant(name, something);
    #[cfg(not(feature = "mutants"))]
    {
        let _ = (name, something);
        None
    }
}
