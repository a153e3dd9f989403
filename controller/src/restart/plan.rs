//! What was observed of one workload and its configs, and what is to be done about it: plain data,
//! so that tests compare.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::obstacle::Obstacle;
use super::pending::Note;
use super::references::{ConfigName, Use};
use super::schedule::Schedule;
use super::state::Applied;
use super::turn::Turn;
use super::window::Moment;
use super::workload::{Held, Workload};

/// One workload that has opted in, and the configs that it is linked to.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The workload.
    pub workload: Arc<Workload>,
    /// The configs.
    pub configs: BTreeMap<ConfigName, Linked>,
    /// When it may be restarted; `None`: always.
    pub schedule: Option<Schedule>,
    /// How long a restart waits after the change.
    pub delay: Duration,
    /// The annotation that holds a restart back because it makes no sense, and what is wrong with
    /// it.
    pub problem: Option<(&'static str, String)>,
    /// Whether it may restart, for the others of its group.
    pub turn: Turn,
    /// After how long that may change by itself.
    pub turn_changes: Option<Duration>,
    /// When this was observed.
    pub at: Moment,
}

impl Observed {
    /// One of which nothing more is known.
    pub fn of(workload: Arc<Workload>, at: Moment) -> Self {
        Self {
            workload,
            configs: BTreeMap::new(),
            schedule: None,
            delay: Duration::ZERO,
            problem: None,
            turn: Turn::Now,
            turn_changes: None,
            at,
        }
    }
}

/// One config of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// What the workload uses of it.
    pub used: Use,
    /// What is known of it.
    pub present: Present,
    /// What it was when the workload's pods were last known to have it, where the workload's
    /// annotation does not say.
    pub baseline: Option<Baseline>,
    /// Changes that were seen and not acted upon.
    pub changes: u32,
    /// When the first and the last of these were seen.
    pub seen: Option<(Moment, Moment)>,
    /// Keys that these have changed, as far as they were watched.
    pub keys: BTreeSet<String>,
    /// Whether anything has replaced the workload's pods since.
    pub rolled_out: bool,
}

/// What is known of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Present {
    /// Its kind has not been listed yet.
    Unknown,
    /// It is not there.
    Missing,
    /// It is there.
    There {
        /// Checksum of what the workload uses.
        used: String,
        /// xing's checksum, of all its data.
        whole: String,
        /// Other checksums of the same data: as the previous key made them, and of the keys that
        /// were selected when the workload's checksum was written.
        equivalent: Vec<String>,
    },
}

/// What pods had when a config and a workload were first seen together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Baseline {
    /// Data with this checksum.
    Checksum(String),
    /// Nothing: it was not there, and they did not wait for it.
    Absent,
    /// Something else than what was there then.
    Outdated,
}

/// What is done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// One write of the workload.
    pub write: Option<Write>,
    /// Why something that is due is not done now, and when to look again.
    pub wait: Option<Wait>,
}

impl Plan {
    /// Whether pods are replaced.
    pub fn restarts(&self) -> bool {
        self.write.as_ref().is_some_and(|write| write.restart.is_some())
    }
}

/// One write: what is remembered, and whether pods are replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The checksums to remember.
    pub applied: Applied,
    /// Whether to replace the pods.
    pub restart: Option<Restart>,
    /// What becomes of the annotation that shows a restart which waits for its window.
    pub note: Note,
}

/// A restart.
#[derive(Debug, Clone, PartialEq)]
pub struct Restart {
    /// What is written into the template.
    pub trigger: String,
    /// Why.
    pub causes: Vec<Cause>,
    /// Changes that are merged into this one.
    pub merged: u32,
    /// Restarts of late, this one included; `None`: they are not kept.
    pub restarts: Option<Vec<Timestamp>>,
    /// Why no pod is replaced yet.
    pub held: Option<Held>,
}

/// One reason for a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The config.
    pub config: ConfigName,
    /// Its keys that have changed; empty: nobody watched.
    pub keys: BTreeSet<String>,
    /// The checksum before.
    pub before: Option<String>,
    /// The checksum after.
    pub after: String,
}

/// Why something waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// More changes may come until then.
    Window(Moment),
    /// The budget is spent for so long.
    Budget(Duration),
    /// Something else than its configs holds it back.
    Shut(Shut),
}

/// A restart that is due and waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shut {
    /// What for.
    pub obstacle: Obstacle,
    /// For how long; `None`: until something changes.
    pub wait: Option<Duration>,
    /// Why there is to be one.
    pub causes: Vec<Cause>,
}
