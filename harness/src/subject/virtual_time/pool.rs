//! Programs that wait for their next case: a start costs a hundred times what a bubble costs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::SubjectError;
use super::process::{PATIENCE, Place, Process};
use super::program::Program;
use crate::supervise::Supervisor;

/// Programs without a case, and the supervisor of all. Nothing runs before the first is taken;
/// clones share one.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Mutex<Inner>>,
    /// How long a program may take to answer, in real time.
    patience: Duration,
}

#[derive(Default)]
struct Inner {
    free: Vec<Process>,
    supervisor: Option<Supervised>,
    /// How many were started.
    started: u32,
}

/// Who ends the programs, and the folder for their files.
struct Supervised {
    supervisor: Supervisor,
    folder: tempfile::TempDir,
}

impl Default for Pool {
    fn default() -> Self {
        Self::with_patience(PATIENCE)
    }
}

impl Pool {
    /// One whose programs may take this long to answer, in real time, before they are ended.
    #[must_use]
    pub fn with_patience(patience: Duration) -> Self {
        Self { inner: Arc::default(), patience }
    }

    /// A program for one case: the one that was put back last, which after a crash in a case is
    /// most likely its own, or a new one.
    pub(super) fn take(&self, program: &Program) -> Result<Process, SubjectError> {
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
        let Supervised { supervisor, folder } = supervised;
        Process::start(program, &Place { supervisor, folder: folder.path(), number, patience: self.patience })
    }

    /// Keep one whose case is over.
    pub(super) fn put(&self, process: Process) {
        if process.is_free() {
            self.inner().free.push(process);
        }
    }

    /// End all programs, and wait until they are gone. Those of cases that are being played end
    /// too.
    pub async fn close(&self) {
        let (free, supervised) = {
            let mut inner = self.inner();
            (std::mem::take(&mut inner.free), inner.supervisor.take())
        };
        drop(free);
        if let Some(Supervised { supervisor, folder }) = supervised {
            supervisor.shutdown().await;
            drop(folder);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn supervised(&mut self) -> Result<&Supervised, SubjectError> {
        if self.supervisor.is_none() {
            let folder = tempfile::Builder::new().prefix("lockstep-virtual-").tempdir()?;
            let supervisor = Supervisor::start(folder.path(), true)?;
            self.supervisor = Some(Supervised { supervisor, folder });
        }
        Ok(self.supervisor.as_ref().expect("it was just put there"))
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inner = self.inner();
        f.debug_struct("Pool").field("free", &inner.free.len()).field("started", &inner.started).finish()
    }
}
