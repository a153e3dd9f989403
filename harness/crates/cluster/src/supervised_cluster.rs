//! A control plane whose programs (processes, containers or the simulated server) a supervisor runs
//! and ends: the common implementation of these backends once they have started, and the handle on
//! the supervisor, which belongs to this process or to another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{ClusterFacts, Connect, Prove, Teardown};
use crate::supervise::{DetachOptions, ProcessId, SuperviseError, Supervisor};
use crate::{ClusterError, user_dir};

/// A control plane that ends with its supervisor.
#[derive(Debug, Clone)]
pub struct SupervisedCluster {
    facts: ClusterFacts,
    supervisor: SupervisorHandle,
}

impl SupervisedCluster {
    /// A cluster that this process has started.
    pub(super) fn owned(facts: ClusterFacts, supervisor: Supervisor) -> Self {
        Self { facts, supervisor: SupervisorHandle::owned(supervisor) }
    }

    /// A cluster that another process has started.
    pub(super) fn attach(facts: ClusterFacts, supervisor: ProcessId) -> Self {
        Self { facts, supervisor: SupervisorHandle::remote(supervisor) }
    }
}

impl Prove for SupervisedCluster {
    fn is_alive(&self) -> bool {
        self.supervisor.is_alive(&self.facts)
    }
}

impl Connect for SupervisedCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }
}

impl Teardown for SupervisedCluster {
    fn is_owned(&self) -> bool {
        self.supervisor.is_owned()
    }

    fn supervisor(&self) -> Option<ProcessId> {
        Some(self.supervisor.process())
    }

    fn detach(self, until: DetachOptions) -> Result<Self, ClusterError> {
        Ok(Self { supervisor: self.supervisor.detach(until)?, ..self })
    }

    async fn end(self) {
        self.supervisor.end(&self.facts).await;
    }

    fn abandon(&self, timeout: Duration) {
        self.supervisor.abandon(&self.facts, timeout);
    }
}

/// The supervisor that ends a cluster's programs.
#[derive(Debug, Clone)]
pub(crate) struct SupervisorHandle {
    process: ProcessId,
    /// `Some` in the process that owns the cluster; dropping the last clone ends it.
    supervisor: Option<Arc<Supervisor>>,
}

/// Creates a folder in `parent` for a cluster's files, and starts the supervisor that removes it at
/// the end.
pub(crate) fn start_supervisor(parent: &Path) -> Result<(PathBuf, Supervisor), ClusterError> {
    let dir = user_dir::create_cluster_dir(parent)?;
    let supervisor = Supervisor::start(&dir, true).inspect_err(|_| {
        // There is no supervisor to remove it; if this fails too, an empty temporary folder stays.
        let _ = std::fs::remove_dir_all(&dir);
    })?;
    Ok((dir, supervisor))
}

impl SupervisorHandle {
    /// A supervisor of this process, which owns the cluster.
    pub(crate) fn owned(supervisor: Supervisor) -> Self {
        Self { process: supervisor.process(), supervisor: Some(Arc::new(supervisor)) }
    }

    /// A supervisor that another process started.
    pub(crate) fn remote(process: ProcessId) -> Self {
        Self { process, supervisor: None }
    }

    pub(crate) fn process(&self) -> ProcessId {
        self.process
    }

    pub(crate) fn is_owned(&self) -> bool {
        self.supervisor.is_some()
    }

    /// Whether the supervisor and every program are running.
    pub(crate) fn is_alive(&self, facts: &ClusterFacts) -> bool {
        self.process.is_alive() && facts.programs.values().all(ProcessId::is_alive)
    }

    /// Lets the supervisor outlive this process.
    pub(crate) fn detach(self, until: DetachOptions) -> Result<Self, SuperviseError> {
        match self.supervisor.and_then(Arc::into_inner) {
            Some(supervisor) => Ok(Self::remote(supervisor.detach(until)?)),
            None => Ok(Self::remote(self.process)),
        }
    }

    /// Ends everything and waits until it is gone. Does nothing if the supervisor belongs to
    /// another process, or if another clone exists.
    pub(crate) async fn end(self, facts: &ClusterFacts) {
        if let Some(supervisor) = self.supervisor.and_then(Arc::into_inner) {
            facts.kill_programs();
            supervisor.shutdown().await;
        }
    }

    /// Ends everything, even if the supervisor belongs to another process. Blocks for at most
    /// `timeout`.
    pub(crate) fn abandon(&self, facts: &ClusterFacts, timeout: Duration) {
        facts.kill_programs();
        self.process.terminate(timeout);
    }
}
