//! The work items that the reconciler emits, and the outcomes that it gets back.
//!
//! Case: `config-restart/safe/s61-refused-and-then-not`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engines::reloader::queue::ReloadAction;
use crate::model::plan::{BlockedRestart, ObservedWorkload, WorkloadWrite};
use crate::model::workload::WorkloadFacts;

/// Something to do for a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkItem {
    /// The input of the decision.
    pub observed: ObservedWorkload,
    /// What to do.
    pub action: WorkAction,
}

/// What to do for a workload.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkAction {
    /// Write checksums, and perhaps a trigger.
    Write(WorkloadWrite),
    /// Carry out a decision of profile `reloader`.
    Reload(ReloadAction),
    /// Report that the restart budget is spent for this long.
    ReportThrottled(Duration),
    /// Report that a restart is due and waits.
    ReportBlocked(BlockedRestart),
    /// Report that the checksums annotation cannot be read, and why.
    ReportUnreadableChecksums(String),
    /// Report user annotations that cannot be read, with the problem of each.
    ReportBadAnnotations(BTreeMap<String, String>),
    /// Report the Secrets whose checksums were made with an unknown key.
    ReportUnknownKey(BTreeSet<String>),
}

impl WorkAction {
    /// Whether the action writes: within a namespace, the profiles `xing` and `reloader` carry out
    /// such actions one after the other.
    pub fn is_write(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Reload(_))
    }
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteOutcome {
    /// The workload was written; this is its new version. Boxed because it is much larger than the
    /// other variants.
    Updated(Box<WorkloadFacts>),
    /// The write succeeded, and the workload object itself did not change.
    Done,
    /// Nothing was sent because this is a dry run.
    DryRun(WorkloadWrite),
    /// The server refused the write, or the response was lost. Retry after this duration, if there
    /// is one.
    Failed(Option<Duration>),
}
