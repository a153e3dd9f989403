//! Decides by the annotations of a config and a workload whether a change of the config restarts
//! the workload.
//!
//! The workload's own annotations count. Its pod template's annotations count only if the workload
//! has none of them. Exclusions count on the workload only.
//!
//! Cases: `config-restart/reloader/auto-configmap-only`, `config-restart/reloader/named-pattern`,
//! `config-restart/reloader/excluded-configmap`, `config-restart/reloader/ignored-and-named`,
//! `config-restart/reloader/search-and-match`, `config-restart/reloader/all-and-flag`.

use std::collections::BTreeMap;

use rollout_model::names::restart::{CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED};

use super::super::references::ConfigKind;
use super::change::ConfigChange;
use super::facts::{ReloaderFacts, auto_annotation, effective_annotations};
use crate::settings::{ReloaderSettings, parse_go_bool};

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
