//! What the watches have shown: configs as checksums, workloads as facts, and who uses what.
//!
//! Cases: `config-restart/s07-safe-daemon-set`, `config-restart/s08-xing-init-env-from`,
//! `config-restart/secret-keyed`, `config-restart/keys-selected`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::checksum::Digest;
use super::config::Config;
use super::pace::{Pace, Place};
use super::references::{ConfigKind, ConfigName, Use};
use super::reloader::Facts;
use super::schedule::Schedule;
use super::workload::{Workload, WorkloadKind, WorkloadName};
use super::{plan, safe, selection};
use crate::model::names::restart as names;
use crate::settings::{GroupSettings, Profile, ReloaderAnnotations, RestartSettings, SecretChecksums};

/// Everything that is known.
#[derive(Debug)]
pub(super) struct View {
    profile: Profile,
    /// What profile `reloader` looks at.
    annotations: ReloaderAnnotations,
    secrets: SecretChecksums,
    configs: BTreeMap<ConfigName, Known>,
    listed: BTreeSet<ConfigKind>,
    workloads: BTreeMap<WorkloadName, Arc<Workload>>,
    /// Who uses it; there or not.
    users: BTreeMap<ConfigName, BTreeSet<WorkloadName>>,
    /// Annotations of namespaces that have any.
    namespaces: BTreeMap<String, Defaults>,
    delay: Duration,
    pub(super) turns: GroupSettings,
    /// Versions that were seen, each once.
    pub(super) versions: u64,
}

/// What the annotations of a namespace say for its workloads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Defaults {
    /// When they may be restarted.
    pub(super) schedule: Option<Schedule>,
    /// How fast.
    pub(super) pace: Pace,
}

impl Defaults {
    /// Reads them from annotations.
    pub(super) fn read(annotations: &BTreeMap<String, String>) -> Self {
        let schedule = annotations.get(names::WINDOW).map(|text| Schedule::read(text));
        Self { schedule, pace: Pace::read(annotations) }
    }
}

/// A config, and since when it is as it is.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) config: Config,
    /// Version at which its data changed last, or at which it was first seen: the data is not newer
    /// than that.
    pub(super) changed: u64,
    /// Whether it was seen to change.
    pub(super) watched: bool,
    /// Whether it was seen to appear, after its kind had been listed.
    pub(super) appeared: bool,
}

impl Known {
    /// Whether its data changed after a version. No two objects have one version.
    pub(super) fn changed_since(&self, version: u64) -> bool {
        self.changed > version
    }
}

/// A version as a number: all of one server's are, and grow. One that is none is older than all.
pub(super) fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

impl View {
    pub(super) fn new(settings: &RestartSettings) -> Self {
        Self {
            profile: settings.profile,
            annotations: settings.reloader.annotations.clone(),
            secrets: settings.secret_checksums().clone(),
            configs: BTreeMap::new(),
            listed: BTreeSet::new(),
            workloads: BTreeMap::new(),
            users: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            delay: settings.delay,
            turns: settings.turns,
            versions: 0,
        }
    }

    /// A kind of config has been listed: what was not there then is missing.
    pub(super) fn listed(&mut self, kind: ConfigKind) -> bool {
        self.listed.insert(kind)
    }

    pub(super) fn has_listed(&self, kind: ConfigKind) -> bool {
        self.listed.contains(&kind)
    }

    pub(super) fn config(&self, name: &ConfigName) -> Option<&Known> {
        self.configs.get(name)
    }

    pub(super) fn workload(&self, name: &WorkloadName) -> Option<&Arc<Workload>> {
        self.workloads.get(name)
    }

    /// All workloads of a kind in a namespace, in the order of their names.
    pub(super) fn within(&self, kind: WorkloadKind, namespace: &str) -> impl Iterator<Item = &Arc<Workload>> {
        let first = WorkloadName { kind, namespace: namespace.to_owned(), name: String::new() };
        let is_in = move |of: &&Arc<Workload>| of.name.kind == kind && of.name.namespace == namespace;
        self.workloads.range(first..).map(|(_, workload)| workload).take_while(is_in)
    }

    /// All that have opted in.
    pub(super) fn enabled(&self) -> impl Iterator<Item = &Arc<Workload>> {
        self.workloads.values().filter(|workload| workload.enabled)
    }

    pub(super) fn users(&self, name: &ConfigName) -> Vec<WorkloadName> {
        self.users.get(name).into_iter().flatten().cloned().collect()
    }

