//! The queue of changes, which are carried out one after the other, and the ends of pauses.
//!
//! A change is queued when a config's checksum differs from its previous one. Configs that exist
//! when the controller starts are not changes, and neither are changes before it becomes active.
//!
//! Within a namespace, changes are carried out one after the other; namespaces are independent. So
//! a namespace with slow writes or thousands of workloads does not delay another one. One round
//! decides about a limited part of each namespace.
//!
//! With `--webhook-url` a change restarts nothing and is reported to a webhook instead.
//!
//! Cases: `config-restart/reloader/created-late-and-flag`,
//! `config-restart/reloader/restarted-with-nothing-changed`,
//! `config-restart/reloader/namespace-selected-by-flag`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::engines::reloader::matching::ConfigChange;
use crate::engines::reloader::pause;
use crate::engines::reloader::pause::PauseAction;
use crate::engines::reloader::plan::{ObservedChange, PlannedReload, ReloadDecision, plan};
use crate::model::cache::RestartCache;
use crate::model::config::HashedConfig;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName, WorkloadKind, WorkloadName};
use crate::pacing::window::Uptime;
use crate::settings::ReloaderSettings;

/// How often a failed change is retried, and the first backoff; it doubles with each failure.
const RETRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(5);
/// How much of a namespace one round decides, in units of a small workload.
const MAX_SLICE_COST: usize = 500;
/// How many changes of a namespace may wait. Beyond that, only the last change of each config is
/// kept.
const MAX_WAITING: usize = 1000;
/// The order in which kinds of workloads are restarted.
const RESTART_ORDER: [WorkloadKind; 6] = [
    WorkloadKind::Deployment,
    WorkloadKind::CronJob,
    WorkloadKind::Job,
    WorkloadKind::DaemonSet,
    WorkloadKind::StatefulSet,
    WorkloadKind::Rollout,
];

/// What to do about one workload.
#[derive(Debug, Clone, PartialEq)]
pub enum ReloadAction {
    /// Restart it.
    Restart(PlannedReload),
    /// Report why it is not restarted.
    Refuse(String),
    /// End its pause.
    Resume,
}

#[derive(Debug, Default)]
pub(crate) struct ReloaderQueue {
    is_active: bool,
    sequence: u64,
    /// Waiting changes by namespace, with the time at which each is due.
    waiting: BTreeMap<String, BTreeMap<(Uptime, u64), WaitingChange>>,
    /// The change in progress of each namespace that has one.
    runs: BTreeMap<String, NamespaceRun>,
    /// When the pauses of Deployments end.
    pause_ends: BTreeMap<WorkloadName, Uptime>,
    /// Namespaces whose labels are selected.
    namespaces: BTreeSet<String>,
    /// Changes to report to a webhook.
    webhook_changes: Vec<ConfigName>,
}

#[derive(Debug)]
struct WaitingChange {
    change: ConfigChange,
    failures: u32,
}

/// A change that is carried out in a namespace.
#[derive(Debug, Default)]
struct NamespaceRun {
    /// `None`: pauses end instead.
    change_in_progress: Option<WaitingChange>,
    /// Workloads that have not been decided about.
    remaining: VecDeque<WorkloadName>,
    /// Actions in flight.
    actions: BTreeMap<WorkloadName, ReloadAction>,
}

impl ReloaderQueue {
    /// Starts to queue changes.
    pub(crate) fn activate(&mut self) {
        self.is_active = true;
    }

    /// Handles a namespace whose labels are selected, or no longer are.
    pub(crate) fn on_namespace(&mut self, name: &str, is_selected: bool) {
        match is_selected {
            true => drop(self.namespaces.insert(name.to_owned())),
            false => drop(self.namespaces.remove(name)),
        }
    }

