//! The queue of profile `xing` and its links between workloads and configs (sections 1.5, 1.6 and
//! 1.11): what changed, since when, and how often.
//!
//! Case: `config-restart/xing/s39-re-created`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::annotation_codec::AppliedChecksums;
use crate::model::cache::RestartCache;
use crate::model::plan::{ConfigRef, ObservedWorkload};
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigName, WorkloadName};
use crate::pacing::window::Uptime;
use crate::settings::Window;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ChangedObject {
    Config(ConfigName),
    Workload(WorkloadName),
}

impl ChangedObject {
    fn namespace(&self) -> &str {
        match self {
            Self::Config(name) => &name.namespace,
            Self::Workload(name) => &name.namespace,
        }
    }
}

/// The queue, and the state of each workload that has opted in.
#[derive(Debug, Default)]
pub(crate) struct XingQueue {
    queue: BTreeMap<ChangedObject, (Uptime, u32)>,
    /// Namespaces with writes in flight. Changes in them wait for these writes.
    writing_namespaces: BTreeSet<String>,
    tracked: BTreeMap<WorkloadName, TrackedWorkload>,
}

#[derive(Debug)]
struct TrackedWorkload {
    references: BTreeSet<ConfigName>,
    /// The checksums that the annotation has, as far as this controller knows.
    checksums: AppliedChecksums,
    /// The configs whose changes affect it. A deleted config is not linked again when it is
    /// re-created (X4).
    links: BTreeSet<ConfigName>,
}

impl XingQueue {
    pub(crate) fn on_config(&mut self, cache: &RestartCache, name: &ConfigName, checksum_changed: bool, at: Uptime) {
        if cache.config(name).is_none() {
            self.queue.remove(&ChangedObject::Config(name.clone()));
            // Users are found by their references, and the links are a subset of those.
            for user in cache.users(name) {
                if let Some(tracked) = self.tracked.get_mut(&user) {
                    tracked.links.remove(name);
                }
            }
        } else if checksum_changed {
            self.enqueue(ChangedObject::Config(name.clone()), at);
        }
    }

    pub(crate) fn on_workload(&mut self, cache: &RestartCache, name: &WorkloadName, at: Uptime) {
        let Some(workload) = cache.workload(name).filter(|workload| workload.enabled) else {
            self.tracked.remove(name);
            self.queue.remove(&ChangedObject::Workload(name.clone()));
            return;
        };
        let references: BTreeSet<_> = cache.references(workload).into_keys().collect();
        let checksums = workload.checksums.clone();
        let is_unchanged =
            |tracked: &TrackedWorkload| tracked.references == references && tracked.checksums == checksums;
        if !self.tracked.get(name).is_some_and(is_unchanged) {
            let links = references.clone();
            self.tracked.insert(name.clone(), TrackedWorkload { references, checksums, links });
            self.enqueue(ChangedObject::Workload(name.clone()), at);
        }
    }

    fn enqueue(&mut self, object: ChangedObject, at: Uptime) {
        let (_, count) = self.queue.entry(object).or_insert((at, 0));
        *count += 1;
    }

    /// The next tick at which a change is to be processed.
    pub(crate) fn next_due(&self, window: &Window) -> Option<Uptime> {
        let free = self.queue.iter().filter(|(object, _)| !self.writing_namespaces.contains(object.namespace()));
        free.map(|(_, (first, _))| window.fixed_end(*first)).min()
    }

    /// Takes the due changes out of the queue. Returns the workloads that they affect, and the
    /// number of changes.
    pub(crate) fn take_due(
        &mut self,
        cache: &RestartCache,
        window: &Window,
        at: Uptime,
    ) -> (Vec<ObservedWorkload>, u64) {
        let due = |(first, _): &(Uptime, u32)| window.fixed_end(*first) <= at;
        self.take_matching(cache, at, due)
    }

    /// The same before shutdown: takes the changes that were seen more than once, whatever their
    /// age (section 1.10).
    pub(crate) fn flush(&mut self, cache: &RestartCache, at: Uptime) -> (Vec<ObservedWorkload>, u64) {
        self.take_matching(cache, at, |(_, count)| *count > 1)
    }

    fn take_matching(
        &mut self,
        cache: &RestartCache,
        at: Uptime,
        is_selected: impl Fn(&(Uptime, u32)) -> bool,
    ) -> (Vec<ObservedWorkload>, u64) {
        let is_due = |(object, change): &(&ChangedObject, &(Uptime, u32))| {
            is_selected(change) && !self.writing_namespaces.contains(object.namespace())
        };
        let due_objects: Vec<ChangedObject> =
            self.queue.iter().filter(is_due).map(|(object, _)| object.clone()).collect();
        let mut affected = BTreeSet::new();
        for object in &due_objects {
            match object {
                ChangedObject::Workload(name) => drop(affected.insert(name.clone())),
                ChangedObject::Config(config) => {
                    let uses = |name: &WorkloadName| {
                        self.tracked.get(name).is_some_and(|tracked| tracked.links.contains(config))
                    };
                    affected.extend(cache.users(config).into_iter().filter(uses));
                }
            }
        }
        let observed = affected.iter().filter_map(|name| self.observe(cache, name, at)).collect();
        for object in &due_objects {
            self.queue.remove(object);
        }
        (observed, due_objects.len() as u64)
    }

    /// The input of the rules. The change counts are those of the queue at this moment, and keys
    /// are not tracked.
    fn observe(&self, cache: &RestartCache, name: &WorkloadName, at: Uptime) -> Option<ObservedWorkload> {
        let (tracked, workload) = (self.tracked.get(name)?, cache.workload(name)?);
        let references = cache.references(workload);
        let config_ref = |config: &ConfigName| {
            let usage = references.get(config).cloned().unwrap_or_default();
            let change = self.queue.get(&ChangedObject::Config(config.clone()));
            ConfigRef {
                state: cache.config_state(config, &usage, None),
                usage,
                baseline: None,
                changes: change.map_or(0, |(_, count)| *count),
                change_span: change.map(|(first, _)| (*first, *first)),
                keys: BTreeSet::new(),
                is_rolled_out: false,
            }
        };
        let configs = tracked.links.iter().map(|config| (config.clone(), config_ref(config))).collect();
        let mut workload = workload.clone();
        if workload.checksums != tracked.checksums {
            Arc::<WorkloadFacts>::make_mut(&mut workload).checksums.clone_from(&tracked.checksums);
        }
        Some(ObservedWorkload { configs, ..ObservedWorkload::of(workload, at) })
    }

    /// Handles the end of all writes of a namespace.
    pub(crate) fn finish_namespace(&mut self, namespace: &str) {
        self.writing_namespaces.remove(namespace);
    }

    /// Handles the start of a write: it removes the workload's own change, and assumes that the
    /// write succeeds, even if it fails later (X7).
    pub(crate) fn begin_write(&mut self, name: &WorkloadName, checksums: &AppliedChecksums) {
        self.queue.remove(&ChangedObject::Workload(name.clone()));
        self.writing_namespaces.insert(name.namespace.clone());
        if let Some(tracked) = self.tracked.get_mut(name) {
            tracked.checksums.clone_from(checksums);
        }
    }

    /// The number of changes that wait.
    pub(crate) fn waiting_count(&self) -> usize {
        self.queue.len()
    }
}
