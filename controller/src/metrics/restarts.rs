//! Metrics of restarts: xing's seven under their names and with their meaning, and five more.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::restart::Numbers;

/// Something that can tell its numbers: those of the controller; writes, restarts and restarts deferred so far; kinds that it may not
/// list.
pub(crate) trait RestartNumbers: Send + Sync + 'static {
    fn numbers(&self) -> (Numbers, [u64; 3], usize);
}

/// Asks whoever restarts when somebody reads; shows nothing where nobody does.
#[derive(Default)]
pub(super) struct Restarts(Mutex<Option<Weak<dyn RestartNumbers>>>);

impl Restarts {
    pub(super) fn show(&self, of: &Arc<impl RestartNumbers>) {
        let of: Weak<dyn RestartNumbers> = Arc::downgrade(&(of.clone() as Arc<dyn RestartNumbers>));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(of);
    }
}

impl Collector for Restarts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let of = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Weak::upgrade);
        let Some(of) = of else { return Ok(()) };
        let (numbers, [updates, restarts, deferred], refused) = of.numbers();
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
            ("rollout_controller_config_restart_forbidden_kinds", "Kinds that may not be listed.", refused),
        ];
        for (name, help, value) in gauges {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Restarts {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Restarts").finish_non_exhaustive()
    }
}