    /// Handles a config that was created, changed or deleted. `before` is its previous version, if
    /// it existed.
    pub(crate) fn on_config(
        &mut self,
        settings: &ReloaderSettings,
        cache: &RestartCache,
        name: &ConfigName,
        before: Option<&HashedConfig>,
        at: Uptime,
    ) {
        let is_in = settings.namespace_labels().is_none() || self.namespaces.contains(&name.namespace);
        if !is_in || !settings.includes_namespace(&name.namespace) {
            return;
        }
        let now = cache.config(name).map(|cached| &cached.config);
        // Reloader handles creations and deletions only once it watches both kinds, so never if it
        // ignores one of them.
        let is_ready = self.is_active && ConfigKind::ALL.into_iter().all(|kind| cache.has_listed(kind));
        let is_change = match (before.and_then(|before| before.reloader.as_ref()), now) {
            (None, Some(_)) => settings.on_create && (is_ready || settings.after_start),
            (Some(_), None) => settings.on_delete && is_ready,
            (Some(before), Some(now)) => {
                self.is_active && now.reloader.as_ref().is_some_and(|now| now.checksum != before.checksum)
            }
            (None, None) => false,
        };
        let traits = now.or(before).and_then(|config| config.reloader.as_ref());
        if let (true, Some(traits)) = (is_change, traits) {
            let (checksum, marks) = (traits.checksum.clone(), traits.marks.clone());
            let change = ConfigChange { config: name.clone(), checksum, marks, is_deleted: now.is_none() };
            self.enqueue(WaitingChange { change, failures: 0 }, at);
        }
    }

    fn enqueue(&mut self, waiting_change: WaitingChange, due: Uptime) {
        self.sequence += 1;
        let config = &waiting_change.change.config;
        let waiting = self.waiting.entry(config.namespace.clone()).or_default();
        if waiting.len() >= MAX_WAITING {
            waiting.retain(|_, other| other.change.config != *config);
        }
        waiting.insert((due, self.sequence), waiting_change);
    }

    /// When the next action is due. Namespaces with writes in flight are left out until these have
    /// finished.
    pub(crate) fn next_due(&self) -> Option<Uptime> {
        if !self.is_active {
            return None;
        }
        if self.runs.values().any(|run| run.actions.is_empty()) {
            return Some(Uptime::ZERO);
        }
        let is_free = |namespace: &str| !self.runs.contains_key(namespace);
        let changes = self.waiting.iter().filter(|(namespace, _)| is_free(namespace));
        let changes = changes.filter_map(|(_, waiting)| waiting.keys().next().map(|(due, _)| *due));
        let pause_ends = self.pause_ends.iter().filter(|(name, _)| is_free(&name.namespace)).map(|(_, due)| *due);
        changes.chain(pause_ends).min()
    }

