//! The controller without its shell: what was seen goes in, with the moment at which it was; what
//! is to be written comes out.
//!
//! A plain data structure. Two profiles share what is known ([`View`]) and differ in what they
//! remember: xing's a queue of changes for all workloads together, the safe one a memory for each.
//!
//! Case: `config-restart/s61-safe-refused-and-then-not`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::changes::Changes;
use super::config::Config;
use super::decide::plan;
use super::groups::{self, Groups};
use super::numbers::Numbers;
use super::plan::{Observed, Plan};
use super::references::{ConfigKind, ConfigName};
use super::reloader;
use super::shares::Shares;
use super::view::{Defaults, View};
use super::window::Moment;
use super::work::{Action, Outcome, Work};
use super::workload::{Workload, WorkloadName};
use super::workload_state::WorkloadState;
use crate::model::Meta;
use crate::settings::{Profile, RestartSettings};

/// The controller.
#[derive(Debug)]
pub(crate) struct Agent {
    settings: RestartSettings,
    view: View,
    profile: ProfileState,
    processed: u64,
}

#[derive(Debug)]
enum ProfileState {
    Xing(Changes),
    Safe(BTreeMap<WorkloadName, WorkloadState>),
    Reloader(Box<reloader::Changes>),
}

impl Agent {
    /// One that knows nothing yet.
    pub(crate) fn new(settings: RestartSettings) -> Self {
        let profile = match settings.profile {
            Profile::Xing => ProfileState::Xing(Changes::default()),
            Profile::Safe => ProfileState::Safe(BTreeMap::new()),
            Profile::Reloader => ProfileState::Reloader(Box::default()),
        };
        Self { view: View::new(&settings), settings, profile, processed: 0 }
    }

    /// A config came or changed, or (`None`) went.
    pub(crate) fn config(&mut self, name: &ConfigName, now: Option<Config>, at: Moment) {
        let now = now.filter(|config| self.selects(config));
        let Some(before) = self.view.put_config(name, now) else { return };
        let digest = self.view.config(name).map(|known| &known.config.digest);
        match &mut self.profile {
            ProfileState::Xing(changes) => {
                let changed =
                    before.as_ref().map(|before| before.digest.whole()) != digest.map(|digest| digest.whole());
                changes.config(&self.view, name, changed, at);
            }
            ProfileState::Safe(states) => {
                let mut concerns_others = false;
                for user in self.view.users(name) {
                    if let (Some(state), Some(workload)) = (states.get_mut(&user), self.view.workload(&user)) {
                        let was_due = state.is_due();
                        state.memory.config(&self.view, workload, name, before.as_ref(), at);
                        concerns_others |= state.is_due() != was_due;
                        state.wake(at);
                    }
                }
                if concerns_others {
                    groups::wake(states, &name.namespace, at);
                }
            }
            ProfileState::Reloader(changes) => {
                changes.config(&self.settings.reloader, &self.view, name, before.as_ref(), at);
            }
        }
    }

    /// Whether a config is looked at at all: profile `reloader` may select them by labels.
    fn selects(&self, config: &Config) -> bool {
        let selector = self.settings.reloader.resource_selector.as_ref();
        match (&self.profile, selector.zip(config.reloader.as_ref())) {
            (ProfileState::Reloader(_), Some((selector, traits))) => {
                selector.matches(&traits.labels).unwrap_or_default()
            }
            _ => true,
        }
    }

    /// A namespace came or changed, with this metadata, or (`None`) went.
    pub(crate) fn namespace(&mut self, name: &str, now: Option<&Meta>, at: Moment) {
        match (&mut self.profile, self.settings.reloader.namespace_labels()) {
            (ProfileState::Reloader(changes), Some(selector)) => {
                changes.namespace(name, now.is_some_and(|now| selector.matches(&now.labels).unwrap_or_default()));
            }
            (ProfileState::Safe(states), _) => {
                let defaults = now.map(|now| Defaults::read(&now.annotations)).unwrap_or_default();
                if self.view.put_namespace(name, defaults) {
                    let within = states.iter_mut().filter(|(workload, _)| workload.namespace == name);
                    within.for_each(|(_, state)| state.wake(at));
                }
            }
            _ => {}
        }
    }

    /// From now on what is decided is carried out.
    pub(crate) fn begin(&mut self) {
        if let ProfileState::Reloader(changes) = &mut self.profile {
            changes.begin();
        }
    }

