//! End: in this process with the last clone, which aborts the server's tasks; a program by its
//! supervisor.

use std::time::Duration;

use super::{At, Served};
use crate::cluster::ClusterError;
use crate::cluster::questions::End;
use crate::supervise::{ProcessId, Until};

impl End for Served {
    fn belongs_here(&self) -> bool {
        match &self.at {
            At::Here(_) => true,
            At::Program(keeper) => keeper.is_own(),
        }
    }

    fn supervisor(&self) -> Option<ProcessId> {
        match &self.at {
            At::Here(_) => None,
            At::Program(keeper) => Some(keeper.process()),
        }
    }

    fn detach(self, until: Until) -> Result<Self, ClusterError> {
        let at = match self.at {
            At::Program(keeper) => At::Program(keeper.detach(until)?),
            here @ At::Here(_) => here,
        };
        Ok(Self { at, ..self })
    }

    async fn end(self) {
        if let At::Program(keeper) = self.at {
            keeper.end(&self.facts).await;
        }
    }

    fn abandon(&self, patience: Duration) {
        if let At::Program(keeper) = &self.at {
            keeper.abandon(&self.facts, patience);
        }
    }
}
