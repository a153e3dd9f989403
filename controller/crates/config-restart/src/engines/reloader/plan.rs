//! Decides what one change does to one workload, as a pure function.
//!
//! Case: `config-restart/reloader/shared`.

use std::sync::Arc;

use jiff::Timestamp;

use crate::engines::reloader::matching::{ConfigChange, match_change, target_container};
use crate::engines::reloader::pause::{PauseAction, pause_action};
use crate::engines::reloader::strategy::{TemplateChange, apply_rollout_strategy, template_change};
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigName, WorkloadKind};
use crate::settings::ReloaderSettings;

/// A change, and a workload of the same namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedChange {
    /// The workload.
    pub workload: Arc<WorkloadFacts>,
    /// The change.
    pub change: ConfigChange,
    /// Whether this process knows when the workload's pause ends.
    pub is_end_known: bool,
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReloadDecision {
    /// The change does not concern the workload.
    Skip,
    /// The workload is restarted.
    Restart(PlannedReload),
    /// The workload is not restarted because its annotation cannot be read, for this reason. The
    /// change is retried and finally given up.
    Refuse(String),
}

/// A restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedReload {
    /// The config that has changed.
    pub config: ConfigName,
    /// What to do about a pause first.
    pub pause: Option<PauseAction>,
    /// The change of the pod template.
    pub write: TemplateChange,
}

/// Decides about one change and one workload, whose patterns have been compiled. Pure: the same
/// arguments give the same decision.
pub fn plan(observed: &ObservedChange, now: Timestamp, settings: &ReloaderSettings) -> ReloadDecision {
    let ObservedChange { workload, change, is_end_known } = observed;
    let facts = &workload.reloader;
    let reason = match_change(facts, change, settings);
    let container = reason.and_then(|reason| target_container(facts, &change.config, reason));
    let Some(write) = container.and_then(|container| template_change(settings.strategy, container, change, now)) else {
        return ReloadDecision::Skip;
    };
    let write = apply_rollout_strategy(workload.name.kind, facts, write, now);
    let pause = match workload.name.kind {
        WorkloadKind::Deployment => pause_action(facts, *is_end_known, now, &settings.annotations),
        _ => Ok(None),
    };
    match pause {
        Ok(pause) => ReloadDecision::Restart(PlannedReload { config: change.config.clone(), pause, write }),
        Err(problem) => ReloadDecision::Refuse(problem),
    }
}
