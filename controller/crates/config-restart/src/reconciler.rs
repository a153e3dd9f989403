//! The controller as a state machine without I/O: observations go in with their time, work items
//! come out.
//!
//! The profiles share the cache of observed objects ([`RestartCache`]) and differ in what they
//! remember. Profile `xing` has one queue of changes for all workloads, `safe` a memory for each
//! workload, and `reloader` a queue per namespace.
//!
//! Case: `config-restart/s61-safe-refused-and-then-not`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rollout_model::Meta;

use super::cache::{NamespaceDefaults, RestartCache};
use super::config::HashedConfig;
use super::decide::plan;
use super::gauges::RestartGauges;
use super::groups::{self, GroupIndex};
use super::plan::{ObservedWorkload, RestartPlan};
use super::references::{ConfigKind, ConfigName};
use super::reloader;
use super::shares::NamespaceShares;
use super::window::Uptime;
use super::work::{WorkAction, WorkItem, WriteOutcome};
use super::workload::{WorkloadFacts, WorkloadName};
use super::workload_state::WorkloadState;
use super::xing_queue::XingQueue;
use crate::settings::{Profile, RestartSettings};

/// What was observed, and what the profile remembers of it.
#[derive(Debug)]
pub struct RestartReconciler {
    settings: RestartSettings,
    cache: RestartCache,
    profile: ProfileState,
    processed: u64,
}

#[derive(Debug)]
enum ProfileState {
    Xing(XingQueue),
    Safe(BTreeMap<WorkloadName, WorkloadState>),
    Reloader(Box<reloader::ReloaderQueue>),
}

impl RestartReconciler {
    /// Nothing observed yet.
    pub fn new(settings: RestartSettings) -> Self {
        let profile = match settings.profile {
            Profile::Xing => ProfileState::Xing(XingQueue::default()),
            Profile::Safe => ProfileState::Safe(BTreeMap::new()),
            Profile::Reloader => ProfileState::Reloader(Box::default()),
        };
        Self { cache: RestartCache::new(&settings), settings, profile, processed: 0 }
    }

    /// Handles a config that was created or changed, or deleted (`None`).
    pub fn on_config(&mut self, name: &ConfigName, now: Option<HashedConfig>, at: Uptime) {
        let now = now.filter(|config| self.selects(config));
        let Some(before) = self.cache.put_config(name, now) else { return };
        let digest = self.cache.config(name).map(|cached| &cached.config.digest);
        match &mut self.profile {
            ProfileState::Xing(queue) => {
                let changed = before.as_ref().map(|before| before.digest.data_checksum())
                    != digest.map(|digest| digest.data_checksum());
                queue.on_config(&self.cache, name, changed, at);
            }
            ProfileState::Safe(states) => {
                let mut affects_group = false;
                for user in self.cache.users(name) {
                    if let (Some(state), Some(workload)) = (states.get_mut(&user), self.cache.workload(&user)) {
                        let was_due = state.is_due();
                        state.memory.on_config(&self.cache, workload, name, before.as_ref(), at);
                        affects_group |= state.is_due() != was_due;
                        state.wake(at);
                    }
                }
                if affects_group {
                    groups::wake_waiting(states, &name.namespace, at);
                }
            }
            ProfileState::Reloader(queue) => {
                queue.on_config(&self.settings.reloader, &self.cache, name, before.as_ref(), at);
            }
        }
    }

    /// Whether the profile considers a config at all: `reloader` may select configs by their
    /// labels.
    fn selects(&self, config: &HashedConfig) -> bool {
        let selector = self.settings.reloader.resource_selector.as_ref();
        match (&self.profile, selector.zip(config.reloader.as_ref())) {
            (ProfileState::Reloader(_), Some((selector, traits))) => {
                selector.matches(&traits.labels).unwrap_or_default()
            }
            _ => true,
        }
    }

    /// Handles a namespace that was created or changed, with its metadata, or deleted (`None`).
    pub fn on_namespace(&mut self, name: &str, now: Option<&Meta>, at: Uptime) {
        match (&mut self.profile, self.settings.reloader.namespace_labels()) {
            (ProfileState::Reloader(queue), Some(selector)) => {
                queue.on_namespace(name, now.is_some_and(|now| selector.matches(&now.labels).unwrap_or_default()));
            }
            (ProfileState::Safe(states), _) => {
                let defaults = now.map(|now| NamespaceDefaults::read(&now.annotations)).unwrap_or_default();
                if self.cache.put_namespace(name, defaults) {
                    let affected = states.iter_mut().filter(|(workload, _)| workload.namespace == name);
                    affected.for_each(|(_, state)| state.wake(at));
                }
            }
            _ => {}
        }
    }

