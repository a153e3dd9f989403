//! The program of one case, shared between the task that plays the bubble and whoever ends it. It
//! is locked for one exchange at a time and never while the task waits for the simulation, so
//! whoever ends the task finds it free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::process::Process;
use crate::recording::Trouble;

/// The program, as long as it is of use, and then why it is not.
#[derive(Debug, Clone)]
pub(super) struct Link(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    process: Option<Process>,
    trouble: Option<Trouble>,
}

/// The bubble is over: the trouble stands in the link, or its case has ended.
#[derive(Debug)]
pub(super) struct Over;

impl Link {
    pub(super) fn new(process: Process) -> Self {
        Self(Arc::new(Mutex::new(Inner { process: Some(process), trouble: None })))
    }

    /// Exchange something with the program. Once that has failed, nothing more is exchanged.
    pub(super) fn exchange<T>(&self, with: impl FnOnce(&mut Process) -> Result<T, Trouble>) -> Result<T, Over> {
        let mut inner = self.inner();
        let process = inner.process.as_mut().ok_or(Over)?;
        with(process).map_err(|trouble| {
            // Ended here: in virtual time whoever plays the case may not come to it for long.
            inner.process = None;
            inner.trouble = Some(trouble);
            Over
        })
    }

    /// Whether the program lets time pass before a stimulus, in one turn.
    pub(super) fn knows_after(&self) -> bool {
        self.inner().process.as_ref().is_some_and(|process| process.hello().knows_after())
    }

    /// Why the program is of no use any more.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.inner().trouble.clone()
    }

    /// End the bubble; the program, if another can begin in it.
    pub(super) fn end(&self) -> Option<Process> {
        let mut process = self.inner().process.take()?;
        process.end().then_some(process)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
