//! End: by its supervisor.

use std::time::Duration;

use super::Served;
use crate::cluster::ClusterError;
use crate::cluster::questions::End;
use crate::supervise::{ProcessId, Until};

impl End for Served {
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
