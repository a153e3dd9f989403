//! Metrics of restarts: xing's seven with the same names and meaning, and nine more.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::decisions::restarts::reloader::ReloadAction;
use crate::decisions::restarts::{Profile, RestartGauges, RestartSettings, WorkAction, WorkItem, WriteOutcome};

/// Counters of writes.
#[derive(Debug, Default)]
pub(crate) struct RestartCounters {
    updates: AtomicU64,
    restarts: AtomicU64,
    deferred: AtomicU64,
}

impl RestartCounters {
    pub(crate) fn count(&self, work: &WorkItem, outcome: Option<&WriteOutcome>, settings: &RestartSettings) {
        let is_done = matches!(outcome, Some(WriteOutcome::Updated(_) | WriteOutcome::Done));
        let write = match &work.action {
            WorkAction::Write(write) => write,
            WorkAction::Reload(ReloadAction::Restart(_)) if is_done && !settings.dry_run => {
                self.updates.fetch_add(1, Ordering::Relaxed);
                self.restarts.fetch_add(1, Ordering::Relaxed);
                return;
            }
            _ => return,
        };
        // xing's controller counts attempts (X7).
        if is_done || (settings.profile == Profile::Xing && !settings.dry_run) {
            self.updates.fetch_add(1, Ordering::Relaxed);
        }
        if let (true, Some(restart)) = (is_done, &write.restart) {
            let counter = if restart.deferral.is_some() { &self.deferred } else { &self.restarts };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Encodes all metrics. `refused` is the number of kinds that may not be listed; `sent` and
    /// `lost` count the webhook's messages.
    ///
    /// # Errors
    /// If the encoder fails.
    pub(crate) fn encode(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        gauges: &RestartGauges,
        refused: usize,
        (sent, lost): (u64, u64),
    ) -> fmt::Result {
        let [updates, restarts, deferred] =
            [&self.updates, &self.restarts, &self.deferred].map(|count| count.load(Ordering::Relaxed));
        let counters = [
            ("deployment_restart_controller_resource_versions", "Versions of resources seen.", gauges.versions),
            ("deployment_restart_controller_deployment_annotation_updates", "Writes of checksums.", updates),
            ("deployment_restart_controller_deployment_restarts", "Restarts triggered.", restarts),
            ("deployment_restart_controller_changes_processed", "Changes processed.", gauges.processed),
            (
                "rollout_controller_config_restarts_deferred",
                "Restarts of workloads that replace no pods yet.",
                deferred,
            ),
            ("rollout_controller_config_restart_notifications", "Messages that the webhook took.", sent),
            ("rollout_controller_config_restart_notifications_lost", "Messages that it did not take.", lost),
        ];
        for (name, help, value) in counters {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
        let gauge_list = [
            ("deployment_restart_controller_configs_total", "ConfigMaps and Secrets tracked.", gauges.configs),
            ("deployment_restart_controller_deployments_total", "Workloads that have opted in.", gauges.workloads),
            ("deployment_restart_controller_changes_waiting_total", "Changes that wait.", gauges.waiting),
            ("rollout_controller_config_restart_stuck", "Workloads whose last write failed.", gauges.stuck),
            (
                "rollout_controller_config_restart_throttled",
                "Workloads whose restart budget is spent.",
                gauges.throttled,
            ),
            (
                "rollout_controller_config_restart_deferred",
                "Workloads with a new template that replaces no Pods yet.",
                gauges.deferred,
            ),
            ("rollout_controller_config_restart_pending", "Workloads whose restart is due and waits.", gauges.pending),
            (
                "rollout_controller_config_restart_stopped",
                "Workloads whose restart waits because that of another has failed.",
                gauges.stopped,
            ),
            ("rollout_controller_config_restart_forbidden_kinds", "Kinds that may not be listed.", refused),
        ];
        for (name, help, value) in gauge_list {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}
