//! What keeps a restart that is due from beginning.
//!
//! Cases: `config-restart/window-opens-later`, `config-restart/delay`,
//! `config-restart/one-at-a-time`.

use jiff::Timestamp;

use super::workload::WorkloadName;

/// What a restart waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// Its delay ends then.
    Delay(Timestamp),
    /// Its restart window opens then.
    Window(Timestamp),
    /// An annotation makes no sense, or its windows never open; what is wrong.
    Unreadable(&'static str, String),
    /// Others of its group restart first.
    Turn(Vec<WorkloadName>),
    /// This one of its group has failed.
    Stopped(WorkloadName),
}

impl Obstacle {
    /// When it ends, where that is known.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Delay(until) | Self::Window(until) => Some(*until),
            _ => None,
        }
    }

    /// Whether a change of others of the group may end it.
    pub fn is_of_others(&self) -> bool {
        matches!(self, Self::Turn(_) | Self::Stopped(_) | Self::Unreadable(..))
    }
}
