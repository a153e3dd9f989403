//! Profile `safe`: a memory for each workload that has opted in. Before shutdown it does nothing,
//! because it finds waiting changes again after its next start (scenarios 54 and 55).

mod groups;
mod memory;
pub(crate) mod rules;
mod shares;
mod workload_state;

use std::collections::BTreeMap;

use jiff::Timestamp;
use rollout_model::Meta;

use crate::engines::engine::{DueWork, Observations, RestartEngine, RestartGauges};
use crate::engines::safe::groups::GroupIndex;
use crate::engines::safe::shares::NamespaceShares;
use crate::engines::safe::workload_state::WorkloadState;
use crate::engines::work::WriteOutcome;
use crate::model::cache::{NamespaceDefaults, RestartCache};
use crate::model::config::HashedConfig;
use crate::model::plan::ObservedWorkload;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName, WorkloadName};
use crate::pacing::window::Uptime;
use crate::settings::RestartSettings;

#[derive(Debug, Default)]
pub(crate) struct SafeEngine {
    states: BTreeMap<WorkloadName, WorkloadState>,
}

impl RestartEngine for SafeEngine {
    fn on_config(&mut self, on: Observations<'_>, name: &ConfigName, before: Option<&HashedConfig>, at: Uptime) {
        let mut affects_group = false;
        for user in on.cache.users(name) {
            if let (Some(state), Some(workload)) = (self.states.get_mut(&user), on.cache.workload(&user)) {
                let was_due = state.is_due();
                state.memory.on_config(on.cache, workload, name, before, at);
                affects_group |= state.is_due() != was_due;
                state.wake(at);
            }
        }
        if affects_group {
            groups::wake_waiting(&mut self.states, &name.namespace, at);
        }
    }

    fn on_namespace(
        &mut self,
        cache: &mut RestartCache,
        _settings: &RestartSettings,
        name: &str,
        now: Option<&Meta>,
        at: Uptime,
    ) {
        let defaults = now.map(|now| NamespaceDefaults::read(&now.annotations)).unwrap_or_default();
        if cache.put_namespace(name, defaults) {
            let affected = self.states.iter_mut().filter(|(workload, _)| workload.namespace == name);
            affected.for_each(|(_, state)| state.wake(at));
        }
    }

    fn on_listed(&mut self, on: Observations<'_>, _kind: ConfigKind, at: Uptime) {
        for (name, state) in &mut self.states {
            if let Some(workload) = on.cache.workload(name) {
                state.memory.update_windows(on.cache, workload, at);
                state.wake(at);
            }
        }
    }

    fn on_workload(&mut self, on: Observations<'_>, name: &WorkloadName, before: Option<&WorkloadFacts>, at: Uptime) {
        let after = on.cache.workload(name);
        let was_due = self.states.get(name).is_some_and(WorkloadState::is_due);
        match after.filter(|workload| workload.enabled) {
            Some(workload) => {
                let state = self.states.entry(name.clone()).or_default();
                state.memory.on_workload(on.cache, workload, at);
                state.is_deferred &= workload.deferral.is_some();
                state.wake(at);
            }
            None => drop(self.states.remove(name)),
        }
        let is_due = self.states.get(name).is_some_and(WorkloadState::is_due);
        if was_due != is_due || groups::affects_group(before, after.map(AsRef::as_ref)) {
            groups::wake_waiting(&mut self.states, &name.namespace, at);
        }
    }

    fn wake_all(&mut self, at: Uptime) {
        self.states.values_mut().for_each(|state| state.wake(at));
    }

    fn next_due(&self, _settings: &RestartSettings) -> Option<Uptime> {
        NamespaceShares::from_states(&self.states).next_due(&self.states)
    }

    fn take_due(&mut self, on: Observations<'_>, at: Uptime, now: Timestamp) -> DueWork {
        let states = &mut self.states;
        let due = |state: &WorkloadState| !state.is_writing && state.due.is_some_and(|due| due <= at);
        let all: Vec<WorkloadName> =
            states.iter().filter(|(_, state)| due(state)).map(|(name, _)| name.clone()).collect();
        let (mut items, mut groups, mut shares) =
            (Vec::new(), GroupIndex::new(now), NamespaceShares::from_states(states));
        for name in all {
            let (Some(state), Some(workload)) = (states.get(&name), on.cache.workload(&name)) else {
                continue;
            };
            if !shares.admits(&name.namespace) {
                continue;
            }
            let mut observed = state.memory.observe(on.cache, workload, at);
            let mut decision = rules::plan(&observed, now, on.settings);
            // Computing the group is expensive, so only workloads that would restart do it.
            if decision.restarts() {
                (observed.permit, observed.permit_recheck) = groups.permit(on.cache, states, workload);
                decision = rules::plan(&observed, now, on.settings);
            }
            if decision.restarts() {
                groups.mark_restarting(workload);
            }
            shares.spend(&name.namespace, observed.configs.len(), decision.write.is_some());
            let state = states.get_mut(&name);
            items.extend(state.into_iter().flat_map(|state| state.accept_plan(observed.clone(), decision.clone(), at)));
        }
        DueWork { items, processed: 0 }
    }

    fn on_write_finished(
        &mut self,
        on: Observations<'_>,
        observed: &ObservedWorkload,
        outcome: &WriteOutcome,
        at: Uptime,
    ) -> u64 {
        let name = &observed.workload.name;
        let Some(state) = self.states.get_mut(name) else { return 0 };
        let is_done = matches!(outcome, WriteOutcome::Updated(_) | WriteOutcome::Done);
        let processed = if is_done { state.memory.waiting_count().max(1) as u64 } else { 0 };
        state.on_write_finished(on.cache, observed, outcome, at);
        groups::wake_waiting(&mut self.states, &name.namespace, at);
        processed
    }

    fn gauges(&self, of_cache: RestartGauges) -> RestartGauges {
        let states = &self.states;
        RestartGauges {
            waiting: states.values().map(|state| state.memory.waiting_count()).sum(),
            stuck: states.values().filter(|state| state.failures > 0).count(),
            throttled: states.values().filter(|state| state.is_throttled).count(),
            deferred: states.values().filter(|state| state.is_deferred).count(),
            pending: states.values().filter(|state| state.is_pending()).count(),
            stopped: states.values().filter(|state| state.is_stopped()).count(),
            ..of_cache
        }
    }
}
