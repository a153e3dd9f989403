//! Profile `xing`: one queue of changes for all workloads. It has no resync, like xing's
//! controller. Before shutdown it processes the changes that it saw more than once.

mod queue;
pub(crate) mod rules;

use jiff::Timestamp;

use crate::engines::engine::{DueWork, Observations, RestartEngine, RestartGauges};
use crate::engines::work::{WorkAction, WorkItem};
use crate::engines::xing::queue::XingQueue;
use crate::model::config::HashedConfig;
use crate::model::plan::{ObservedWorkload, RestartPlan};
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigName, WorkloadName};
use crate::pacing::window::Uptime;
use crate::settings::RestartSettings;

#[derive(Debug, Default)]
pub(crate) struct XingEngine(XingQueue);

impl XingEngine {
    fn plan_writes(&mut self, (affected, processed): (Vec<ObservedWorkload>, u64), now: Timestamp) -> DueWork {
        let mut items = Vec::new();
        for observed in affected {
            if let RestartPlan { write: Some(write), .. } = rules::plan(&observed, now) {
                self.0.begin_write(&observed.workload.name, &write.checksums);
                items.push(WorkItem { observed, action: WorkAction::Write(write) });
            }
        }
        DueWork { items, processed }
    }
}

impl RestartEngine for XingEngine {
    fn on_config(&mut self, on: Observations<'_>, name: &ConfigName, before: Option<&HashedConfig>, at: Uptime) {
        let digest = on.cache.config(name).map(|cached| &cached.config.digest);
        let changed = before.map(|before| before.digest.data_checksum()) != digest.map(|digest| digest.data_checksum());
        self.0.on_config(on.cache, name, changed, at);
    }

    fn on_workload(&mut self, on: Observations<'_>, name: &WorkloadName, _before: Option<&WorkloadFacts>, at: Uptime) {
        self.0.on_workload(on.cache, name, at);
    }

    fn next_due(&self, settings: &RestartSettings) -> Option<Uptime> {
        self.0.next_due(&settings.window)
    }

    fn take_due(&mut self, on: Observations<'_>, at: Uptime, now: Timestamp) -> DueWork {
        let due = self.0.take_due(on.cache, &on.settings.window, at);
        self.plan_writes(due, now)
    }

    fn flush(&mut self, on: Observations<'_>, at: Uptime, now: Timestamp) -> DueWork {
        let due = self.0.flush(on.cache, at);
        self.plan_writes(due, now)
    }

    fn finish_namespace(&mut self, namespace: &str) {
        self.0.finish_namespace(namespace);
    }

    fn gauges(&self, of_cache: RestartGauges) -> RestartGauges {
        RestartGauges { waiting: self.0.waiting_count(), ..of_cache }
    }
}
