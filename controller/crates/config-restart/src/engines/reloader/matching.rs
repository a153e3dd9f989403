//! Decides by the annotations of a config and a workload whether a change of the config restarts
//! the workload, and which container gets the trigger: the first one that uses the config.
//!
//! The workload's own annotations count. Its pod template's annotations count only if the workload
//! has none of them. Exclusions count on the workload only. Of what uses a config, volumes come
//! before the environment, and only the first volume with the config counts. If an init container
//! uses the config, or if the config is named and not used, the trigger goes into the first regular
//! container.
//!
//! Cases: `config-restart/reloader/auto-configmap-only`, `config-restart/reloader/named-pattern`,
//! `config-restart/reloader/excluded-configmap`, `config-restart/reloader/ignored-and-named`,
//! `config-restart/reloader/search-and-match`, `config-restart/reloader/all-and-flag`,
//! `config-restart/reloader/by-volume`, `config-restart/reloader/by-init-container`,
//! `config-restart/reloader/named-not-referenced`, `config-restart/reloader/auto-not-referenced`.

use std::collections::{BTreeMap, BTreeSet};

use rollout_model::names::restart::{CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED};

use crate::model::reloader_facts::{ContainerFacts, ReloaderFacts, auto_annotation, effective_annotations};
use crate::names::{ConfigKind, ConfigName};
use crate::settings::{ReloaderSettings, parse_go_bool};

/// A config that was changed, created or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The config.
    pub config: ConfigName,
    /// The checksum of its data; after a deletion, the last one.
    pub checksum: String,
    /// Its annotations with the value `true`; no other value counts.
    pub marks: BTreeSet<String>,
    /// Whether it was deleted.
    pub is_deleted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchReason {
    /// The workload's annotation names the config, whether or not its pods use it.
    ListedByName,
    /// The workload restarts for every config that its pods use.
    Used,
}

/// Why a change restarts a workload; `None`: it does not.
pub(super) fn match_change(
    facts: &ReloaderFacts,
    change: &ConfigChange,
    settings: &ReloaderSettings,
) -> Option<MatchReason> {
    let (names, kind) = (&settings.annotations, change.config.kind);
    if change.marks.contains(&names.ignore) {
        return None;
    }
    let annotations = effective_annotations(names, kind, &facts.annotations, &facts.template_annotations);
    let [search, auto, typed] =
        [&names.search, &names.auto, auto_annotation(names, kind)].map(|name| annotation_value(annotations, name));
    let excluded = match kind {
        ConfigKind::ConfigMap => CONFIG_MAPS_EXCLUDED,
        ConfigKind::Secret => SECRETS_EXCLUDED,
    };
    let mut excluded = annotation_value(&facts.annotations, excluded).split(',').map(str::trim);
    if excluded.any(|name| name == change.config.name) {
        return None;
    }
    if facts.patterns.get(&kind).is_some_and(|patterns| patterns.matches_name(&change.config.name)) {
        return Some(MatchReason::ListedByName);
    }
    let is_found = search == "true" && change.marks.contains(&names.search_match);
    let by_flag = settings.all && auto.is_empty() && typed.is_empty();
    (is_found || parse_go_bool(auto) || parse_go_bool(typed) || by_flag).then_some(MatchReason::Used)
}

fn annotation_value<'a>(annotations: &'a BTreeMap<String, String>, name: &str) -> &'a str {
    annotations.get(name).map_or("", String::as_str)
}

/// The container; `None`: none uses the config, so the workload does not restart.
pub(super) fn target_container<'a>(
    facts: &'a ReloaderFacts,
    config: &ConfigName,
    reason: MatchReason,
) -> Option<&'a ContainerFacts> {
    let of = (config.kind, config.name.clone());
    let first = facts.containers.first();
    if let Some(volume) = facts.volumes.iter().find(|volume| volume.configs.contains(&of)) {
        let mounts = |container: &&ContainerFacts| container.mounts.contains(&volume.name);
        if let Some(container) = facts.containers.iter().find(mounts) {
            return Some(container);
        }
        if facts.init_containers.iter().any(|container| mounts(&container)) {
            return first;
        }
    }
    let reads = |container: &&ContainerFacts| container.environment.contains(&of);
    if let Some(container) = facts.containers.iter().find(reads) {
        return Some(container);
    }
    let is_used = facts.init_containers.iter().any(|container| reads(&container));
    first.filter(|_| is_used || reason == MatchReason::ListedByName)
}
