//! The controller as a state machine without I/O: observations go in with their time, work items
//! come out.
//!
//! All profiles share the cache of observed objects ([`RestartCache`]); what one remembers is its
//! [`RestartEngine`].
//!
//! Case: `config-restart/safe/s61-refused-and-then-not`.

use std::sync::Arc;

use jiff::Timestamp;
use rollout_model::Meta;

use crate::engines::engine::{DueWork, Observations, RestartEngine, RestartGauges};
use crate::engines::engine_of;
use crate::engines::work::{WorkAction, WorkItem, WriteOutcome};
use crate::model::cache::RestartCache;
use crate::model::config::HashedConfig;
use crate::model::plan::ObservedWorkload;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName, WorkloadName};
use crate::pacing::window::Uptime;
use crate::settings::RestartSettings;

/// What was observed, and what the profile remembers of it.
#[derive(Debug)]
pub struct RestartReconciler {
    settings: RestartSettings,
    cache: RestartCache,
    engine: Box<dyn RestartEngine>,
    processed: u64,
}

impl RestartReconciler {
    /// Nothing observed yet.
    pub fn new(settings: RestartSettings) -> Self {
        Self { cache: RestartCache::new(&settings), engine: engine_of(settings.profile), settings, processed: 0 }
    }

    /// Handles a config that was created or changed, or deleted (`None`).
    pub fn on_config(&mut self, name: &ConfigName, now: Option<HashedConfig>, at: Uptime) {
        let now = now.filter(|config| self.engine.selects(&self.settings, config));
        let Some(before) = self.cache.put_config(name, now) else { return };
        let on = Observations { cache: &self.cache, settings: &self.settings };
        self.engine.on_config(on, name, before.as_ref(), at);
    }

    /// Handles a namespace that was created or changed, with its metadata, or deleted (`None`).
    pub fn on_namespace(&mut self, name: &str, now: Option<&Meta>, at: Uptime) {
        self.engine.on_namespace(&mut self.cache, &self.settings, name, now, at);
    }

    /// Starts to carry out decisions.
    pub fn activate(&mut self) {
        self.engine.activate();
    }

    /// Handles the end of the first list of a kind of config.
    pub fn on_listed(&mut self, kind: ConfigKind, at: Uptime) {
        if self.cache.mark_listed(kind) {
            let on = Observations { cache: &self.cache, settings: &self.settings };
            self.engine.on_listed(on, kind, at);
        }
    }

    /// Handles a workload that was created or changed, or deleted (`None`). Returns the reports
    /// about its annotations that its previous version did not cause.
    pub fn on_workload(&mut self, name: &WorkloadName, now: Option<WorkloadFacts>, at: Uptime) -> Vec<WorkItem> {
        let Some(before) = self.cache.put_workload(name, now) else { return Vec::new() };
        let on = Observations { cache: &self.cache, settings: &self.settings };
        self.engine.on_workload(on, name, before.as_deref(), at);
        let is_reported = |workload: &Arc<WorkloadFacts>| self.engine.reports_annotations(workload);
        let Some(workload) = self.cache.workload(name).cloned().filter(is_reported) else { return Vec::new() };
        let reported_before = before.filter(is_reported).map(|before| annotation_reports(&before)).unwrap_or_default();
        let new_reports = annotation_reports(&workload).into_iter().filter(|action| !reported_before.contains(action));
        let observed = ObservedWorkload::of(workload, at);
        new_reports.map(|action| WorkItem { observed: observed.clone(), action }).collect()
    }

    /// Schedules every workload to be planned again.
    pub fn wake_all(&mut self, at: Uptime) {
        self.engine.wake_all(at);
    }

    /// When the next work item is due if nothing changes.
    pub fn next_due(&self) -> Option<Uptime> {
        self.engine.next_due(&self.settings)
    }

    /// Returns the work that is due. The caller must pass the outcome of each write to
    /// [`RestartReconciler::on_write_finished`].
    pub fn take_due(&mut self, at: Uptime, now: Timestamp) -> Vec<WorkItem> {
        let on = Observations { cache: &self.cache, settings: &self.settings };
        let due = self.engine.take_due(on, at, now);
        self.count(due)
    }

    /// Returns the changes that are reported to a webhook instead of causing restarts.
    pub fn take_webhook_changes(&mut self) -> Vec<ConfigName> {
        self.engine.take_webhook_changes()
    }

    /// Returns the work to do before shutdown.
    pub fn flush(&mut self, at: Uptime, now: Timestamp) -> Vec<WorkItem> {
        let on = Observations { cache: &self.cache, settings: &self.settings };
        let due = self.engine.flush(on, at, now);
        self.count(due)
    }

    fn count(&mut self, due: DueWork) -> Vec<WorkItem> {
        self.processed += due.processed;
        due.items
    }

    /// Handles the outcome of a write.
    pub fn on_write_finished(&mut self, observed: &ObservedWorkload, outcome: WriteOutcome, at: Uptime) {
        let on = Observations { cache: &self.cache, settings: &self.settings };
        self.processed += self.engine.on_write_finished(on, observed, &outcome, at);
        // Meanwhile a watch may have shown that the workload was deleted, or created again.
        let is_known = |now: &WorkloadFacts| {
            self.cache.workload(&observed.workload.name).is_some_and(|cached| cached.meta.uid == now.meta.uid)
        };
        if let WriteOutcome::Updated(now) = outcome
            && is_known(&now)
        {
            self.on_workload(&observed.workload.name, Some(*now), at);
        }
    }

    /// Ends the batch of writes of a namespace, whatever their outcomes.
    pub fn finish_namespace(&mut self, namespace: &str) {
        self.engine.finish_namespace(namespace);
    }

    /// Current values for the metrics.
    pub fn gauges(&self) -> RestartGauges {
        let (versions, configs, processed) = (self.cache.version_count, self.cache.config_count(), self.processed);
        let workloads = self.cache.enabled_workloads().count();
        self.engine.gauges(RestartGauges { versions, configs, workloads, processed, ..RestartGauges::default() })
    }
}

/// Reports about problems in a workload's annotations.
fn annotation_reports(workload: &WorkloadFacts) -> Vec<WorkAction> {
    let unknown =
        || (!workload.unknown_key.is_empty()).then(|| WorkAction::ReportUnknownKey(workload.unknown_key.clone()));
    let checksums = workload.problem.clone().map(WorkAction::ReportUnreadableChecksums).or_else(unknown);
    let of_users =
        (!workload.unreadable.is_empty()).then(|| WorkAction::ReportBadAnnotations(workload.unreadable.clone()));
    checksums.into_iter().chain(of_users).collect()
}
