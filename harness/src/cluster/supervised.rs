//! A control plane whose programs a supervisor of the harness's runs and ends, be they processes,
//! containers or the simulated server: what these backends answer once they have started.

use std::time::Duration;

use super::ClusterError;
use super::facts::Facts;
use super::keeper::Keeper;
use super::questions::{Connect, End, Prove};
use crate::supervise::{ProcessId, Supervisor, Until};

/// A control plane that ends with its supervisor.
#[derive(Debug, Clone)]
pub struct Supervised {
    facts: Facts,
    keeper: Keeper,
}

impl Supervised {
    /// One that this process has started.
    pub(super) fn own(facts: Facts, supervisor: Supervisor) -> Self {
        Self { facts, keeper: Keeper::own(supervisor) }
    }

    /// One that another process has started.
    pub(super) fn attach(facts: Facts, supervisor: ProcessId) -> Self {
        Self { facts, keeper: Keeper::elsewhere(supervisor) }
    }
}

impl Prove for Supervised {
    fn is_alive(&self) -> bool {
        self.keeper.is_alive(&self.facts)
    }
}

impl Connect for Supervised {
    fn facts(&self) -> &Facts {
        &self.facts
    }
}

impl End for Supervised {
    fn belongs_here(&self) -> bool {
        self.keeper.is_own()
    }

    fn supervisor(&self) -> Option<ProcessId> {
        Some(self.keeper.process())
    }

    fn detach(self, until: Until) -> Result<Self, ClusterError> {
        Ok(Self { keeper: self.keeper.detach(until)?, ..self })
    }

    async fn end(self) {
        self.keeper.end(&self.facts).await;
    }

    fn abandon(&self, patience: Duration) {
        self.keeper.abandon(&self.facts, patience);
    }
}
