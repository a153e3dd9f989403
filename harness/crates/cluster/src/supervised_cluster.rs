//! A control plane whose programs (processes, containers or the simulated server) a supervisor runs
//! and ends: the common implementation of these backends once they have started.

use std::time::Duration;

use super::ClusterError;
use super::backend::{Connect, Prove, Teardown};
use super::facts::ClusterFacts;
use super::supervisor_handle::SupervisorHandle;
use crate::supervise::{DetachOptions, ProcessId, Supervisor};

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
