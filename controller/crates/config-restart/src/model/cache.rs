//! The cache of watched objects: configs as checksums, workloads as facts, and which workloads use
//! which config.
//!
//! Cases: `config-restart/safe/s07-daemon-set`, `config-restart/xing/s08-init-env-from`,
//! `config-restart/safe/secret-keyed`, `config-restart/safe/keys-selected`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rollout_model::names::restart as names;

use crate::model::annotations::{GroupMembership, PacingAnnotations};
use crate::model::checksum::Digest;
use crate::model::config::HashedConfig;
use crate::model::references::ConfigUsage;
use crate::model::reloader_facts::ReloaderFacts;
use crate::model::workload::WorkloadFacts;
use crate::model::{key_selection, plan};
use crate::names::{ConfigKind, ConfigName, WorkloadKind, WorkloadName};
use crate::pacing::schedule::Schedule;
use crate::settings::{GroupSettings, Profile, ReloaderAnnotations, RestartSettings, SecretChecksums};

#[derive(Debug)]
pub(crate) struct RestartCache {
    profile: Profile,
    /// The annotations that profile `reloader` evaluates.
    annotations: ReloaderAnnotations,
    secrets: SecretChecksums,
    configs: BTreeMap<ConfigName, CachedConfig>,
    listed_kinds: BTreeSet<ConfigKind>,
    workloads: BTreeMap<WorkloadName, Arc<WorkloadFacts>>,
    /// The workloads that use a config, whether or not the config exists.
    users: BTreeMap<ConfigName, BTreeSet<WorkloadName>>,
    /// Only namespaces with such annotations.
    namespaces: BTreeMap<String, NamespaceDefaults>,
    delay: Duration,
    pub(crate) turns: GroupSettings,
    /// How many distinct object versions were seen.
    pub(crate) version_count: u64,
}

/// A namespace's annotations that apply to its workloads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamespaceDefaults {
    pub(crate) schedule: Option<Schedule>,
    pub(crate) pacing: PacingAnnotations,
}

impl NamespaceDefaults {
    pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Self {
        let schedule = annotations.get(names::WINDOW).map(|text| Schedule::read(text));
        Self { schedule, pacing: PacingAnnotations::read(annotations) }
    }
}

/// A config with the history of its data.
#[derive(Debug)]
pub(crate) struct CachedConfig {
    pub(crate) config: HashedConfig,
    /// The version at which its data last changed or it was first seen. The data is not newer than
    /// that.
    pub(crate) changed_version: u64,
    /// Whether a watch has shown a change of its data.
    pub(crate) has_changed: bool,
    /// Whether a watch has shown its creation, after the first list of its kind.
    pub(crate) has_appeared: bool,
}

impl CachedConfig {
    /// Whether its data changed after a version. No two objects share a version.
    pub(crate) fn is_changed_after(&self, version: u64) -> bool {
        self.changed_version > version
    }
}

