//! Profile `reloader`: a queue of changes for each namespace. It may select configs by their
//! labels.

use jiff::Timestamp;
use rollout_model::Meta;

use crate::engines::engine::{DueWork, Observations, RestartEngine, RestartGauges};
use crate::engines::reloader::queue::ReloaderQueue;
use crate::engines::work::{WorkAction, WorkItem, WriteOutcome};
use crate::model::cache::RestartCache;
use crate::model::config::HashedConfig;
use crate::model::plan::ObservedWorkload;
use crate::model::workload::WorkloadFacts;
use crate::names::ConfigName;
use crate::pacing::window::Uptime;
use crate::settings::RestartSettings;

#[derive(Debug, Default)]
pub(crate) struct ReloaderEngine(ReloaderQueue);

impl RestartEngine for ReloaderEngine {
    fn selects(&self, settings: &RestartSettings, config: &HashedConfig) -> bool {
        let selector = settings.reloader.resource_selector.as_ref();
        selector
            .zip(config.reloader.as_ref())
            .is_none_or(|(selector, traits)| selector.matches(&traits.labels).unwrap_or_default())
    }

    fn reports_annotations(&self, _workload: &WorkloadFacts) -> bool {
        true
    }

    fn on_config(&mut self, on: Observations<'_>, name: &ConfigName, before: Option<&HashedConfig>, at: Uptime) {
        self.0.on_config(&on.settings.reloader, on.cache, name, before, at);
    }

    fn on_namespace(
        &mut self,
        _cache: &mut RestartCache,
        settings: &RestartSettings,
        name: &str,
        now: Option<&Meta>,
        _at: Uptime,
    ) {
        if let Some(selector) = settings.reloader.namespace_labels() {
            let is_selected = now.is_some_and(|now| selector.matches(&now.labels).unwrap_or_default());
            self.0.on_namespace(name, is_selected);
        }
    }

    fn activate(&mut self) {
        self.0.activate();
    }

    fn next_due(&self, _settings: &RestartSettings) -> Option<Uptime> {
        self.0.next_due()
    }

    fn take_due(&mut self, on: Observations<'_>, at: Uptime, now: Timestamp) -> DueWork {
        let before = self.0.waiting_count();
        let actions = self.0.take_due(on.cache, &on.settings.reloader, at, now);
        let processed = (before - self.0.waiting_count()) as u64;
        let work = |(workload, action)| {
            let observed = ObservedWorkload::of(workload, at);
            WorkItem { observed, action: WorkAction::Reload(action) }
        };
        DueWork { items: actions.into_iter().map(work).collect(), processed }
    }

    fn take_webhook_changes(&mut self) -> Vec<ConfigName> {
        self.0.take_webhook_changes()
    }

    fn on_write_finished(
        &mut self,
        _on: Observations<'_>,
        observed: &ObservedWorkload,
        outcome: &WriteOutcome,
        at: Uptime,
    ) -> u64 {
        self.0.on_write_finished(&observed.workload.name, !matches!(outcome, WriteOutcome::Failed(_)), at);
        0
    }

    fn gauges(&self, of_cache: RestartGauges) -> RestartGauges {
        RestartGauges { waiting: self.0.waiting_count(), ..of_cache }
    }
}
