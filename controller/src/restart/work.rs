//! What the agent hands to its shell, and what the shell says became of it.
//!
//! Plain data. Case: `config-restart/s61-safe-refused-and-then-not`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::plan::{Observed, Shut, Write};
use super::reloader::Order;
use super::workload::Workload;

/// What is to be done about one workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    /// What it was decided on.
    pub(crate) observed: Observed,
    /// What to do.
    pub(crate) action: Action,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Write it.
    Write(Write),
    /// Do what profile `reloader` has decided.
    Reload(Order),
    /// Say that its budget is spent for so long.
    Throttled(Duration),
    /// Say that it is due and waits.
    Shut(Shut),
    /// Say what is wrong with its annotation.
    Unreadable(String),
    /// Say what is wrong with annotations that users set.
    BadAnnotations(BTreeMap<String, String>),
    /// Say of which Secrets the checksums were made with a key that is not here.
    UnknownKey(BTreeSet<String>),
}

impl Action {
    /// Whether it is one of those that are carried out one after the other within a namespace.
    pub(crate) fn is_of_lane(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Reload(_))
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// Done; the workload as it is now. Boxed: it is much larger than the others.
    Written(Box<Workload>),
    /// Done, and the workload itself was not changed.
    Made,
    /// Not to be done: it is a dry run.
    Pretended(Write),
    /// Refused or lost; not before so long.
    Failed(Option<Duration>),
}
