//! A pool of programs that wait for their next case, because starting one costs a hundred times as
//! much as a bubble; and the link to the program of one case.
//!
//! The bubble's task and the handle that ends it share the link. It is locked for one exchange at a
//! time and never while the task waits for the simulation, so ending the task does not block.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstep_cluster::supervise::Supervisor;
use lockstep_recording::Trouble;

use super::process::{ANSWER_TIMEOUT, BubbleProcess, ProcessPlacement};
use super::program::VirtualProgram;
use crate::SubjectError;

/// The programs without a case, and their supervisor. It starts with the first program; clones
/// share the pool.
#[derive(Clone)]
pub struct ProgramPool {
    inner: Arc<Mutex<PoolState>>,
    /// The time limit for an answer, in real time.
    timeout: Duration,
}

#[derive(Default)]
struct PoolState {
    free: Vec<BubbleProcess>,
    supervisor: Option<PoolSupervisor>,
    /// The number of started programs.
    started: u32,
}

/// The supervisor of the programs, and the folder for their files.
struct PoolSupervisor {
    supervisor: Supervisor,
    folder: tempfile::TempDir,
}

/// The parameters of a subject in virtual time.
#[derive(Debug, Clone)]
pub struct VirtualTime {
    /// The pool of programs between cases.
    pub pool: ProgramPool,
    /// The seed for the order of stimuli at one instant.
    pub seed: u64,
}

impl Default for ProgramPool {
    fn default() -> Self {
        Self::with_timeout(ANSWER_TIMEOUT)
    }
}

impl ProgramPool {
    /// A pool whose programs are ended if they do not answer within this real time.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        Self { inner: Arc::default(), timeout }
    }

    /// A program for one case: the one that was returned last, which after a crash is most likely
    /// the case's own, or a new one.
    pub(super) fn take(&self, program: &VirtualProgram) -> Result<BubbleProcess, SubjectError> {
        let mut inner = self.inner();
        while let Some(at) = inner.free.iter().rposition(|process| process.program() == program) {
            let process = inner.free.remove(at);
            if process.is_free() {
                return Ok(process);
            }
        }
        inner.started += 1;
        let number = inner.started;
        let supervised = inner.supervised()?;
        let PoolSupervisor { supervisor, folder } = supervised;
        BubbleProcess::start(
            program,
            &ProcessPlacement { supervisor, folder: folder.path(), number, timeout: self.timeout },
        )
    }

    /// Returns a program whose case is over.
    pub(super) fn put(&self, process: BubbleProcess) {
        if process.is_free() {
            self.inner().free.push(process);
        }
    }

    /// Ends all programs, and waits until they have exited. Those of running cases end too.
    pub async fn close(&self) {
        let (free, supervised) = {
            let mut inner = self.inner();
            (std::mem::take(&mut inner.free), inner.supervisor.take())
        };
        drop(free);
        if let Some(PoolSupervisor { supervisor, folder }) = supervised {
            supervisor.shutdown().await;
            drop(folder);
        }
    }

    fn inner(&self) -> MutexGuard<'_, PoolState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolState {
    fn supervised(&mut self) -> Result<&PoolSupervisor, SubjectError> {
        if self.supervisor.is_none() {
            let folder = tempfile::Builder::new().prefix("lockstep-virtual-").tempdir()?;
            let supervisor = Supervisor::start(folder.path(), true)?;
            supervisor.end_orphans()?;
            self.supervisor = Some(PoolSupervisor { supervisor, folder });
        }
        Ok(self.supervisor.as_ref().expect("it was just put there"))
    }
}

impl std::fmt::Debug for ProgramPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inner = self.inner();
        f.debug_struct("ProgramPool").field("free", &inner.free.len()).field("started", &inner.started).finish()
    }
}

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
pub(super) struct EndedBubble;

impl ProgramLink {
    pub(super) fn new(process: BubbleProcess) -> Self {
        Self(Arc::new(Mutex::new(LinkState { process: Some(process), trouble: None })))
    }

    /// Exchanges frames with the program. After a failure, nothing more is exchanged.
    pub(super) fn exchange<T>(
        &self,
        with: impl FnOnce(&mut BubbleProcess) -> Result<T, Trouble>,
    ) -> Result<T, EndedBubble> {
        let mut inner = self.inner();
        let process = inner.process.as_mut().ok_or(EndedBubble)?;
        with(process).map_err(|trouble| {
            // End it now: in virtual time the case may not notice for long.
            inner.process = None;
            inner.trouble = Some(trouble);
            EndedBubble
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
