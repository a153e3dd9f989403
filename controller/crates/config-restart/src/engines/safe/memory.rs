//! What the safe profile remembers about a workload between two plans: for each of its configs, the
//! data that the pods had when both were first seen together, and the changes since then.
//!
//! This memory is an optimisation and not the source of truth: after one write, everything that
//! matters is on the workload as well. A controller that starts again builds the memory from its
//! first observations and finds the same changes.
//!
//! Cases: `config-restart/safe-and-xing/s27-created-late@safe`,
//! `config-restart/safe/workload-seen-late`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engines::safe::rules::{ConfigDecision, decide_config};
use crate::model::annotation_codec::AppliedChecksums;
use crate::model::cache::{RestartCache, parse_version};
use crate::model::config::HashedConfig;
use crate::model::key_selection;
use crate::model::plan::{Baseline, ConfigRef, ConfigState, ObservedWorkload};
use crate::model::references::ConfigUsage;
use crate::model::workload::WorkloadFacts;
use crate::names::ConfigName;
use crate::pacing::window::Uptime;

#[derive(Debug, Default)]
pub(crate) struct WorkloadMemory {
    uid: String,
    template: String,
    /// The version at which its template last changed, so that its pods are replaced.
    rollout_version: Option<u64>,
    /// Whether its template changed while its rollout was held.
    has_deferred_rollout: bool,
    links: BTreeMap<ConfigName, ConfigLink>,
    /// In a dry run, the last write that was not sent.
    pub(crate) dry_run_write: Option<DryRunWrite>,
}

/// A write of a dry run. It counts as sent until the actual checksums change.
#[derive(Debug)]
pub(crate) struct DryRunWrite {
    pub(crate) actual: AppliedChecksums,
    pub(crate) checksums: AppliedChecksums,
    pub(crate) pending: Option<String>,
}

#[derive(Debug)]
struct ConfigLink {
    usage: ConfigUsage,
    /// `None`: the config has not existed yet.
    baseline: Option<Baseline>,
    /// The workload's version when the link was created, and when that was.
    version: u64,
    at: Uptime,
    changes: u32,
    change_span: Option<(Uptime, Uptime)>,
    keys: BTreeSet<String>,
}

impl WorkloadMemory {
    /// Handles a new version of the workload, or its first one.
    pub(crate) fn on_workload(&mut self, cache: &RestartCache, workload: &Arc<WorkloadFacts>, at: Uptime) {
        let version = parse_version(&workload.meta.resource_version);
        if self.uid != workload.meta.uid {
            *self = Self { uid: workload.meta.uid.clone(), template: workload.template.clone(), ..Self::default() };
        }
        if self.template != workload.template {
            self.template.clone_from(&workload.template);
            self.has_deferred_rollout = true;
        }
        if self.has_deferred_rollout && workload.deferral.is_none() {
            self.rollout_version = Some(version);
            self.has_deferred_rollout = false;
        }
        let references = cache.references(workload);
        self.links.retain(|name, link| references.get(name) == Some(&link.usage) && !cache.is_ignored(workload, name));
        for (name, usage) in references {
            if cache.is_ignored(workload, &name) || self.links.contains_key(&name) {
                continue;
            }
            let baseline = baseline(cache, workload, &name, &usage, version);
            let link =
                ConfigLink { usage, baseline, version, at, changes: 0, change_span: None, keys: BTreeSet::new() };
            self.links.insert(name, link);
        }
        for (name, link) in &mut self.links {
            if let Some(checksums) = workload.known_checksum(&name.to_string()) {
                link.baseline = Some(Baseline::Checksum(checksums.clone()));
            }
        }
        self.update_windows(cache, workload, at);
    }

    /// Handles a config that has changed or was created or deleted. `before` is its previous
    /// version, if it existed.
    pub(crate) fn on_config(
        &mut self,
        cache: &RestartCache,
        workload: &Arc<WorkloadFacts>,
        name: &ConfigName,
        before: Option<&HashedConfig>,
        at: Uptime,
    ) {
        let Some(link) = self.links.get_mut(name) else { return self.on_workload(cache, workload, at) };
        if cache.is_ignored(workload, name) {
            return self.on_workload(cache, workload, at);
        }
        // The config may have existed all along, with a late event (scenario 33).
        link.baseline = link.baseline.take().or_else(|| baseline(cache, workload, name, &link.usage, link.version));
        let now = cache.config(name).map(|cached| &cached.config.digest);
        let (old, new) = (
            before.map(|before| before.digest.usage_checksum(&link.usage)),
            now.map(|now| now.usage_checksum(&link.usage)),
        );
        if old != new && new.is_some() {
            link.changes += 1;
            if let Some((_, last)) = &mut link.change_span {
                *last = at;
            }
            if let (Some(before), Some(now)) = (before, now) {
                link.keys.extend(now.changed_keys(&before.digest, &link.usage));
            }
        }
        // Only this link has changed, and a workload may have thousands.
        let (effective, rollout_version) = (self.effective_workload(workload), self.rollout_version);
        if let Some(link) = self.links.get_mut(name) {
            link.update_window(cache, &effective, name, rollout_version, at);
        }
    }

