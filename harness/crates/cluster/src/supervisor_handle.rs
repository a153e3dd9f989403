//! A handle on the supervisor of a cluster's programs, which belongs to this process or to another
//! one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::facts::ClusterFacts;
use super::{ClusterError, user_dir};
use crate::supervise::{DetachOptions, ProcessId, SuperviseError, Supervisor};

/// The supervisor that ends a cluster's programs.
#[derive(Debug, Clone)]
pub(super) struct SupervisorHandle {
    process: ProcessId,
    /// `Some` in the process that owns the cluster; dropping the last clone ends it.
    supervisor: Option<Arc<Supervisor>>,
}

/// Creates a folder in `parent` for a cluster's files, and starts the supervisor that removes it at
/// the end.
pub(super) fn start_supervisor(parent: &Path) -> Result<(PathBuf, Supervisor), ClusterError> {
    let dir = user_dir::create_cluster_dir(parent)?;
    let supervisor = Supervisor::start(&dir, true).inspect_err(|_| {
        // There is no supervisor to remove it; if this fails too, an empty temporary folder stays.
        let _ = std::fs::remove_dir_all(&dir);
    })?;
    Ok((dir, supervisor))
}

impl SupervisorHandle {
    /// A supervisor of this process, which owns the cluster.
    pub(super) fn owned(supervisor: Supervisor) -> Self {
        Self { process: supervisor.process(), supervisor: Some(Arc::new(supervisor)) }
    }

    /// A supervisor that another process started.
    pub(super) fn remote(process: ProcessId) -> Self {
        Self { process, supervisor: None }
    }

    pub(super) fn process(&self) -> ProcessId {
        self.process
    }

    pub(super) fn is_owned(&self) -> bool {
        self.supervisor.is_some()
    }

    /// Whether the supervisor and every program are running.
    pub(super) fn is_alive(&self, facts: &ClusterFacts) -> bool {
        self.process.is_alive() && facts.programs.values().all(ProcessId::is_alive)
    }

    /// Lets the supervisor outlive this process.
    pub(super) fn detach(self, until: DetachOptions) -> Result<Self, SuperviseError> {
        match self.supervisor.and_then(Arc::into_inner) {
            Some(supervisor) => Ok(Self::remote(supervisor.detach(until)?)),
            None => Ok(Self::remote(self.process)),
        }
    }

    /// Ends everything and waits until it is gone. Does nothing if the supervisor belongs to
    /// another process, or if another clone exists.
    pub(super) async fn end(self, facts: &ClusterFacts) {
        if let Some(supervisor) = self.supervisor.and_then(Arc::into_inner) {
            facts.kill_programs();
            supervisor.shutdown().await;
        }
    }

    /// Ends everything, even if the supervisor belongs to another process. Blocks for at most
    /// `timeout`.
    pub(super) fn abandon(&self, facts: &ClusterFacts, timeout: Duration) {
        facts.kill_programs();
        self.process.terminate(timeout);
    }
}
