//! What an engine does: remembers observed changes, says what is due, and counts for the metrics.

use jiff::Timestamp;
use rollout_model::Meta;

use crate::engines::work::{WorkItem, WriteOutcome};
use crate::model::cache::RestartCache;
use crate::model::config::HashedConfig;
use crate::model::plan::ObservedWorkload;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName, WorkloadName};
use crate::pacing::window::Uptime;
use crate::settings::RestartSettings;

/// The values at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestartGauges {
    /// Object versions seen.
    pub versions: u64,
    /// Configs that exist or are referenced.
    pub configs: usize,
    /// Workloads that have opted in.
    pub workloads: usize,
    /// Changes that were processed.
    pub processed: u64,
    /// Changes that wait.
    pub waiting: usize,
    /// Workloads whose last write failed.
    pub stuck: usize,
    /// Workloads whose budget is spent.
    pub throttled: usize,
    /// Workloads with a new template that replaces no pods yet.
    pub deferred: usize,
    /// Workloads whose restart is due and blocked.
    pub pending: usize,
    /// Those of them that wait because another workload's rollout has failed.
    pub stopped: usize,
}

/// What all engines decide on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observations<'a> {
    pub(crate) cache: &'a RestartCache,
    pub(crate) settings: &'a RestartSettings,
}

/// The work that is due, and how many changes were processed for it.
#[derive(Debug, Default)]
pub(crate) struct DueWork {
    pub(crate) items: Vec<WorkItem>,
    pub(crate) processed: u64,
}

/// The memory of one profile. The default methods do nothing: the profile does not have what they
/// are about.
pub(crate) trait RestartEngine: std::fmt::Debug + Send {
    /// Whether it considers a config at all.
    fn selects(&self, _settings: &RestartSettings, _config: &HashedConfig) -> bool {
        true
    }

    /// Whether it reports unreadable annotations of a workload.
    fn reports_annotations(&self, workload: &WorkloadFacts) -> bool {
        workload.enabled
    }

    /// Handles a change of a config, which the cache has already; `before` is its previous version.
    fn on_config(&mut self, on: Observations<'_>, name: &ConfigName, before: Option<&HashedConfig>, at: Uptime);

    /// Handles a change of a namespace.
    fn on_namespace(
        &mut self,
        _cache: &mut RestartCache,
        _settings: &RestartSettings,
        _name: &str,
        _now: Option<&Meta>,
        _at: Uptime,
    ) {
    }

    /// Starts to carry out decisions.
    fn activate(&mut self) {}

    /// Handles the end of the first list of a kind of config.
    fn on_listed(&mut self, _on: Observations<'_>, _kind: ConfigKind, _at: Uptime) {}

    /// Handles a change of a workload, which the cache has already; `before` is its previous
    /// version.
    fn on_workload(
        &mut self,
        _on: Observations<'_>,
        _name: &WorkloadName,
        _before: Option<&WorkloadFacts>,
        _at: Uptime,
    ) {
    }

    /// Schedules every workload to be planned again.
    fn wake_all(&mut self, _at: Uptime) {}

    /// When the next work item is due if nothing changes.
    fn next_due(&self, settings: &RestartSettings) -> Option<Uptime>;

    /// Returns the work that is due.
    fn take_due(&mut self, on: Observations<'_>, at: Uptime, now: Timestamp) -> DueWork;

    /// Returns the changes that are reported to a webhook instead of causing restarts.
    fn take_webhook_changes(&mut self) -> Vec<ConfigName> {
        Vec::new()
    }

    /// Returns the work to do before shutdown.
    fn flush(&mut self, _on: Observations<'_>, _at: Uptime, _now: Timestamp) -> DueWork {
        DueWork::default()
    }

    /// Handles the outcome of a write. Returns how many changes it has processed.
    fn on_write_finished(
        &mut self,
        _on: Observations<'_>,
        _observed: &ObservedWorkload,
        _outcome: &WriteOutcome,
        _at: Uptime,
    ) -> u64 {
        0
    }

    /// Ends the batch of writes of a namespace, whatever their outcomes.
    fn finish_namespace(&mut self, _namespace: &str) {}

    /// Adds what it remembers to the values for the metrics.
    fn gauges(&self, of_cache: RestartGauges) -> RestartGauges;
}
