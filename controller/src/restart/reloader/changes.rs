//! The changes that wait, one after the other, and the pauses that end.
//!
//! A change is seen where a config's checksum is another than before. What is there when the controller starts is no change, and what
//! changes while it does not act is none either.
//!
//! With `--webhook-url` a change restarts nothing: it is reported to a webhook.
//!
//! Cases: `config-restart/reloader-created-late-and-flag`, `config-restart/reloader-restarted-with-nothing-changed`,
//! `config-restart/reloader-namespace-selected-by-flag`.

use std::collections::{BTreeMap, BTreeSet};
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

/// How often a change is tried again, and how long the first wait is; each is twice as long as the one before.
const RETRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(5);
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
    waiting: BTreeMap<(Moment, u64), Pending>,
    /// What is being carried out: the change, and what it does.
    current: Option<(Pending, BTreeMap<WorkloadName, Order>)>,
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
        if !is_in || !settings.looks_at(&name.namespace) {
            return;
        }
        let now = view.config(name).map(|known| &known.config);
        // Neither is done before both kinds are watched, so never where one of them is to be ignored.
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
        self.waiting.insert((due, self.number), pending);
    }

    /// When there is something to do.
    pub(in crate::restart) fn next(&self) -> Option<Moment> {
        if !self.acts {
            return None;
        }
        let change = self.waiting.keys().next().map(|(due, _)| *due);
        change.into_iter().chain(self.resumes.values().copied()).min()
    }

    /// Changes that wait.
    pub(in crate::restart) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What is to be done now: of one change, so that the next is decided on what this one has written.
    pub(in crate::restart) fn take(
        &mut self,
        view: &View,
        settings: &ReloaderSettings,
        at: Moment,
        now: Timestamp,
    ) -> Vec<(Arc<Workload>, Order)> {
        let mut orders = self.ended(view, settings, at);
        let Some(first) = self.waiting.first_entry().filter(|first| self.acts && first.key().0 <= at) else {
            return orders;
        };
        let pending = first.remove();
        if settings.webhook.is_some() {
            // Whatever uses it, and whether it is to be ignored: neither is asked.
            self.reported.push(pending.change.config);
            return orders;
        }
        let mut current = BTreeMap::new();
        for workload in KINDS.into_iter().flat_map(|kind| view.within(kind, &pending.change.config.namespace)) {
            let ignored = match workload.name.kind {
                WorkloadKind::Job => settings.ignores_jobs,
                WorkloadKind::CronJob => settings.ignores_cron_jobs,
                WorkloadKind::Rollout => !settings.rollouts,
                _ => false,
            };
            if ignored {
                continue;
            }
            let ends = self.resumes.contains_key(&workload.name);
            let observed = Observed { workload: workload.clone(), change: pending.change.clone(), ends };
            let order = match plan(&observed, now, settings) {
                Plan::Leave => continue,
                Plan::Restart(restart) => Order::Restart(restart),
                Plan::Refuse(problem) => Order::Refuse(problem),
            };
            current.insert(workload.name.clone(), order.clone());
            orders.push((workload.clone(), order));
        }
        self.current = Some((pending, current));
        orders
    }

    /// Takes the changes to report to a webhook.
    pub(in crate::restart) fn take_reported(&mut self) -> Vec<ConfigName> {
        std::mem::take(&mut self.reported)
    }

    /// The Deployments whose pause ends.
    fn ended(&mut self, view: &View, settings: &ReloaderSettings, at: Moment) -> Vec<(Arc<Workload>, Order)> {
        let mut orders = Vec::new();
        self.resumes.retain(|name, due| {
            let is_over = *due <= at;
            let found = view.workload(name).filter(|found| pause::is_ours(&found.reloader, &settings.annotations));
            orders.extend(found.filter(|_| is_over).map(|found| (found.clone(), Order::Resume)));
            !is_over
        });
        orders
    }

    /// What became of an order.
    pub(in crate::restart) fn finished(&mut self, name: &WorkloadName, is_done: bool, at: Moment) {
        let Some((_, orders)) = &mut self.current else { return };
        let Some(order) = orders.remove(name) else { return };
        if !is_done {
            // The workloads behind this one have not been restarted either; those before it are looked at once more.
            let Some((mut pending, _)) = self.current.take() else { return };
            let wait = FIRST_WAIT * 2_u32.pow(pending.failures);
            pending.failures += 1;
            if pending.failures <= RETRIES {
                return self.wait(pending, at.saturating_add(wait));
            }
            tracing::error!(config = %pending.change.config, "A change is given up; workloads may not have been restarted.");
        } else if let Order::Restart(Restart { pause: Some(pause), .. }) = order {
            match pause {
                Pause::Begin(period) | Pause::GoesOn(period) => {
                    self.resumes.entry(name.clone()).or_insert(at.saturating_add(period));
                }
                Pause::Over => {}
            }
        }
    }
}