    /// Opens the window of each config that is due, and closes that of each other one, including
    /// those that no longer are (scenario 14).
    pub(crate) fn update_windows(&mut self, cache: &RestartCache, workload: &Arc<WorkloadFacts>, at: Uptime) {
        let effective = self.effective_workload(workload);
        for (name, link) in &mut self.links {
            link.update_window(cache, &effective, name, self.rollout_version, at);
        }
    }

    /// The workload with the checksums that its annotation has, or that it would have without the
    /// dry run.
    fn effective_workload(&self, workload: &Arc<WorkloadFacts>) -> Arc<WorkloadFacts> {
        let mut workload = workload.clone();
        if let Some(dry_run_write) =
            self.dry_run_write.as_ref().filter(|dry_run_write| dry_run_write.actual == workload.checksums)
        {
            let effective = Arc::make_mut(&mut workload);
            effective.checksums.clone_from(&dry_run_write.checksums);
            effective.pending.clone_from(&dry_run_write.pending);
            effective.has_unkeyed_checksums = false;
            effective.unknown_key.clear();
        }
        workload
    }

    /// The input of the rules.
    pub(crate) fn observe(&self, cache: &RestartCache, workload: &Arc<WorkloadFacts>, at: Uptime) -> ObservedWorkload {
        let workload = self.effective_workload(workload);
        let config_ref = |link: &ConfigLink, name| link.config_ref(cache, &workload, name, self.rollout_version);
        let configs = self.links.iter().map(|(name, link)| (name.clone(), config_ref(link, name))).collect();
        let (schedule, delay) = (cache.schedule(&workload).cloned(), cache.delay(&workload));
        let problem = cache.problem(&workload);
        ObservedWorkload { configs, schedule, delay, problem, ..ObservedWorkload::of(workload, at) }
    }

    /// The number of configs with changes that have not been acted on.
    pub(crate) fn waiting_count(&self) -> usize {
        self.links.values().filter(|link| link.changes > 0 && link.change_span.is_some()).count()
    }
}

impl ConfigLink {
    fn update_window(
        &mut self,
        cache: &RestartCache,
        effective: &WorkloadFacts,
        name: &ConfigName,
        rollout_version: Option<u64>,
        at: Uptime,
    ) {
        let config_ref = self.config_ref(cache, effective, name, rollout_version);
        match decide_config(effective.known_checksum(&name.to_string()), &config_ref) {
            ConfigDecision::Changed(..) => {
                self.change_span.get_or_insert((at, at));
                self.changes = self.changes.max(1);
            }
            // A missing config is recorded only after a while, so it has a window too.
            ConfigDecision::Record(_) if config_ref.state == ConfigState::Missing => {
                self.change_span = Some((self.at, self.at));
            }
            ConfigDecision::Unchanged | ConfigDecision::Record(_) => {
                (self.changes, self.change_span, self.keys) = Default::default();
            }
        }
    }

    fn config_ref(
        &self,
        cache: &RestartCache,
        workload: &WorkloadFacts,
        name: &ConfigName,
        rollout_version: Option<u64>,
    ) -> ConfigRef {
        let cached = cache.config(name);
        let template = workload.references.get(name);
        let checksums = workload.known_checksum(&name.to_string()).zip(template);
        let checksum_usage = checksums.map(|(checksum, template)| key_selection::checksum_usage(checksum, template));
        ConfigRef {
            usage: self.usage.clone(),
            state: cache.config_state(name, &self.usage, checksum_usage.as_ref()),
            baseline: self.baseline.clone(),
            changes: self.changes,
            change_span: self.change_span,
            keys: self.keys.clone(),
            is_rolled_out: cached
                .zip(rollout_version)
                .is_some_and(|(cached, rollout_version)| cached.changed_version < rollout_version),
        }
    }
}

/// The data that pods had of a config when it and their workload, at this version, were first seen
/// together (X2, X3, X5). `None` if the config does not exist.
fn baseline(
    cache: &RestartCache,
    workload: &WorkloadFacts,
    name: &ConfigName,
    usage: &ConfigUsage,
    version: u64,
) -> Option<Baseline> {
    let cached = cache.config(name)?;
    let now = || Baseline::Checksum(cache.usage_checksum(name, &cached.config.digest, usage));
    if cached.is_changed_after(version) && cached.has_changed {
        return Some(Baseline::Outdated);
    }
    if cached.is_changed_after(version) && cached.has_appeared {
        // The kubelet starts no pod without a required config, so the pods have its first data.
        return Some(if usage.required { now() } else { Baseline::Absent });
    }
    // A rotated key is not a reason to restart, whatever `managedFields` says about the Secret.
    if workload.unknown_key.contains(&name.to_string()) {
        return Some(now());
    }
    // The controller was not watching, but `managedFields` may say what happened.
    let config = &cached.config;
    let is_later =
        config.data_written_at.zip(workload.template_written_at).is_some_and(|(config, workload)| config > workload);
    let is_rewritten = config.data_written_at > config.created_at || !usage.required;
    Some(if is_later && is_rewritten { Baseline::Outdated } else { now() })
}