    /// All configs of a kind have been seen once.
    pub(crate) fn listed(&mut self, kind: ConfigKind, at: Moment) {
        if !self.view.listed(kind) {
            return;
        }
        if let ProfileState::Safe(states) = &mut self.profile {
            for (name, state) in states {
                if let Some(workload) = self.view.workload(name) {
                    state.memory.weigh(&self.view, workload, at);
                    state.wake(at);
                }
            }
        }
    }

    /// A workload came or changed, or (`None`) went. Returns what is to be said of its annotations,
    /// once for each time that they are seen so.
    pub(crate) fn workload(&mut self, name: &WorkloadName, now: Option<Workload>, at: Moment) -> Vec<Work> {
        let Some(before) = self.view.put_workload(name, now) else { return Vec::new() };
        let after = self.view.workload(name).cloned();
        match &mut self.profile {
            ProfileState::Xing(changes) => changes.workload(&self.view, name, at),
            ProfileState::Safe(states) => {
                let was_due = states.get(name).is_some_and(WorkloadState::is_due);
                match after.as_ref().filter(|workload| workload.enabled) {
                    Some(workload) => {
                        let state = states.entry(name.clone()).or_default();
                        state.memory.workload(&self.view, workload, at);
                        state.is_deferred &= workload.held.is_some();
                        state.wake(at);
                    }
                    None => drop(states.remove(name)),
                }
                let is_due = states.get(name).is_some_and(WorkloadState::is_due);
                if was_due != is_due || groups::is_other(before.as_deref(), after.as_deref()) {
                    groups::wake(states, &name.namespace, at);
                }
            }
            ProfileState::Reloader(_) => {}
        }
        let counts = |workload: &Arc<Workload>| workload.enabled || self.settings.profile == Profile::Reloader;
        let Some(workload) = after.filter(counts) else { return Vec::new() };
        let known = before.filter(counts).map(|before| wrong(&before)).unwrap_or_default();
        let fresh = wrong(&workload).into_iter().filter(|action| !known.contains(action));
        let observed = Observed::of(workload, at);
        fresh.map(|action| Work { observed: observed.clone(), action }).collect()
    }

    /// Every workload is to be looked at again; in xing's profile none is, as there.
    pub(crate) fn look_again(&mut self, at: Moment) {
        if let ProfileState::Safe(states) = &mut self.profile {
            states.values_mut().for_each(|state| state.wake(at));
        }
    }

    /// When there will be something to do if nothing changes.
    pub(crate) fn next(&self) -> Option<Moment> {
        match &self.profile {
            ProfileState::Xing(changes) => changes.next(&self.settings.window),
            ProfileState::Safe(states) => Shares::of(states).next(states),
            ProfileState::Reloader(changes) => changes.next(),
        }
    }

    /// What is to be done now. The outcome of each write must go to [`Agent::finished`].
    pub(crate) fn take(&mut self, at: Moment, now: Timestamp) -> Vec<Work> {
        match &mut self.profile {
            ProfileState::Xing(changes) => {
                let (affected, processed) = changes.take(&self.view, &self.settings.window, at);
                self.processed += processed;
                self.save(affected, now)
            }
            ProfileState::Safe(states) => {
                let due = |state: &WorkloadState| !state.busy && state.due.is_some_and(|due| due <= at);
                let all: Vec<WorkloadName> =
                    states.iter().filter(|(_, state)| due(state)).map(|(name, _)| name.clone()).collect();
                let (mut works, mut groups, mut shares) = (Vec::new(), Groups::new(now), Shares::of(states));
                for name in all {
                    let (Some(state), Some(workload)) = (states.get(&name), self.view.workload(&name)) else {
                        continue;
                    };
                    if !shares.admit(&name.namespace) {
                        continue;
                    }
                    let mut observed = state.memory.observe(&self.view, workload, at);
                    let mut decided = plan(&observed, now, &self.settings);
                    // Others are looked at only where there is something that they could hold back.
                    if decided.restarts() {
                        (observed.turn, observed.turn_changes) = groups.turn(&self.view, states, workload);
                        decided = plan(&observed, now, &self.settings);
                    }
                    if decided.restarts() {
                        groups.starts(workload);
                    }
                    shares.spend(&name.namespace, observed.configs.len(), decided.write.is_some());
                    let state = states.get_mut(&name);
                    works.extend(
                        state.into_iter().flat_map(|state| state.decided(observed.clone(), decided.clone(), at)),
                    );
                }
                works
            }
            ProfileState::Reloader(changes) => {
                let before = changes.waiting();
                let orders = changes.take(&self.view, &self.settings.reloader, at, now);
                self.processed += (before - changes.waiting()) as u64;
                let work = |(workload, order)| {
                    let observed = Observed::of(workload, at);
                    Work { observed, action: Action::Reload(order) }
                };
                orders.into_iter().map(work).collect()
            }
        }
    }

