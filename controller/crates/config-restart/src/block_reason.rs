//! Reasons why a restart that is due does not begin.
//!
//! Cases: `config-restart/safe/window-opens-later`, `config-restart/safe/delay`,
//! `config-restart/safe/one-at-a-time`.

use jiff::Timestamp;

use super::workload::WorkloadName;

/// What a restart waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockReason {
    /// Its delay ends at this time.
    Delay(Timestamp),
    /// Its restart window opens at this time.
    Window(Timestamp),
    /// The annotation with this name cannot be read, or its windows never open; the text says why.
    Unreadable(&'static str, String),
    /// These workloads of its group restart first.
    Group(Vec<WorkloadName>),
    /// The rollout of this workload of its group has failed.
    Stopped(WorkloadName),
}

impl BlockReason {
    /// When the restart is unblocked, if that time is known.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Delay(until) | Self::Window(until) => Some(*until),
            _ => None,
        }
    }

    /// Whether a change of another workload of the group may unblock it.
    pub fn depends_on_group(&self) -> bool {
        matches!(self, Self::Group(_) | Self::Stopped(_) | Self::Unreadable(..))
    }
}
