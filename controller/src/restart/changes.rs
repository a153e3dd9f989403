//! xing's queue and links (sections 1.5, 1.6 and 1.11): what changed, since when, how often.
//!
//! Case: `config-restart/s39-xing-re-created`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plan::{Linked, Observed};
use super::references::ConfigName;
use super::state::Applied;
use super::view::View;
use super::window::Moment;
use super::workload::{Workload, WorkloadName};
use crate::settings::Window;

/// What can change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Config(ConfigName),
    Workload(WorkloadName),
}

impl Subject {
    fn namespace(&self) -> &str {
        match self {
            Self::Config(name) => &name.namespace,
            Self::Workload(name) => &name.namespace,
        }
    }
}

/// The queue, and what is remembered of each workload that has opted in.
#[derive(Debug, Default)]
pub(super) struct Changes {
    queue: BTreeMap<Subject, (Moment, u32)>,
    /// Namespaces of which writes are under way: what changes there meanwhile waits for them.
    busy: BTreeSet<String>,
    tracked: BTreeMap<WorkloadName, Tracked>,
}

#[derive(Debug)]
struct Tracked {
    references: BTreeSet<ConfigName>,
    /// What its annotation says, as far as this controller believes.
    applied: Applied,
    /// Configs whose changes reach it; one that was deleted does not come back by itself (X4).
    links: BTreeSet<ConfigName>,
}

impl Changes {
    pub(super) fn config(&mut self, view: &View, name: &ConfigName, checksum_changed: bool, at: Moment) {
        if view.config(name).is_none() {
            self.queue.remove(&Subject::Config(name.clone()));
            // Those that refer to it; links are some of the references.
            for user in view.users(name) {
                if let Some(tracked) = self.tracked.get_mut(&user) {
                    tracked.links.remove(name);
                }
            }
        } else if checksum_changed {
            self.note(Subject::Config(name.clone()), at);
        }
    }

    pub(super) fn workload(&mut self, view: &View, name: &WorkloadName, at: Moment) {
        let Some(workload) = view.workload(name).filter(|workload| workload.enabled) else {
            self.tracked.remove(name);
            self.queue.remove(&Subject::Workload(name.clone()));
            return;
        };
        let references: BTreeSet<_> = view.references(workload).into_keys().collect();
        let applied = workload.applied.clone();
        let same = |tracked: &Tracked| tracked.references == references && tracked.applied == applied;
        if !self.tracked.get(name).is_some_and(same) {
            let links = references.clone();
            self.tracked.insert(name.clone(), Tracked { references, applied, links });
            self.note(Subject::Workload(name.clone()), at);
        }
    }

    fn note(&mut self, subject: Subject, at: Moment) {
        let (_, count) = self.queue.entry(subject).or_insert((at, 0));
        *count += 1;
    }

    /// The next tick at which something is to be processed.
    pub(super) fn next(&self, window: &Window) -> Option<Moment> {
        let free = self.queue.iter().filter(|(subject, _)| !self.busy.contains(subject.namespace()));
        free.map(|(_, (first, _))| window.fixed(*first)).min()
    }

    /// Takes out of the queue what is due, and returns the workloads that it affects and how many
    /// changes that were.
    pub(super) fn take(&mut self, view: &View, window: &Window, at: Moment) -> (Vec<Observed>, u64) {
        let due = |(first, _): &(Moment, u32)| window.fixed(*first) <= at;
        self.take_those(view, at, due)
    }

    /// The same for an end that is near: what was seen more than once, whatever its age (section
    /// 1.10).
    pub(super) fn flush(&mut self, view: &View, at: Moment) -> (Vec<Observed>, u64) {
        self.take_those(view, at, |(_, count)| *count > 1)
    }

    fn take_those(&mut self, view: &View, at: Moment, which: impl Fn(&(Moment, u32)) -> bool) -> (Vec<Observed>, u64) {
        let is_due =
            |(subject, change): &(&Subject, &(Moment, u32))| which(change) && !self.busy.contains(subject.namespace());
        let taken: Vec<Subject> = self.queue.iter().filter(is_due).map(|(subject, _)| subject.clone()).collect();
        let mut affected = BTreeSet::new();
        for subject in &taken {
            match subject {
                Subject::Workload(name) => drop(affected.insert(name.clone())),
                Subject::Config(config) => {
                    let uses = |name: &WorkloadName| {
                        self.tracked.get(name).is_some_and(|tracked| tracked.links.contains(config))
                    };
                    affected.extend(view.users(config).into_iter().filter(uses));
                }
            }
        }
        let observed = affected.iter().filter_map(|name| self.observe(view, name, at)).collect();
        for subject in &taken {
            self.queue.remove(subject);
        }
        (observed, taken.len() as u64)
    }

    /// What the rules look at: counts are those of the queue at this moment, and keys are not
    /// watched.
    fn observe(&self, view: &View, name: &WorkloadName, at: Moment) -> Option<Observed> {
        let (tracked, workload) = (self.tracked.get(name)?, view.workload(name)?);
        let references = view.references(workload);
        let linked = |config: &ConfigName| {
            let used = references.get(config).cloned().unwrap_or_default();
            let change = self.queue.get(&Subject::Config(config.clone()));
            Linked {
                present: view.present(config, &used, None),
                used,
                baseline: None,
                changes: change.map_or(0, |(_, count)| *count),
                seen: change.map(|(first, _)| (*first, *first)),
                keys: BTreeSet::new(),
                rolled_out: false,
            }
        };
        let configs = tracked.links.iter().map(|config| (config.clone(), linked(config))).collect();
        let mut workload = workload.clone();
        if workload.applied != tracked.applied {
            Arc::<Workload>::make_mut(&mut workload).applied.clone_from(&tracked.applied);
        }
        Some(Observed { configs, ..Observed::of(workload, at) })
    }

    /// All writes of a namespace have been tried.
    pub(super) fn carried_out(&mut self, namespace: &str) {
        self.busy.remove(namespace);
    }

    /// A workload is being written: its own change is done with, and what is written is believed to
    /// be there, whether or not it comes to be (X7).
    pub(super) fn saving(&mut self, name: &WorkloadName, applied: &Applied) {
        self.queue.remove(&Subject::Workload(name.clone()));
        self.busy.insert(name.namespace.clone());
        if let Some(tracked) = self.tracked.get_mut(name) {
            tracked.applied.clone_from(applied);
        }
    }

    /// Changes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }
}