    /// Starts to carry out decisions.
    pub fn activate(&mut self) {
        if let ProfileState::Reloader(queue) = &mut self.profile {
            queue.activate();
        }
    }

    /// Handles the end of the first list of a kind of config.
    pub fn on_listed(&mut self, kind: ConfigKind, at: Uptime) {
        if !self.cache.mark_listed(kind) {
            return;
        }
        if let ProfileState::Safe(states) = &mut self.profile {
            for (name, state) in states {
                if let Some(workload) = self.cache.workload(name) {
                    state.memory.update_windows(&self.cache, workload, at);
                    state.wake(at);
                }
            }
        }
    }

    /// Handles a workload that was created or changed, or deleted (`None`). Returns the reports
    /// about its annotations that its previous version did not cause.
    pub fn on_workload(&mut self, name: &WorkloadName, now: Option<WorkloadFacts>, at: Uptime) -> Vec<WorkItem> {
        let Some(before) = self.cache.put_workload(name, now) else { return Vec::new() };
        let after = self.cache.workload(name).cloned();
        match &mut self.profile {
            ProfileState::Xing(queue) => queue.on_workload(&self.cache, name, at),
            ProfileState::Safe(states) => {
                let was_due = states.get(name).is_some_and(WorkloadState::is_due);
                match after.as_ref().filter(|workload| workload.enabled) {
                    Some(workload) => {
                        let state = states.entry(name.clone()).or_default();
                        state.memory.on_workload(&self.cache, workload, at);
                        state.is_deferred &= workload.deferral.is_some();
                        state.wake(at);
                    }
                    None => drop(states.remove(name)),
                }
                let is_due = states.get(name).is_some_and(WorkloadState::is_due);
                if was_due != is_due || groups::affects_group(before.as_deref(), after.as_deref()) {
                    groups::wake_waiting(states, &name.namespace, at);
                }
            }
            ProfileState::Reloader(_) => {}
        }
        let is_reported =
            |workload: &Arc<WorkloadFacts>| workload.enabled || self.settings.profile == Profile::Reloader;
        let Some(workload) = after.filter(is_reported) else { return Vec::new() };
        let reported_before = before.filter(is_reported).map(|before| annotation_reports(&before)).unwrap_or_default();
        let new_reports = annotation_reports(&workload).into_iter().filter(|action| !reported_before.contains(action));
        let observed = ObservedWorkload::of(workload, at);
        new_reports.map(|action| WorkItem { observed: observed.clone(), action }).collect()
    }

    /// Schedules every workload to be planned again. Profile `xing` has no such resync, like xing's
    /// controller.
    pub fn wake_all(&mut self, at: Uptime) {
        if let ProfileState::Safe(states) = &mut self.profile {
            states.values_mut().for_each(|state| state.wake(at));
        }
    }

    /// When the next work item is due if nothing changes.
    pub fn next_due(&self) -> Option<Uptime> {
        match &self.profile {
            ProfileState::Xing(queue) => queue.next_due(&self.settings.window),
            ProfileState::Safe(states) => NamespaceShares::from_states(states).next_due(states),
            ProfileState::Reloader(queue) => queue.next_due(),
        }
    }

    /// Returns the work that is due. The caller must pass the outcome of each write to
    /// [`RestartReconciler::on_write_finished`].
    pub fn take_due(&mut self, at: Uptime, now: Timestamp) -> Vec<WorkItem> {
        match &mut self.profile {
            ProfileState::Xing(queue) => {
                let (affected, processed) = queue.take_due(&self.cache, &self.settings.window, at);
                self.processed += processed;
                self.plan_writes(affected, now)
            }
            ProfileState::Safe(states) => {
                let due = |state: &WorkloadState| !state.is_writing && state.due.is_some_and(|due| due <= at);
                let all: Vec<WorkloadName> =
                    states.iter().filter(|(_, state)| due(state)).map(|(name, _)| name.clone()).collect();
                let (mut work_items, mut groups, mut shares) =
                    (Vec::new(), GroupIndex::new(now), NamespaceShares::from_states(states));
                for name in all {
                    let (Some(state), Some(workload)) = (states.get(&name), self.cache.workload(&name)) else {
                        continue;
                    };
                    if !shares.admits(&name.namespace) {
                        continue;
                    }
                    let mut observed = state.memory.observe(&self.cache, workload, at);
                    let mut decision = plan(&observed, now, &self.settings);
                    // Computing the group is expensive, so only workloads that would restart do it.
                    if decision.restarts() {
                        (observed.permit, observed.permit_recheck) = groups.permit(&self.cache, states, workload);
                        decision = plan(&observed, now, &self.settings);
                    }
                    if decision.restarts() {
                        groups.mark_restarting(workload);
                    }
                    shares.spend(&name.namespace, observed.configs.len(), decision.write.is_some());
                    let state = states.get_mut(&name);
                    work_items.extend(
                        state.into_iter().flat_map(|state| state.accept_plan(observed.clone(), decision.clone(), at)),
                    );
                }
                work_items
            }
            ProfileState::Reloader(queue) => {
                let before = queue.waiting_count();
                let actions = queue.take_due(&self.cache, &self.settings.reloader, at, now);
                self.processed += (before - queue.waiting_count()) as u64;
                let work = |(workload, action)| {
                    let observed = ObservedWorkload::of(workload, at);
                    WorkItem { observed, action: WorkAction::Reload(action) }
                };
                actions.into_iter().map(work).collect()
            }
        }
    }

