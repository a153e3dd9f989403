//! What the controller remembers from one sync to the next, shared by its workers and the watches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::expectations::Expectations;
use super::triggers::Wake;
use crate::api::Writes;

/// Both memories, each behind a lock that is never held across a wait.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    expectations: Mutex<Expectations>,
    writes: Mutex<Writes>,
}

impl Memory {
    /// Takes note of what a watch has shown, also before there is leave to act: what is expected is
    /// known by then, too.
    pub(crate) fn note(&self, wake: &Wake) {
        match wake {
            Wake::Changed(_) | Wake::After(..) => {}
            Wake::PodCame(key) => self.expectations().creation_observed(key),
            Wake::PodWent(key, pod) => self.expectations().deletion_observed(key, pod),
            Wake::Gone(key, uid) => {
                self.writes().forget(key, Some(uid));
                self.expectations().forget(key, Some(uid));
            }
        }
    }

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
