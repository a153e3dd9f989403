//! What the controller remembers from one sync to the next, shared by its workers and the watches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::expectations::Expectations;
use crate::runtime::Writes;

/// Both memories, each behind a lock that is never held across a wait.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    expectations: Mutex<Expectations>,
    writes: Mutex<Writes>,
}

impl Memory {
    /// What is expected.
    pub(crate) fn expectations(&self) -> MutexGuard<'_, Expectations> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.expectations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was written.
    pub(crate) fn writes(&self) -> MutexGuard<'_, Writes> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
