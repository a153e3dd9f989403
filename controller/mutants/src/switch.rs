//! Which mutant is on: one a thread, because each thread simulates a cluster of its own.

use std::cell::Cell;

/// Questions after which a mutant is taken for one that never settles: in virtual time a loop
/// without a pause would never end.
const PATIENCE: u32 = 150_000;

thread_local! {
    static ON: Cell<Option<&'static str>> = const { Cell::new(None) };
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

/// Does something with a mutant on, on this thread alone.
pub fn with<T>(mutant: &'static str, something: impl FnOnce() -> T) -> T {
    ON.set(Some(mutant));
    ASKED.set(0);
    let result = something();
    ON.set(None);
    result
}

/// Whether a mutant is on.
pub(crate) fn is_on(mutant: &str) -> bool {
    let asked = ASKED.get().saturating_add(1);
    ASKED.set(asked);
    assert!(ON.get().is_none() || asked < PATIENCE, "a mutant that never settles");
    ON.get() == Some(mutant)
}
