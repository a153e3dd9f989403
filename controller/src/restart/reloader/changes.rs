//! The changes that wait, one after the other, and the pauses that end.
//!
//! A change is seen where a config's checksum is another than before. What is there when the
//! controller starts is no change, and what changes while it does not act is none either.
//!
//! The changes of a namespace are carried out one after the other, and namespaces side by side: one
//! whose writes take long, or that has thousands of workloads, does not delay another. At one look
//! only so much of a namespace is decided.
//!
//! With `--webhook-url` a change restarts nothing: it is reported to a webhook.
//!
//! Cases: `config-restart/reloader-created-late-and-flag`,
//! `config-restart/reloader-restarted-with-nothing-changed`,
//! `config-restart/reloader-namespace-selected-by-flag`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::super::config::Config;
use super::super::references::{ConfigKind, ConfigName};
use super::super::view::View;
use super::super::window::Moment;
use super::super::workload::{Workload, WorkloadKind, WorkloadName};
use super::change::Change;
use super::pause::{self, Pause};
use super::plan::{Observed, Plan, Restart, plan};
use crate::settings::ReloaderSettings;

/// How often a change is tried again, and how long the first wait is; each is twice as long as the
/// one before.
const RETRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(5);
/// How much of a namespace is decided at one look, in small workloads.
const SLICE: usize = 500;
/// Changes of a namespace that wait; of more than that, only the last of a config is kept.
const MOST_WAITING: usize = 1000;
/// In this order the kinds of workloads are restarted.
const KINDS: [WorkloadKind; 6] = [
    WorkloadKind::Deployment,
    WorkloadKind::CronJob,
    WorkloadKind::Job,
    WorkloadKind::DaemonSet,
    WorkloadKind::StatefulSet,
    WorkloadKind::Rollout,
];

/// What is to be done about one workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    /// Restart it.
    Restart(Restart),
    /// Say why it is not restarted.
    Refuse(String),
    /// End its pause.
    Resume,
}

/// The queue.
#[derive(Debug, Default)]
pub(in crate::restart) struct Changes {
    acts: bool,
    number: u64,
    /// Changes by namespace.
    waiting: BTreeMap<String, BTreeMap<(Moment, u64), Pending>>,
    /// What is being carried out, by namespace.
    lanes: BTreeMap<String, Lane>,
    /// When a pause ends.
    resumes: BTreeMap<WorkloadName, Moment>,
    /// Namespaces whose labels are selected.
    namespaces: BTreeSet<String>,
    /// What is to be reported to a webhook.
    reported: Vec<ConfigName>,
}

#[derive(Debug)]
struct Pending {
    change: Change,
    failures: u32,
}

/// What is being carried out in a namespace.
#[derive(Debug, Default)]
struct Lane {
    /// The change; `None`: pauses end.
    pending: Option<Pending>,
    /// Workloads about which nothing is decided yet.
    rest: VecDeque<WorkloadName>,
    /// What is under way.
    orders: BTreeMap<WorkloadName, Order>,
}

impl Changes {
    /// From now on changes count.
    pub(in crate::restart) fn begin(&mut self) {
        self.acts = true;
    }

    /// A namespace was seen with labels that are selected, or is none of those any more.
    pub(in crate::restart) fn namespace(&mut self, name: &str, is_selected: bool) {
        match is_selected {
            true => drop(self.namespaces.insert(name.to_owned())),
            false => drop(self.namespaces.remove(name)),
        }
    }

