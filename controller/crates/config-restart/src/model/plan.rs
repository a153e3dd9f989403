//! The input and the output of the decision about one workload, as plain data that tests can
//! compare.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::model::annotation_codec::AppliedChecksums;
use crate::model::pending::{BlockReason, PendingAnnotation};
use crate::model::references::ConfigUsage;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigName, Deferral};
use crate::pacing::group_permit::GroupPermit;
use crate::pacing::schedule::Schedule;
use crate::pacing::window::Uptime;

/// A workload that has opted in, with the configs that it references.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedWorkload {
    /// The workload.
    pub workload: Arc<WorkloadFacts>,
    /// Its configs.
    pub configs: BTreeMap<ConfigName, ConfigRef>,
    /// When it may be restarted; `None`: at any time.
    pub schedule: Option<Schedule>,
    /// How long a restart waits after the change.
    pub delay: Duration,
    /// The annotation that blocks restarts because it cannot be read, and why.
    pub problem: Option<(&'static str, String)>,
    /// Whether its group lets it restart.
    pub permit: GroupPermit,
    /// After how long the permit may change without a new event.
    pub permit_recheck: Option<Duration>,
    /// When this was observed.
    pub at: Uptime,
}

impl ObservedWorkload {
    /// An observation without configs, schedule or group.
    pub fn of(workload: Arc<WorkloadFacts>, at: Uptime) -> Self {
        Self {
            workload,
            configs: BTreeMap::new(),
            schedule: None,
            delay: Duration::ZERO,
            problem: None,
            permit: GroupPermit::Granted,
            permit_recheck: None,
            at,
        }
    }
}

/// A config that a workload references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRef {
    /// Which part of the config the workload uses.
    pub usage: ConfigUsage,
    /// What the cache has of the config.
    pub state: ConfigState,
    /// What the pods had when they were last known to be current, if the checksums annotation does
    /// not say so.
    pub baseline: Option<Baseline>,
    /// How many changes were seen and not yet acted on.
    pub changes: u32,
    /// When the first and the last of these changes were seen.
    pub change_span: Option<(Uptime, Uptime)>,
    /// The keys that these changes changed, as far as the controller was watching.
    pub keys: BTreeSet<String>,
    /// Whether the workload's pods were replaced after the last change.
    pub is_rolled_out: bool,
}

/// What the cache has of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigState {
    /// Its kind has not been listed yet.
    Unknown,
    /// It does not exist.
    Missing,
    /// It exists.
    Present {
        /// Checksum of the part that the workload uses.
        usage_checksum: String,
        /// xing's checksum, over all its data.
        data_checksum: String,
        /// Other checksums of the same data: made with the previous key, or over the keys that were
        /// selected when the workload's checksum was written.
        equivalent: Vec<String>,
    },
}

/// What the pods had when a config and a workload were first seen together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Baseline {
    /// Data with this checksum.
    Checksum(String),
    /// Nothing: the config did not exist, and the pods started without it.
    Absent,
    /// Other data than the config had at that time.
    Outdated,
}

/// The decision about a workload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RestartPlan {
    /// The one write of the workload.
    pub write: Option<WorkloadWrite>,
    /// Why a due restart or record waits, and until when.
    pub wait: Option<WaitReason>,
}

impl RestartPlan {
    /// Whether the plan replaces pods.
    pub fn restarts(&self) -> bool {
        self.write.as_ref().is_some_and(|write| write.restart.is_some())
    }
}

/// A write that records checksums and may restart the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadWrite {
    /// The checksums to record.
    pub checksums: AppliedChecksums,
    /// The restart, if there is one.
    pub restart: Option<PlannedRestart>,
    /// What happens to the annotation that shows a pending restart.
    pub pending: PendingAnnotation,
}

/// A restart.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRestart {
    /// The trigger to write into the template.
    pub trigger: String,
    /// The changes that cause it.
    pub causes: Vec<RestartCause>,
    /// How many changes this restart covers.
    pub merged: u32,
    /// The recent restarts including this one; `None` in profile `xing`, which does not record
    /// them.
    pub restarts: Option<Vec<Timestamp>>,
    /// Why the new template replaces no pods yet.
    pub deferral: Option<Deferral>,
}

/// A changed config that causes a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartCause {
    /// The config.
    pub config: ConfigName,
    /// The keys that changed; empty if the controller was not watching.
    pub keys: BTreeSet<String>,
    /// The checksum before.
    pub before: Option<String>,
    /// The checksum after.
    pub after: String,
}

/// Why a due restart or record waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// More changes may come until then.
    Window(Uptime),
    /// The restart budget is spent for this long.
    Budget(Duration),
    /// The restart is blocked by something other than its configs.
    Blocked(BlockedRestart),
}

/// A restart that is due and blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedRestart {
    /// What blocks it.
    pub reason: BlockReason,
    /// How long it is blocked; `None`: until an event.
    pub wait: Option<Duration>,
    /// The changes that cause it.
    pub causes: Vec<RestartCause>,
}