    /// Returns the changes that are reported to a webhook instead of causing restarts.
    pub fn take_webhook_changes(&mut self) -> Vec<ConfigName> {
        match &mut self.profile {
            ProfileState::Reloader(queue) => queue.take_webhook_changes(),
            ProfileState::Xing(_) | ProfileState::Safe(_) => Vec::new(),
        }
    }

    /// Returns the work to do before shutdown. Profile `xing` processes changes that it saw more
    /// than once. Profile `safe` does nothing, because it finds waiting changes again after its
    /// next start (scenarios 54 and 55).
    pub fn flush(&mut self, at: Uptime, now: Timestamp) -> Vec<WorkItem> {
        let ProfileState::Xing(queue) = &mut self.profile else { return Vec::new() };
        let (affected, processed) = queue.flush(&self.cache, at);
        self.processed += processed;
        self.plan_writes(affected, now)
    }

    fn plan_writes(&mut self, affected: Vec<ObservedWorkload>, now: Timestamp) -> Vec<WorkItem> {
        let ProfileState::Xing(queue) = &mut self.profile else { return Vec::new() };
        let mut work_items = Vec::new();
        for observed in affected {
            if let RestartPlan { write: Some(write), .. } = plan(&observed, now, &self.settings) {
                queue.begin_write(&observed.workload.name, &write.checksums);
                work_items.push(WorkItem { observed, action: WorkAction::Write(write) });
            }
        }
        work_items
    }

    /// Handles the outcome of a write.
    pub fn on_write_finished(&mut self, observed: &ObservedWorkload, outcome: WriteOutcome, at: Uptime) {
        let name = &observed.workload.name;
        if let ProfileState::Safe(states) = &mut self.profile
            && let Some(state) = states.get_mut(name)
        {
            if matches!(outcome, WriteOutcome::Updated(_) | WriteOutcome::Done) {
                self.processed += state.memory.waiting_count().max(1) as u64;
            }
            state.on_write_finished(&self.cache, observed, &outcome, at);
            groups::wake_waiting(states, &name.namespace, at);
        }
        if let ProfileState::Reloader(queue) = &mut self.profile {
            queue.on_write_finished(name, !matches!(outcome, WriteOutcome::Failed(_)), at);
        }
        if let WriteOutcome::Updated(now) = outcome {
            self.on_workload(name, Some(*now), at);
        }
    }

    /// Ends the batch of writes of a namespace, whatever their outcomes.
    pub fn finish_namespace(&mut self, namespace: &str) {
        match &mut self.profile {
            ProfileState::Xing(queue) => queue.finish_namespace(namespace),
            ProfileState::Safe(_) => {}
            ProfileState::Reloader(queue) => queue.finish_namespace(namespace),
        }
    }

    /// Current values for the metrics.
    pub fn gauges(&self) -> RestartGauges {
        let (versions, configs, processed) = (self.cache.version_count, self.cache.config_count(), self.processed);
        let workloads = self.cache.enabled_workloads().count();
        let gauges = RestartGauges { versions, configs, workloads, processed, ..RestartGauges::default() };
        match &self.profile {
            ProfileState::Xing(queue) => RestartGauges { waiting: queue.waiting_count(), ..gauges },
            ProfileState::Reloader(queue) => RestartGauges { waiting: queue.waiting_count(), ..gauges },
            ProfileState::Safe(states) => RestartGauges {
                waiting: states.values().map(|state| state.memory.waiting_count()).sum(),
                stuck: states.values().filter(|state| state.failures > 0).count(),
                throttled: states.values().filter(|state| state.is_throttled).count(),
                deferred: states.values().filter(|state| state.is_deferred).count(),
                pending: states.values().filter(|state| state.is_pending()).count(),
                stopped: states.values().filter(|state| state.is_stopped()).count(),
                ..gauges
            },
        }
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