    /// Configs that are there, and those that are only referred to.
    pub(super) fn tracked(&self) -> usize {
        self.configs.len() + self.users.keys().filter(|name| !self.configs.contains_key(*name)).count()
    }

    /// Takes in what a watch showed of a config; `None` if that is nothing new, else what it was
    /// before.
    pub(super) fn put_config(&mut self, name: &ConfigName, now: Option<Config>) -> Option<Option<Config>> {
        let Some(mut config) = now else { return self.configs.remove(name).map(|known| Some(known.config)) };
        match &mut config.reloader {
            Some(traits) if self.profile == Profile::Reloader => traits.keep(&self.annotations),
            _ => config.reloader = None,
        }
        let version = number(&config.version);
        let before = self.configs.get(name);
        if before.is_some_and(|before| before.config.version == config.version) {
            return None;
        }
        self.versions += 1;
        let fresh = Known {
            changed: version,
            watched: before.is_some(),
            appeared: before.is_none() && self.listed.contains(&name.kind),
            config,
        };
        let known = match before {
            Some(before) if before.config.digest == fresh.config.digest => {
                Known { changed: before.changed, watched: before.watched, appeared: before.appeared, ..fresh }
            }
            _ => fresh,
        };
        Some(self.configs.insert(name.clone(), known).map(|known| known.config))
    }

    /// Takes in what a watch or an answer showed of a workload; `None` if that is nothing new, else
    /// what it was before.
    pub(super) fn put_workload(&mut self, name: &WorkloadName, now: Option<Workload>) -> Option<Option<Arc<Workload>>> {
        let before = self.workloads.get(name).cloned();
        if let (Some(before), Some(now)) = (&before, &now) {
            let (old, new) = (&before.meta.resource_version, &now.meta.resource_version);
            // What this controller has written may be known before the watch shows what was there
            // before it (scenario 37).
            let stale = self.profile != Profile::Xing && before.meta.uid == now.meta.uid && number(old) > number(new);
            if old == new || stale {
                return None;
            }
        }
        if let Some(before) = &before {
            for config in self.references(before).into_keys() {
                if let Some(users) = self.users.get_mut(&config) {
                    users.remove(name);
                    if users.is_empty() {
                        self.users.remove(&config);
                    }
                }
            }
        }
        match now {
            Some(mut workload) => {
                self.versions += 1;
                if !workload.enabled {
                    workload.references.clear();
                    workload.applied.clear();
                }
                if self.profile != Profile::Safe {
                    workload.keys.clear();
                    workload.unreadable.clear();
                    workload.schedule = None;
                    (workload.pace, workload.place) = (Pace::default(), Place::default());
                }
                if self.profile == Profile::Reloader {
                    let before = before.as_ref().map(|before| &before.reloader);
                    workload.unreadable = workload.reloader.compile(&self.annotations, before);
                    // None of these is looked at.
                    workload.restarts.clear();
                    workload.ignores.clear();
                    workload.pending = None;
                    workload.problem = None;
                } else {
                    workload.reloader = Facts::default();
                }
                if let SecretChecksums::Keyed(keys) = &self.secrets {
                    keys.read(&mut workload);
                }
                for config in self.references(&workload).into_keys() {
                    self.users.entry(config).or_default().insert(name.clone());
                }
                self.workloads.insert(name.clone(), Arc::new(workload));
            }
            None => {
                self.workloads.remove(name);
                before.as_ref()?;
            }
        }
        Some(before)
    }

    /// Takes in what a watch showed of a namespace's annotations; whether they have changed.
    pub(super) fn put_namespace(&mut self, namespace: &str, now: Defaults) -> bool {
        if self.namespaces.get(namespace).unwrap_or(&Defaults::default()) == &now {
            return false;
        }
        if now == Defaults::default() {
            self.namespaces.remove(namespace);
        } else {
            self.namespaces.insert(namespace.to_owned(), now);
        }
        true
    }

    /// When a workload may be restarted: by its own annotation, or else by its namespace's.
    pub(super) fn schedule<'a>(&'a self, workload: &'a Workload) -> Option<&'a Schedule> {
        workload.schedule.as_ref().or_else(|| self.namespaces.get(&workload.name.namespace)?.schedule.as_ref())
    }

