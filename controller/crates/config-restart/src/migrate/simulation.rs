//! Simulates the start of the controller after the migration, to find out whether it restarts
//! anything.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::engines::reloader::queue::ReloadAction;
use crate::engines::work::{WorkAction, WriteOutcome};
use crate::model::config::HashedConfig;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName};
use crate::pacing::window::Uptime;
use crate::reconciler::RestartReconciler;
use crate::settings::RestartSettings;

/// A workload with these annotations, as the server would return it if they were set now.
pub(super) fn annotate(raw: &Value, annotations: &BTreeMap<String, String>, now: Timestamp) -> Value {
    let mut raw = raw.clone();
    if annotations.is_empty() {
        return raw;
    }
    let mut fields = json!({});
    for (name, value) in annotations {
        raw["metadata"]["annotations"][name] = value.clone().into();
        fields[format!("f:{name}")] = json!({});
    }
    let entry = json!({
        "manager": "migration", "operation": "Update", "time": now.to_string(), "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:annotations": fields}},
    });
    let mut entries = raw["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries.push(entry);
    raw["metadata"]["managedFields"] = entries.into();
    raw
}

/// The workloads that would be restarted, and the configs that cause it.
pub(super) fn simulate_restarts(
    settings: &RestartSettings,
    configs: &BTreeMap<ConfigName, HashedConfig>,
    workloads: Vec<WorkloadFacts>,
    now: Timestamp,
) -> BTreeMap<String, String> {
    let start = Uptime::ZERO;
    let mut reconciler = RestartReconciler::new(settings.clone());
    for (name, config) in configs.iter().filter(|(name, _)| settings.follows(name.kind)) {
        reconciler.on_config(name, Some(config.clone()), start);
    }
    for workload in workloads {
        reconciler.on_workload(&workload.name.clone(), Some(workload), start);
    }
    ConfigKind::ALL
        .into_iter()
        .filter(|kind| settings.follows(*kind))
        .for_each(|kind| reconciler.on_listed(kind, start));
    reconciler.activate();
    let mut restarts = BTreeMap::new();
    // The longest wait is that of a sliding window. No window slides here, because nothing changes
    // any more.
    let end = start.saturating_add(settings.window.longest.max(settings.window.grace_period) * 2);
    while let Some(at) = reconciler.next_due().filter(|at| *at <= end) {
        for work in reconciler.take_due(at, now) {
            let name = work.observed.workload.name.to_string();
            match &work.action {
                WorkAction::Write(write) => {
                    if let Some(restart) = &write.restart {
                        let causes: Vec<String> = restart.causes.iter().map(|cause| cause.config.to_string()).collect();
                        restarts.insert(name, causes.join(", "));
                    }
                    reconciler.on_write_finished(&work.observed, WriteOutcome::DryRun(write.clone()), at);
                }
                WorkAction::Reload(action) => {
                    if let ReloadAction::Restart(restart) = action {
                        restarts.insert(name, restart.config.to_string());
                    }
                    reconciler.on_write_finished(&work.observed, WriteOutcome::Done, at);
                }
                // It restarts as soon as nothing blocks it any more.
                WorkAction::ReportBlocked(blocked) => {
                    let causes: Vec<String> = blocked.causes.iter().map(|cause| cause.config.to_string()).collect();
                    restarts.insert(name, causes.join(", "));
                }
                WorkAction::ReportThrottled(_)
                | WorkAction::ReportUnreadableChecksums(_)
                | WorkAction::ReportBadAnnotations(_)
                | WorkAction::ReportUnknownKey(_) => {}
            }
        }
    }
    restarts
}
