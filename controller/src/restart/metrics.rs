//! Metrics of restarts: xing's seven under their names and with their meaning, and nine more.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::numbers::Numbers;
use super::reloader::Order;
use super::work::{Action, Outcome, Work};
use crate::settings::{Profile, RestartSettings};

/// What was written so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    updates: AtomicU64,
    restarts: AtomicU64,
    deferred: AtomicU64,
}

impl Counts {
    /// Counts what became of one piece of work.
    pub(crate) fn count(&self, work: &Work, outcome: Option<&Outcome>, settings: &RestartSettings) {
        let is_done = matches!(outcome, Some(Outcome::Written(_) | Outcome::Made));
        let write = match &work.action {
            Action::Write(write) => write,
            Action::Reload(Order::Restart(_)) if is_done => {
                self.updates.fetch_add(1, Ordering::Relaxed);
                self.restarts.fetch_add(1, Ordering::Relaxed);
                return;
            }
            _ => return,
        };
        // xing's counts attempts (X7).
        if is_done || (settings.profile == Profile::Xing && !settings.dry_run) {
            self.updates.fetch_add(1, Ordering::Relaxed);
        }
        if let (true, Some(restart)) = (is_done, &write.restart) {
            let counter = if restart.held.is_some() { &self.deferred } else { &self.restarts };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes all metrics; `refused` is how many kinds may not be listed, `told` how many messages
    /// a webhook took and how many are lost.
    ///
    /// # Errors
    /// If the encoder fails.
    pub(crate) fn encode(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        numbers: &Numbers,
        refused: usize,
        (sent, lost): (u64, u64),
    ) -> fmt::Result {
        let [updates, restarts, deferred] =
            [&self.updates, &self.restarts, &self.deferred].map(|count| count.load(Ordering::Relaxed));
        let counters = [
            ("deployment_restart_controller_resource_versions", "Versions of resources seen.", numbers.versions),
            ("deployment_restart_controller_deployment_annotation_updates", "Writes of checksums.", updates),
            ("deployment_restart_controller_deployment_restarts", "Restarts triggered.", restarts),
            ("deployment_restart_controller_changes_processed", "Changes processed.", numbers.processed),
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
        let gauges = [
            ("deployment_restart_controller_configs_total", "ConfigMaps and Secrets tracked.", numbers.configs),
            ("deployment_restart_controller_deployments_total", "Workloads that have opted in.", numbers.workloads),
            ("deployment_restart_controller_changes_waiting_total", "Changes that wait.", numbers.waiting),
            ("rollout_controller_config_restart_stuck", "Workloads whose last write failed.", numbers.stuck),
            (
                "rollout_controller_config_restart_throttled",
                "Workloads whose restart budget is spent.",
                numbers.throttled,
            ),
            (
                "rollout_controller_config_restart_deferred",
                "Workloads whose restart waits for others.",
                numbers.deferred,
            ),
            ("rollout_controller_config_restart_pending", "Workloads whose restart is due and waits.", numbers.pending),
            (
                "rollout_controller_config_restart_stopped",
                "Workloads whose restart waits because that of another has failed.",
                numbers.stopped,
            ),
            ("rollout_controller_config_restart_forbidden_kinds", "Kinds that may not be listed.", refused),
        ];
        for (name, help, value) in gauges {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}