    /// Takes the changes to report to a webhook in place of restarts.
    pub(crate) fn take_reported(&mut self) -> Vec<ConfigName> {
        match &mut self.profile {
            ProfileState::Reloader(changes) => changes.take_reported(),
            ProfileState::Xing(_) | ProfileState::Safe(_) => Vec::new(),
        }
    }

    /// What is to be done before the end: in xing's profile what was seen more than once, in the
    /// safe one nothing, for whatever waits is found again (scenarios 54 and 55).
    pub(crate) fn flush(&mut self, at: Moment, now: Timestamp) -> Vec<Work> {
        let ProfileState::Xing(changes) = &mut self.profile else { return Vec::new() };
        let (affected, processed) = changes.flush(&self.view, at);
        self.processed += processed;
        self.save(affected, now)
    }

    fn save(&mut self, affected: Vec<Observed>, now: Timestamp) -> Vec<Work> {
        let ProfileState::Xing(changes) = &mut self.profile else { return Vec::new() };
        let mut works = Vec::new();
        for observed in affected {
            if let Plan { write: Some(write), .. } = plan(&observed, now, &self.settings) {
                changes.saving(&observed.workload.name, &write.applied);
                works.push(Work { observed, action: Action::Write(write) });
            }
        }
        works
    }

    /// What became of a write.
    pub(crate) fn finished(&mut self, observed: &Observed, outcome: Outcome, at: Moment) {
        let name = &observed.workload.name;
        if let ProfileState::Safe(states) = &mut self.profile
            && let Some(state) = states.get_mut(name)
        {
            if matches!(outcome, Outcome::Written(_) | Outcome::Made) {
                self.processed += state.memory.waiting().max(1) as u64;
            }
            state.finished(&self.view, observed, &outcome, at);
            groups::wake(states, &name.namespace, at);
        }
        if let ProfileState::Reloader(changes) = &mut self.profile {
            changes.finished(name, !matches!(outcome, Outcome::Failed(_)), at);
        }
        if let Outcome::Written(now) = outcome {
            self.workload(name, Some(*now), at);
        }
    }

    /// All that was taken for a namespace has been tried, whatever became of it.
    pub(crate) fn carried_out(&mut self, namespace: &str) {
        match &mut self.profile {
            ProfileState::Xing(changes) => changes.carried_out(namespace),
            ProfileState::Safe(_) => {}
            ProfileState::Reloader(changes) => changes.carried_out(namespace),
        }
    }

    /// Numbers for the metrics.
    pub(crate) fn numbers(&self) -> Numbers {
        let (versions, configs, processed) = (self.view.versions, self.view.tracked(), self.processed);
        let workloads = self.view.enabled().count();
        let numbers = Numbers { versions, configs, workloads, processed, ..Numbers::default() };
        match &self.profile {
            ProfileState::Xing(changes) => Numbers { waiting: changes.waiting(), ..numbers },
            ProfileState::Reloader(changes) => Numbers { waiting: changes.waiting(), ..numbers },
            ProfileState::Safe(states) => Numbers {
                waiting: states.values().map(|state| state.memory.waiting()).sum(),
                stuck: states.values().filter(|state| state.failures > 0).count(),
                throttled: states.values().filter(|state| state.is_throttled).count(),
                deferred: states.values().filter(|state| state.is_deferred).count(),
                pending: states.values().filter(|state| state.is_pending()).count(),
                stopped: states.values().filter(|state| state.is_stopped()).count(),
                ..numbers
            },
        }
    }
}

/// What is to be said of a workload's annotations.
fn wrong(workload: &Workload) -> Vec<Action> {
    let unknown = || (!workload.unknown_key.is_empty()).then(|| Action::UnknownKey(workload.unknown_key.clone()));
    let checksums = workload.problem.clone().map(Action::Unreadable).or_else(unknown);
    let of_users = (!workload.unreadable.is_empty()).then(|| Action::BadAnnotations(workload.unreadable.clone()));
    checksums.into_iter().chain(of_users).collect()
}