    /// How fast workloads of a namespace are restarted, as it says.
    pub(super) fn pace(&self, namespace: &str) -> Option<&Pace> {
        self.namespaces.get(namespace).map(|defaults| &defaults.pace)
    }

    /// How long a workload's restart waits after the change: by its own annotation, or its
    /// namespace's, or the flag.
    pub(super) fn delay(&self, workload: &Workload) -> Duration {
        let of_namespace = || self.pace(&workload.name.namespace)?.delay;
        workload.pace.delay.or_else(of_namespace).unwrap_or(self.delay)
    }

    /// The annotation that holds a workload's restart back because it makes no sense, and what is
    /// wrong with it.
    pub(super) fn problem(&self, workload: &Workload) -> Option<(&'static str, String)> {
        let of_namespace = || {
            let mut all = self.pace(&workload.name.namespace)?.unreadable.iter();
            // The workload's own replaces it.
            let is_replaced = |name: &str| name == names::DELAY && workload.pace.delay.is_some();
            let (name, problem) = all.find(|(name, _)| !is_replaced(name))?;
            Some((*name, format!("of the namespace: {problem}")))
        };
        let own = workload.pace.unreadable.iter().next().map(|(name, problem)| (*name, problem.clone()));
        let order = || workload.place.unreadable.clone().map(|problem| (names::ORDER, problem));
        own.or_else(order).or_else(of_namespace)
    }

    /// What a workload refers to, as far as the profile knows of it.
    pub(super) fn references(&self, workload: &Workload) -> BTreeMap<ConfigName, Use> {
        let xing = self.profile == Profile::Xing;
        if xing && workload.name.kind == WorkloadKind::DaemonSet {
            return BTreeMap::new();
        }
        let counts = |(name, used): &(&ConfigName, &Use)| {
            let is_followed = name.kind == ConfigKind::ConfigMap || self.secrets != SecretChecksums::None;
            is_followed && (!xing || used.known_to_xing)
        };
        let narrowed = |(name, used): (&ConfigName, &Use)| {
            let selected = workload.keys.get(&format!("{}/{}", name.kind.as_str(), name.name));
            (name.clone(), selection::narrowed(used, selected))
        };
        workload.references.iter().filter(counts).map(narrowed).collect()
    }

    /// Whether a config is to restart a workload at all.
    pub(super) fn is_ignored(&self, workload: &Workload, name: &ConfigName) -> bool {
        self.profile == Profile::Safe
            && safe::is_ignored(workload, name, self.configs.get(name).is_some_and(|known| known.config.ignored))
    }

    /// What is known of a config, to one that uses it so, and whose checksum of it was made of
    /// that.
    pub(super) fn present(&self, name: &ConfigName, used: &Use, made_of: Option<&Use>) -> plan::Present {
        match self.configs.get(name) {
            Some(Known { config: Config { digest, .. }, .. }) => plan::Present::There {
                used: self.used(name, digest, used),
                whole: self.checksum(name, digest.whole()),
                equivalent: self.equivalent(name, digest, used, made_of),
            },
            None if self.listed.contains(&name.kind) => plan::Present::Missing,
            None => plan::Present::Unknown,
        }
    }

    /// The checksum to write of what a workload uses of a config.
    pub(super) fn used(&self, name: &ConfigName, digest: &Digest, used: &Use) -> String {
        selection::written(used, self.checksum(name, &digest.used(used)))
    }

    /// The checksum to write of a config that has this plain one.
    fn checksum(&self, name: &ConfigName, plain: &str) -> String {
        match &self.secrets {
            SecretChecksums::Keyed(keys) if name.kind == ConfigKind::Secret => keys.checksum(name, plain),
            _ => plain.to_owned(),
        }
    }

    /// Checksums that say the same of this data: made of what the workload's was made of, and by
    /// the previous key.
    fn equivalent(&self, name: &ConfigName, digest: &Digest, used: &Use, made_of: Option<&Use>) -> Vec<String> {
        let mut all: Vec<String> = made_of.iter().map(|made_of| self.used(name, digest, made_of)).collect();
        if let SecretChecksums::Keyed(keys) = &self.secrets
            && name.kind == ConfigKind::Secret
        {
            let of = |used| keys.previous(name, &digest.used(used)).map(|checksum| selection::written(used, checksum));
            all.extend([Some(used), made_of].into_iter().flatten().filter_map(of));
            all.extend(keys.previous(name, digest.whole()));
        }
        all
    }
}