    /// A config came, changed or went; what it was before, if it was there.
    pub(in crate::restart) fn config(
        &mut self,
        settings: &ReloaderSettings,
        view: &View,
        name: &ConfigName,
        before: Option<&Config>,
        at: Moment,
    ) {
        let is_in = settings.namespace_labels().is_none() || self.namespaces.contains(&name.namespace);
        if !is_in || !settings.includes_namespace(&name.namespace) {
            return;
        }
        let now = view.config(name).map(|known| &known.config);
        // Neither is done before both kinds are watched, so never where one of them is to be
        // ignored.
        let is_ready = self.acts && ConfigKind::ALL.into_iter().all(|kind| view.has_listed(kind));
        let counts = match (before.and_then(|before| before.reloader.as_ref()), now) {
            (None, Some(_)) => settings.on_create && (is_ready || settings.after_start),
            (Some(_), None) => settings.on_delete && is_ready,
            (Some(before), Some(now)) => {
                self.acts && now.reloader.as_ref().is_some_and(|now| now.checksum != before.checksum)
            }
            (None, None) => false,
        };
        let traits = now.or(before).and_then(|config| config.reloader.as_ref());
        if let (true, Some(traits)) = (counts, traits) {
            let (checksum, marks) = (traits.checksum.clone(), traits.marks.clone());
            let change = Change { config: name.clone(), checksum, marks, is_gone: now.is_none() };
            self.wait(Pending { change, failures: 0 }, at);
        }
    }

    fn wait(&mut self, pending: Pending, due: Moment) {
        self.number += 1;
        let config = &pending.change.config;
        let waiting = self.waiting.entry(config.namespace.clone()).or_default();
        if waiting.len() >= MOST_WAITING {
            waiting.retain(|_, other| other.change.config != *config);
        }
        waiting.insert((due, self.number), pending);
    }

    /// When there is something to do; what waits for writes of its namespace is looked at when
    /// these are done.
    pub(in crate::restart) fn next(&self) -> Option<Moment> {
        if !self.acts {
            return None;
        }
        if self.lanes.values().any(|lane| lane.orders.is_empty()) {
            return Some(Moment::ZERO);
        }
        let is_free = |namespace: &str| !self.lanes.contains_key(namespace);
        let changes = self.waiting.iter().filter(|(namespace, _)| is_free(namespace));
        let changes = changes.filter_map(|(_, waiting)| waiting.keys().next().map(|(due, _)| *due));
        let resumes = self.resumes.iter().filter(|(name, _)| is_free(&name.namespace)).map(|(_, due)| *due);
        changes.chain(resumes).min()
    }

    /// Changes that wait.
    pub(in crate::restart) fn waiting(&self) -> usize {
        self.waiting.values().map(BTreeMap::len).sum()
    }

    /// What is to be done now: in each namespace of one change, so that the next is decided on what
    /// this one has written.
    pub(in crate::restart) fn take(
        &mut self,
        view: &View,
        settings: &ReloaderSettings,
        at: Moment,
        now: Timestamp,
    ) -> Vec<(Arc<Workload>, Order)> {
        let mut orders = self.end_pauses(view, settings, at);
        if self.acts {
            self.begin_changes(view, settings, at);
        }
        let free: Vec<String> = self
            .lanes
            .iter()
            .filter(|(_, lane)| lane.orders.is_empty())
            .map(|(namespace, _)| namespace.clone())
            .collect();
        for namespace in free {
            orders.extend(self.decide(&namespace, view, settings, now));
        }
        orders
    }

    /// Takes the first change of each namespace that has nothing under way.
    fn begin_changes(&mut self, view: &View, settings: &ReloaderSettings, at: Moment) {
        let lanes = &mut self.lanes;
        self.waiting.retain(|namespace, waiting| {
            if lanes.contains_key(namespace) {
                return true;
            }
            let Some(first) = waiting.first_entry().filter(|first| first.key().0 <= at) else { return true };
            let pending = first.remove();
            if settings.webhook.is_some() {
                // Whatever uses it, and whether it is to be ignored: neither is asked.
                self.reported.push(pending.change.config);
            } else {
                let is_followed = |kind: &WorkloadKind| match kind {
                    WorkloadKind::Job => !settings.ignores_jobs,
                    WorkloadKind::CronJob => !settings.ignores_cron_jobs,
                    WorkloadKind::Rollout => settings.rollouts,
                    _ => true,
                };
                let all = KINDS.into_iter().filter(is_followed).flat_map(|kind| view.within(kind, namespace));
                let rest = all.map(|workload| workload.name.clone()).collect();
                lanes.insert(namespace.clone(), Lane { pending: Some(pending), rest, orders: BTreeMap::new() });
            }
            !waiting.is_empty()
        });
    }

