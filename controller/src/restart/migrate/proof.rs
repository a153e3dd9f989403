//! That taking over restarts nothing: the agent decides, with all workloads annotated.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::agent::Agent;
use super::super::config::Config;
use super::super::references::{ConfigKind, ConfigName};
use super::super::reloader::Order;
use super::super::window::Moment;
use super::super::work::{Action, Outcome};
use super::super::workload::Workload;
use crate::settings::RestartSettings;

/// A workload with these annotations, as the server would have it after they were set now.
pub(super) fn annotated(raw: &Value, annotations: &BTreeMap<String, String>, now: Timestamp) -> Value {
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

/// The workloads that would be restarted, and for what.
pub(super) fn restarts(
    settings: &RestartSettings,
    configs: &BTreeMap<ConfigName, Config>,
    workloads: Vec<Workload>,
    now: Timestamp,
) -> BTreeMap<String, String> {
    let start = Moment::ZERO;
    let mut agent = Agent::new(settings.clone());
    for (name, config) in configs.iter().filter(|(name, _)| settings.follows(name.kind)) {
        agent.config(name, Some(config.clone()), start);
    }
    for workload in workloads {
        agent.workload(&workload.name.clone(), Some(workload), start);
    }
    ConfigKind::ALL.into_iter().filter(|kind| settings.follows(*kind)).for_each(|kind| agent.listed(kind, start));
    agent.begin();
    let mut restarts = BTreeMap::new();
    // What waits longest is a window that slides, and none slides here: nothing changes any more.
    let end = start.saturating_add(settings.window.longest.max(settings.window.grace_period) * 2);
    while let Some(at) = agent.next().filter(|at| *at <= end) {
        for work in agent.take(at, now) {
            let name = work.observed.workload.name.to_string();
            match &work.action {
                Action::Write(write) => {
                    if let Some(restart) = &write.restart {
                        let causes: Vec<String> = restart.causes.iter().map(|cause| cause.config.to_string()).collect();
                        restarts.insert(name, causes.join(", "));
                    }
                    agent.finished(&work.observed, Outcome::Pretended(write.clone()), at);
                }
                Action::Reload(order) => {
                    if let Order::Restart(restart) = order {
                        restarts.insert(name, restart.config.to_string());
                    }
                    agent.finished(&work.observed, Outcome::Made, at);
                }
                // It restarts when its window opens.
                Action::Shut(shut) => {
                    let causes: Vec<String> = shut.causes.iter().map(|cause| cause.config.to_string()).collect();
                    restarts.insert(name, causes.join(", "));
                }
                Action::Throttled(_) | Action::Unreadable(_) | Action::BadAnnotations(_) | Action::UnknownKey(_) => {}
            }
        }
    }
    restarts
}
