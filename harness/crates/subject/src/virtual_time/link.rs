//! The program of one case, shared between the bubble's task and the handle that ends it. It is
//! locked for one exchange at a time and never while the task waits for the simulation, so ending
//! the task does not block.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockstep_recording::Trouble;

use super::process::BubbleProcess;

/// The program while it is usable, then why it is not.
#[derive(Debug, Clone)]
pub(super) struct ProgramLink(Arc<Mutex<LinkState>>);

#[derive(Debug)]
struct LinkState {
    process: Option<BubbleProcess>,
    trouble: Option<Trouble>,
}

/// The bubble has ended: the link has the trouble, or its case has ended.
#[derive(Debug)]
pub(super) struct BubbleOver;

impl ProgramLink {
    pub(super) fn new(process: BubbleProcess) -> Self {
        Self(Arc::new(Mutex::new(LinkState { process: Some(process), trouble: None })))
    }

    /// Exchanges frames with the program. After a failure, nothing more is exchanged.
    pub(super) fn exchange<T>(
        &self,
        with: impl FnOnce(&mut BubbleProcess) -> Result<T, Trouble>,
    ) -> Result<T, BubbleOver> {
        let mut inner = self.inner();
        let process = inner.process.as_mut().ok_or(BubbleOver)?;
        with(process).map_err(|trouble| {
            // End it now: in virtual time the case may not notice for long.
            inner.process = None;
            inner.trouble = Some(trouble);
            BubbleOver
        })
    }

    /// Whether the program supports advancing its clock before a stimulus, in one turn.
    pub(super) fn knows_after(&self) -> bool {
        self.inner().process.as_ref().is_some_and(|process| process.hello().knows_after())
    }

    /// Why the program is not usable any more.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.inner().trouble.clone()
    }

    /// Ends the bubble; returns the program if it can run another.
    pub(super) fn end(&self) -> Option<BubbleProcess> {
        let mut process = self.inner().process.take()?;
        process.end().then_some(process)
    }

    fn inner(&self) -> MutexGuard<'_, LinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