    /// Decides about the next workloads of a namespace.
    fn decide(
        &mut self,
        namespace: &str,
        view: &View,
        settings: &ReloaderSettings,
        now: Timestamp,
    ) -> Vec<(Arc<Workload>, Order)> {
        let Some(lane) = self.lanes.get_mut(namespace) else { return Vec::new() };
        let Some(pending) = &lane.pending else { return Vec::new() };
        let (mut orders, mut cost) = (Vec::new(), 0);
        while cost < SLICE
            && let Some(name) = lane.rest.pop_front()
        {
            let Some(workload) = view.workload(&name) else { continue };
            cost += workload.reloader.cost();
            let ends = self.resumes.contains_key(&name);
            let observed = Observed { workload: workload.clone(), change: pending.change.clone(), ends };
            let order = match plan(&observed, now, settings) {
                Plan::Leave => continue,
                Plan::Restart(restart) => Order::Restart(restart),
                Plan::Refuse(problem) => Order::Refuse(problem),
            };
            lane.orders.insert(name, order.clone());
            orders.push((workload.clone(), order));
        }
        self.settle(namespace);
        orders
    }

    /// Takes the changes to report to a webhook.
    pub(in crate::restart) fn take_reported(&mut self) -> Vec<ConfigName> {
        std::mem::take(&mut self.reported)
    }

    /// Ends the pauses of Deployments whose namespace has nothing under way.
    fn end_pauses(&mut self, view: &View, settings: &ReloaderSettings, at: Moment) -> Vec<(Arc<Workload>, Order)> {
        let (mut orders, mut ending) = (Vec::new(), BTreeMap::<String, Lane>::new());
        self.resumes.retain(|name, due| {
            if *due > at || self.lanes.contains_key(&name.namespace) {
                return true;
            }
            let found = view.workload(name).filter(|found| pause::is_ours(&found.reloader, &settings.annotations));
            if let Some(found) = found {
                ending.entry(name.namespace.clone()).or_default().orders.insert(name.clone(), Order::Resume);
                orders.push((found.clone(), Order::Resume));
            }
            false
        });
        self.lanes.extend(ending);
        orders
    }

    /// What became of an order.
    pub(in crate::restart) fn finished(&mut self, name: &WorkloadName, is_done: bool, at: Moment) {
        let Some(lane) = self.lanes.get_mut(&name.namespace) else { return };
        let Some(order) = lane.orders.remove(name) else { return };
        if !is_done {
            // The workloads behind this one have not been restarted either; those before it are
            // looked at once more.
            let Some(mut pending) = self.lanes.remove(&name.namespace).and_then(|lane| lane.pending) else { return };
            let wait = FIRST_WAIT * 2_u32.pow(pending.failures);
            pending.failures += 1;
            if pending.failures <= RETRIES {
                return self.wait(pending, at.saturating_add(wait));
            }
            tracing::error!(config = %pending.change.config, "A change is given up; workloads may not have been restarted.");
            return;
        }
        if let Order::Restart(Restart { pause: Some(pause), .. }) = order {
            match pause {
                Pause::Begin(period) | Pause::GoesOn(period) => {
                    self.resumes.entry(name.clone()).or_insert(at.saturating_add(period));
                }
                Pause::Over => {}
            }
        }
        self.settle(&name.namespace);
    }

    /// All that was to be done in a namespace has been tried.
    pub(in crate::restart) fn carried_out(&mut self, namespace: &str) {
        if let Some(lane) = self.lanes.get_mut(namespace) {
            lane.orders.clear();
        }
        self.settle(namespace);
    }

    /// Lets the next change of a namespace begin, if nothing of this one is left.
    fn settle(&mut self, namespace: &str) {
        if self.lanes.get(namespace).is_some_and(|lane| lane.orders.is_empty() && lane.rest.is_empty()) {
            self.lanes.remove(namespace);
        }
    }
}