/// Parses a resourceVersion. The versions of one server are increasing numbers; any other text
/// counts as older than all of them.
pub(crate) fn parse_version(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

impl RestartCache {
    pub(crate) fn new(settings: &RestartSettings) -> Self {
        Self {
            profile: settings.profile,
            annotations: settings.reloader.annotations.clone(),
            secrets: settings.secret_checksums().clone(),
            configs: BTreeMap::new(),
            listed_kinds: BTreeSet::new(),
            workloads: BTreeMap::new(),
            users: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            delay: settings.delay,
            turns: settings.turns,
            version_count: 0,
        }
    }

    /// Records that a kind of config has been listed: configs that are not in the cache now do not
    /// exist.
    pub(crate) fn mark_listed(&mut self, kind: ConfigKind) -> bool {
        self.listed_kinds.insert(kind)
    }

    pub(crate) fn has_listed(&self, kind: ConfigKind) -> bool {
        self.listed_kinds.contains(&kind)
    }

    pub(crate) fn config(&self, name: &ConfigName) -> Option<&CachedConfig> {
        self.configs.get(name)
    }

    pub(crate) fn workload(&self, name: &WorkloadName) -> Option<&Arc<WorkloadFacts>> {
        self.workloads.get(name)
    }

    /// All workloads of a kind in a namespace, ordered by name.
    pub(crate) fn workloads_in(
        &self,
        kind: WorkloadKind,
        namespace: &str,
    ) -> impl Iterator<Item = &Arc<WorkloadFacts>> {
        let first = WorkloadName { kind, namespace: namespace.to_owned(), name: String::new() };
        let is_in = move |of: &&Arc<WorkloadFacts>| of.name.kind == kind && of.name.namespace == namespace;
        self.workloads.range(first..).map(|(_, workload)| workload).take_while(is_in)
    }

    /// All workloads that have opted in.
    pub(crate) fn enabled_workloads(&self) -> impl Iterator<Item = &Arc<WorkloadFacts>> {
        self.workloads.values().filter(|workload| workload.enabled)
    }

    pub(crate) fn users(&self, name: &ConfigName) -> Vec<WorkloadName> {
        self.users.get(name).into_iter().flatten().cloned().collect()
    }

    /// The number of configs that exist or are referenced.
    pub(crate) fn config_count(&self) -> usize {
        self.configs.len() + self.users.keys().filter(|name| !self.configs.contains_key(*name)).count()
    }

    /// Stores a version of a config that a watch has shown. Returns `None` if it is not new, else
    /// the previous version.
    pub(crate) fn put_config(&mut self, name: &ConfigName, now: Option<HashedConfig>) -> Option<Option<HashedConfig>> {
        let Some(mut config) = now else { return self.configs.remove(name).map(|cached| Some(cached.config)) };
        match &mut config.reloader {
            Some(traits) if self.profile == Profile::Reloader => traits.retain_relevant(&self.annotations),
            _ => config.reloader = None,
        }
        let version = parse_version(&config.version);
        let before = self.configs.get(name);
        if before.is_some_and(|before| before.config.version == config.version) {
            return None;
        }
        self.version_count += 1;
        let updated = CachedConfig {
            changed_version: version,
            has_changed: before.is_some(),
            has_appeared: before.is_none() && self.listed_kinds.contains(&name.kind),
            config,
        };
        let cached = match before {
            Some(before) if before.config.digest == updated.config.digest => CachedConfig {
                changed_version: before.changed_version,
                has_changed: before.has_changed,
                has_appeared: before.has_appeared,
                ..updated
            },
            _ => updated,
        };
        Some(self.configs.insert(name.clone(), cached).map(|cached| cached.config))
    }

    /// Stores a version of a workload from a watch or from a response to a write. Returns `None` if
    /// it is not new, else the previous version.
    pub(crate) fn put_workload(
        &mut self,
        name: &WorkloadName,
        now: Option<WorkloadFacts>,
    ) -> Option<Option<Arc<WorkloadFacts>>> {
        let before = self.workloads.get(name).cloned();
        if let (Some(before), Some(now)) = (&before, &now) {
            let (old, new) = (&before.meta.resource_version, &now.meta.resource_version);
            // The response to this controller's own write may arrive before the watch event of the
            // version before it (scenario 37).
            let stale = self.profile != Profile::Xing
                && before.meta.uid == now.meta.uid
                && parse_version(old) > parse_version(new);
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
                self.version_count += 1;
                if !workload.enabled {
                    workload.references.clear();
                    workload.checksums.clear();
                }
                if self.profile != Profile::Safe {
                    workload.keys.clear();
                    workload.unreadable.clear();
                    workload.schedule = None;
                    (workload.pacing, workload.membership) = (PacingAnnotations::default(), GroupMembership::default());
                }
                if self.profile == Profile::Reloader {
                    let before = before.as_ref().map(|before| &before.reloader);
                    workload.unreadable = workload.reloader.compile(&self.annotations, before);
                    // Profile `reloader` uses none of these.
                    workload.restarts.clear();
                    workload.ignored_configs.clear();
                    workload.pending = None;
                    workload.problem = None;
                } else {
                    workload.reloader = ReloaderFacts::default();
                }
                if let SecretChecksums::Keyed(keys) = &self.secrets {
                    keys.rekey_checksums(&mut workload);
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

    /// Stores a namespace's annotations. Returns whether they have changed.
    pub(crate) fn put_namespace(&mut self, namespace: &str, now: NamespaceDefaults) -> bool {
        if self.namespaces.get(namespace).unwrap_or(&NamespaceDefaults::default()) == &now {
            return false;
        }
        if now == NamespaceDefaults::default() {
            self.namespaces.remove(namespace);
        } else {
            self.namespaces.insert(namespace.to_owned(), now);
        }
        true
    }

    /// When a workload may be restarted: its own annotation comes before its namespace's.
    pub(crate) fn schedule<'a>(&'a self, workload: &'a WorkloadFacts) -> Option<&'a Schedule> {
        workload.schedule.as_ref().or_else(|| self.namespaces.get(&workload.name.namespace)?.schedule.as_ref())
    }

    pub(crate) fn pacing(&self, namespace: &str) -> Option<&PacingAnnotations> {
        self.namespaces.get(namespace).map(|defaults| &defaults.pacing)
    }

    /// How long a workload's restart waits after the change, by its own annotation, its namespace's
    /// or the flag.
    pub(crate) fn delay(&self, workload: &WorkloadFacts) -> Duration {
        let of_namespace = || self.pacing(&workload.name.namespace)?.delay;
        workload.pacing.delay.or_else(of_namespace).unwrap_or(self.delay)
    }

    /// The annotation that blocks a workload's restarts because it cannot be read, and why.
    pub(crate) fn problem(&self, workload: &WorkloadFacts) -> Option<(&'static str, String)> {
        let of_namespace = || {
            let mut all = self.pacing(&workload.name.namespace)?.unreadable.iter();
            // The workload's own delay overrides it.
            let is_replaced = |name: &str| name == names::DELAY && workload.pacing.delay.is_some();
            let (name, problem) = all.find(|(name, _)| !is_replaced(name))?;
            Some((*name, format!("of the namespace: {problem}")))
        };
        let of_workload = workload.pacing.unreadable.iter().next().map(|(name, problem)| (*name, problem.clone()));
        let order = || workload.membership.unreadable.clone().map(|problem| (names::ORDER, problem));
        of_workload.or_else(order).or_else(of_namespace)
    }

    /// The configs that a workload references, as far as the profile follows them.
    pub(crate) fn references(&self, workload: &WorkloadFacts) -> BTreeMap<ConfigName, ConfigUsage> {
        let xing = self.profile == Profile::Xing;
        if xing && workload.name.kind == WorkloadKind::DaemonSet {
            return BTreeMap::new();
        }
        let is_followed_here = |(name, usage): &(&ConfigName, &ConfigUsage)| {
            let is_followed = name.kind == ConfigKind::ConfigMap || self.secrets != SecretChecksums::None;
            is_followed && (!xing || usage.known_to_xing)
        };
        let narrow = |(name, usage): (&ConfigName, &ConfigUsage)| {
            let selected = workload.keys.get(&format!("{}/{}", name.kind.as_str(), name.name));
            (name.clone(), key_selection::narrow_usage(usage, selected))
        };
        workload.references.iter().filter(is_followed_here).map(narrow).collect()
    }

    /// Whether changes of a config never restart a workload.
    pub(crate) fn is_ignored(&self, workload: &WorkloadFacts, name: &ConfigName) -> bool {
        self.profile == Profile::Safe
            && workload.ignores(name, self.configs.get(name).is_some_and(|cached| cached.config.is_ignored))
    }

    /// The state of a config for a workload with this usage. `made_of` is the usage that the
    /// workload's recorded checksum covers.
    pub(crate) fn config_state(
        &self,
        name: &ConfigName,
        usage: &ConfigUsage,
        made_of: Option<&ConfigUsage>,
    ) -> plan::ConfigState {
        match self.configs.get(name) {
            Some(CachedConfig { config: HashedConfig { digest, .. }, .. }) => plan::ConfigState::Present {
                usage_checksum: self.usage_checksum(name, digest, usage),
                data_checksum: self.checksum(name, digest.data_checksum()),
                equivalent: self.equivalent_checksums(name, digest, usage, made_of),
            },
            None if self.listed_kinds.contains(&name.kind) => plan::ConfigState::Missing,
            None => plan::ConfigState::Unknown,
        }
    }

    /// The checksum to record for the part of a config that a workload uses.
    pub(crate) fn usage_checksum(&self, name: &ConfigName, digest: &Digest, usage: &ConfigUsage) -> String {
        key_selection::format_checksum(usage, self.checksum(name, &digest.usage_checksum(usage)))
    }

    /// The checksum to record for a config with this plain checksum.
    fn checksum(&self, name: &ConfigName, plain: &str) -> String {
        match &self.secrets {
            SecretChecksums::Keyed(keys) if name.kind == ConfigKind::Secret => keys.checksum(name, plain),
            _ => plain.to_owned(),
        }
    }

    /// Other checksums of the same data: over the usage that the recorded checksum covers, and with
    /// the previous key.
    fn equivalent_checksums(
        &self,
        name: &ConfigName,
        digest: &Digest,
        usage: &ConfigUsage,
        made_of: Option<&ConfigUsage>,
    ) -> Vec<String> {
        let mut all: Vec<String> = made_of.iter().map(|made_of| self.usage_checksum(name, digest, made_of)).collect();
        if let SecretChecksums::Keyed(keys) = &self.secrets
            && name.kind == ConfigKind::Secret
        {
            let of = |usage| {
                keys.previous_checksum(name, &digest.usage_checksum(usage))
                    .map(|checksum| key_selection::format_checksum(usage, checksum))
            };
            all.extend([Some(usage), made_of].into_iter().flatten().filter_map(of));
            all.extend(keys.previous_checksum(name, digest.data_checksum()));
        }
        all
    }
}
