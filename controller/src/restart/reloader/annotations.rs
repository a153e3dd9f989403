//! Whether a change restarts a workload: by the annotations of both.
//!
//! The workload's own annotations count, and where none of them says anything its pod template's.
//! Exclusions count on the workload only.
//!
//! Cases: `config-restart/reloader-auto-configmap-only`, `config-restart/reloader-named-pattern`,
//! `config-restart/reloader-excluded-configmap`, `config-restart/reloader-ignored-and-named`,
//! `config-restart/reloader-search-and-match`, `config-restart/reloader-all-and-flag`.

use std::collections::BTreeMap;

use super::super::references::ConfigKind;
use super::change::Change;
use super::facts::{Facts, speaking, typed_auto};
use crate::model::names::restart::{CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED};
use crate::settings::{ReloaderSettings, parse_go_bool};

/// Why a change restarts a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The workload names the config, whether or not it uses it.
    Named,
    /// It is restarted for what it uses.
    Used,
}

/// Whether a change restarts a workload.
pub(super) fn wanted(facts: &Facts, change: &Change, settings: &ReloaderSettings) -> Option<Wanted> {
    let (names, kind) = (&settings.annotations, change.config.kind);
    if change.marks.contains(&names.ignore) {
        return None;
    }
    let of = speaking(names, kind, &facts.annotations, &facts.template_annotations);
    let [search, auto, typed] = [&names.search, &names.auto, typed_auto(names, kind)].map(|name| said(of, name));
    let excluded = match kind {
        ConfigKind::ConfigMap => CONFIG_MAPS_EXCLUDED,
        ConfigKind::Secret => SECRETS_EXCLUDED,
    };
    let mut excluded = said(&facts.annotations, excluded).split(',').map(str::trim);
    if excluded.any(|name| name == change.config.name) {
        return None;
    }
    if facts.patterns.get(&kind).is_some_and(|patterns| patterns.match_name(&change.config.name)) {
        return Some(Wanted::Named);
    }
    let found = search == "true" && change.marks.contains(&names.search_match);
    let by_flag = settings.all && auto.is_empty() && typed.is_empty();
    (found || parse_go_bool(auto) || parse_go_bool(typed) || by_flag).then_some(Wanted::Used)
}

fn said<'a>(annotations: &'a BTreeMap<String, String>, name: &str) -> &'a str {
    annotations.get(name).map_or("", String::as_str)
}
