//! The supervisor of a cluster's programs, as a process sees it that uses the cluster: its own, or
//! another process's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::facts::Facts;
use super::{ClusterError, place};
use crate::supervise::{ProcessId, SuperviseError, Supervisor, Until};

/// Who ends a cluster's programs.
#[derive(Debug, Clone)]
pub(super) struct Keeper {
    process: ProcessId,
    /// Held by the process that the cluster belongs to: the last clone ends it.
    own: Option<Arc<Supervisor>>,
}

/// A new folder inside of `parent` for a cluster's files, and the supervisor that removes it in the
/// end.
pub(super) fn supervised(parent: &Path) -> Result<(PathBuf, Supervisor), ClusterError> {
    let dir = place::fresh(parent)?;
    let supervisor = Supervisor::start(&dir, true).inspect_err(|_| {
        // No supervisor removes it; if this fails too, an empty folder for temporary files stays.
        let _ = std::fs::remove_dir_all(&dir);
    })?;
    Ok((dir, supervisor))
}

impl Keeper {
    /// The cluster belongs to this process.
    pub(super) fn own(supervisor: Supervisor) -> Self {
        Self { process: supervisor.process(), own: Some(Arc::new(supervisor)) }
    }

    /// The cluster ends when this supervisor does.
    pub(super) fn elsewhere(process: ProcessId) -> Self {
        Self { process, own: None }
    }

    pub(super) fn process(&self) -> ProcessId {
        self.process
    }

    pub(super) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Whether the supervisor and every program still run.
    pub(super) fn is_alive(&self, facts: &Facts) -> bool {
        self.process.is_alive() && facts.programs.values().all(ProcessId::is_alive)
    }

    /// Let the supervisor live on without this process.
    pub(super) fn detach(self, until: Until) -> Result<Self, SuperviseError> {
        match self.own.and_then(Arc::into_inner) {
            Some(supervisor) => Ok(Self::elsewhere(supervisor.detach(until)?)),
            None => Ok(Self::elsewhere(self.process)),
        }
    }

    /// End everything and wait until nothing is left. Does nothing where the supervisor is another
    /// process's, or another clone is left.
    pub(super) async fn end(self, facts: &Facts) {
        if let Some(supervisor) = self.own.and_then(Arc::into_inner) {
            facts.kill_programs();
            supervisor.shutdown().await;
        }
    }

    /// End everything, whoever's supervisor it is. Blocks for as long as `patience`.
    pub(super) fn abandon(&self, facts: &Facts, patience: Duration) {
        facts.kill_programs();
        self.process.terminate(patience);
    }
}