    /// The number of changes that wait.
    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting.values().map(BTreeMap::len).sum()
    }

    /// Returns the due actions. Each namespace has one change in progress, so that the next change
    /// is decided after the writes of this one.
    pub(crate) fn take_due(
        &mut self,
        cache: &RestartCache,
        settings: &ReloaderSettings,
        at: Uptime,
        now: Timestamp,
    ) -> Vec<(Arc<WorkloadFacts>, ReloadAction)> {
        let mut actions = self.end_pauses(cache, settings, at);
        if self.is_active {
            self.begin_changes(cache, settings, at);
        }
        let free: Vec<String> = self
            .runs
            .iter()
            .filter(|(_, run)| run.actions.is_empty())
            .map(|(namespace, _)| namespace.clone())
            .collect();
        for namespace in free {
            actions.extend(self.decide(&namespace, cache, settings, now));
        }
        actions
    }

    /// Takes the first due change of each namespace without a change in progress.
    fn begin_changes(&mut self, cache: &RestartCache, settings: &ReloaderSettings, at: Uptime) {
        let runs = &mut self.runs;
        self.waiting.retain(|namespace, waiting| {
            if runs.contains_key(namespace) {
                return true;
            }
            let Some(first) = waiting.first_entry().filter(|first| first.key().0 <= at) else { return true };
            let change_in_progress = first.remove();
            if settings.webhook.is_some() {
                // Reported regardless of which workloads use the config and of annotations that
                // ignore it, like in Reloader.
                self.webhook_changes.push(change_in_progress.change.config);
            } else {
                let is_followed = |kind: &WorkloadKind| match kind {
                    WorkloadKind::Job => !settings.ignores_jobs,
                    WorkloadKind::CronJob => !settings.ignores_cron_jobs,
                    WorkloadKind::Rollout => settings.rollouts,
                    _ => true,
                };
                let all =
                    RESTART_ORDER.into_iter().filter(is_followed).flat_map(|kind| cache.workloads_in(kind, namespace));
                let remaining = all.map(|workload| workload.name.clone()).collect();
                runs.insert(
                    namespace.clone(),
                    NamespaceRun { change_in_progress: Some(change_in_progress), remaining, actions: BTreeMap::new() },
                );
            }
            !waiting.is_empty()
        });
    }

    /// Decides about the next workloads of a namespace.
    fn decide(
        &mut self,
        namespace: &str,
        cache: &RestartCache,
        settings: &ReloaderSettings,
        now: Timestamp,
    ) -> Vec<(Arc<WorkloadFacts>, ReloadAction)> {
        let Some(run) = self.runs.get_mut(namespace) else { return Vec::new() };
        let Some(change_in_progress) = &run.change_in_progress else { return Vec::new() };
        let (mut actions, mut cost) = (Vec::new(), 0);
        while cost < MAX_SLICE_COST
            && let Some(name) = run.remaining.pop_front()
        {
            let Some(workload) = cache.workload(&name) else { continue };
            cost += workload.reloader.cost();
            let is_end_known = self.pause_ends.contains_key(&name);
            let observed =
                ObservedChange { workload: workload.clone(), change: change_in_progress.change.clone(), is_end_known };
            let action = match plan(&observed, now, settings) {
                ReloadDecision::Skip => continue,
                ReloadDecision::Restart(restart) => ReloadAction::Restart(restart),
                ReloadDecision::Refuse(problem) => ReloadAction::Refuse(problem),
            };
            run.actions.insert(name, action.clone());
            actions.push((workload.clone(), action));
        }
        self.finish_if_idle(namespace);
        actions
    }

    /// Returns the changes to report to a webhook.
    pub(crate) fn take_webhook_changes(&mut self) -> Vec<ConfigName> {
        std::mem::take(&mut self.webhook_changes)
    }

    /// Ends the due pauses in namespaces without a change in progress.
    fn end_pauses(
        &mut self,
        cache: &RestartCache,
        settings: &ReloaderSettings,
        at: Uptime,
    ) -> Vec<(Arc<WorkloadFacts>, ReloadAction)> {
        let (mut actions, mut ending) = (Vec::new(), BTreeMap::<String, NamespaceRun>::new());
        self.pause_ends.retain(|name, due| {
            if *due > at || self.runs.contains_key(&name.namespace) {
                return true;
            }
            let found =
                cache.workload(name).filter(|found| pause::is_paused_here(&found.reloader, &settings.annotations));
            if let Some(found) = found {
                ending.entry(name.namespace.clone()).or_default().actions.insert(name.clone(), ReloadAction::Resume);
                actions.push((found.clone(), ReloadAction::Resume));
            }
            false
        });
        self.runs.extend(ending);
        actions
    }

    /// Handles the outcome of an action.
    pub(crate) fn on_write_finished(&mut self, name: &WorkloadName, is_done: bool, at: Uptime) {
        let Some(run) = self.runs.get_mut(&name.namespace) else { return };
        let Some(action) = run.actions.remove(name) else { return };
        if !is_done {
            // The remaining workloads have not been restarted, so the whole change is retried.
            // Those that were restarted are decided about again.
            let Some(mut change_in_progress) = self.runs.remove(&name.namespace).and_then(|run| run.change_in_progress)
            else {
                return;
            };
            let wait = FIRST_WAIT * 2_u32.pow(change_in_progress.failures);
            change_in_progress.failures += 1;
            if change_in_progress.failures <= RETRIES {
                return self.enqueue(change_in_progress, at.saturating_add(wait));
            }
            tracing::error!(config = %change_in_progress.change.config, "A change is given up; workloads may not have been restarted.");
            return;
        }
        if let ReloadAction::Restart(PlannedReload { pause: Some(pause), .. }) = action {
            match pause {
                PauseAction::Begin(period) | PauseAction::Continue(period) => {
                    self.pause_ends.entry(name.clone()).or_insert(at.saturating_add(period));
                }
                PauseAction::End => {}
            }
        }
        self.finish_if_idle(&name.namespace);
    }

    /// Ends the change in progress of a namespace if nothing of it is left.
    fn finish_if_idle(&mut self, namespace: &str) {
        if self.runs.get(namespace).is_some_and(|run| run.actions.is_empty() && run.remaining.is_empty()) {
            self.runs.remove(namespace);
        }
    }
}
