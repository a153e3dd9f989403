//! The active mutant, one for each thread, because each thread simulates its own cluster.

use std::cell::Cell;

/// The number of checks after which a mutant counts as one that never settles: in virtual time a
/// loop without a pause would not end.
const CHECK_LIMIT: u32 = 150_000;

thread_local! {
    static ON: Cell<Option<&'static str>> = const { Cell::new(None) };
    static CHECKS: Cell<u32> = const { Cell::new(0) };
}

/// Calls a function with a mutant active on this thread.
pub fn with_mutant<T>(mutant: &'static str, something: impl FnOnce() -> T) -> T {
    ON.set(Some(mutant));
    CHECKS.set(0);
    let result = something();
    ON.set(None);
    result
}

/// Whether a mutant is active on this thread.
pub(crate) fn is_on(mutant: &str) -> bool {
    let checks = CHECKS.get().saturating_add(1);
    CHECKS.set(checks);
    assert!(ON.get().is_none() || checks < CHECK_LIMIT, "a mutant that never settles");
    ON.get() == Some(mutant)
}
