//! xing's rules for one workload at a tick (sections 1.7 and 1.8).
//!
//! Cases: `config-restart/safe-and-xing/s02-adopted@xing`,
//! `config-restart/xing/s30-pods-began-with-it`,
//! `config-restart/safe-and-xing/s31-reference-added@xing`.

use jiff::Timestamp;

use crate::model::body::timestamp_trigger;
use crate::model::pending::PendingAnnotation;
use crate::model::plan::{
    ConfigRef, ConfigState, ObservedWorkload, PlannedRestart, RestartCause, RestartPlan, WorkloadWrite,
};
use crate::names::ConfigName;

/// Decides about a workload that a change affects.
pub(crate) fn plan(observed: &ObservedWorkload, now: Timestamp) -> RestartPlan {
    let before = &observed.workload.checksums;
    let present = || {
        observed.configs.iter().filter_map(|(name, config_ref)| match &config_ref.state {
            ConfigState::Present { data_checksum, .. } => Some((name, config_ref, data_checksum)),
            ConfigState::Unknown | ConfigState::Missing => None,
        })
    };
    let differs = present().any(|(name, _, checksum)| before.get(&name.to_string()) != Some(checksum));
    let is_referenced = |name: &String| observed.configs.keys().any(|config| config.to_string() == *name);
    if !differs && before.keys().all(is_referenced) {
        return RestartPlan::default();
    }
    // A config that has not been seen keeps its checksum in the annotation; one that is not
    // referenced any more loses it.
    let mut checksums = before.clone();
    checksums.retain(|name, _| is_referenced(name));
    let causes: Vec<RestartCause> =
        present().filter_map(|(name, config_ref, checksum)| cause(observed, name, config_ref, checksum)).collect();
    checksums.extend(present().map(|(name, _, checksum)| (name.to_string(), checksum.clone())));
    let merged = causes.iter().map(|cause| observed.configs[&cause.config].changes.max(1)).sum();
    let restart = (!causes.is_empty()).then(|| PlannedRestart {
        trigger: timestamp_trigger(now),
        causes,
        merged,
        restarts: None,
        deferral: None,
    });
    RestartPlan { write: Some(WorkloadWrite { checksums, restart, pending: PendingAnnotation::Keep }), wait: None }
}

/// A recorded checksum that differs causes a restart. Without a recorded checksum, the config
/// causes one if it was seen to change in the meantime.
fn cause(
    observed: &ObservedWorkload,
    config: &ConfigName,
    config_ref: &ConfigRef,
    checksum: &str,
) -> Option<RestartCause> {
    let before = observed.workload.checksums.get(&config.to_string());
    let restarts = before.map_or(config_ref.changes >= 2, |before| before != checksum);
    restarts.then(|| RestartCause {
        config: config.clone(),
        keys: config_ref.keys.clone(),
        before: before.cloned(),
        after: checksum.to_owned(),
    })
}
