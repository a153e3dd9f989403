//! Whether a change restarts a workload: by the annotations of both.
//!
//! The workload's own annotations count, and where none of them says anything its pod template's. Exclusions count on the workload only.
//!
//! Cases: `config-restart/reloader-auto-configmap-only`, `config-restart/reloader-named-pattern`,
//! `config-restart/reloader-excluded-configmap`, `config-restart/reloader-ignored-and-named`,
//! `config-restart/reloader-search-and-match`, `config-restart/reloader-all-and-flag`.

use std::collections::BTreeMap;

use regex::Regex;

use super::super::references::ConfigKind;
use super::change::Change;
use super::facts::Facts;
use crate::model::names::restart::{CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED};
use crate::settings::{ReloaderSettings, truth};

/// Why a change restarts a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The workload names the config, whether or not it uses it.
    Named,
    /// It is restarted for what it uses.
    Used,
}

/// Whether a change restarts a workload; also what is wrong with names of configs, which count for nothing then.
pub(super) fn wanted(facts: &Facts, change: &Change, settings: &ReloaderSettings) -> (Option<Wanted>, Vec<String>) {
    let names = &settings.annotations;
    let (list, typed, excluded) = match change.config.kind {
        ConfigKind::ConfigMap => (&names.config_maps, &names.config_maps_auto, CONFIG_MAPS_EXCLUDED),
        ConfigKind::Secret => (&names.secrets, &names.secrets_auto, SECRETS_EXCLUDED),
    };
    if change.marks.contains(&names.ignore) {
        return (None, Vec::new());
    }
    let opts = [list, &names.search, &names.auto, typed];
    let speaks = opts.iter().any(|name| facts.annotations.contains_key(*name));
    let of = if speaks { &facts.annotations } else { &facts.template_annotations };
    let [list, search, auto, typed] = opts.map(|name| said(of, name));
    let mut excluded = said(&facts.annotations, excluded).split(',').map(str::trim);
    if excluded.any(|name| name == change.config.name) {
        return (None, Vec::new());
    }
    let mut wrong = Vec::new();
    for pattern in list.split(',').map(str::trim) {
        // As that controller puts it together: what is separated by `|` is bound to one end of the name only.
        match Regex::new(&format!("^{pattern}$")) {
            Ok(names) if names.is_match(&change.config.name) => return (Some(Wanted::Named), wrong),
            Ok(_) => {}
            Err(_) => wrong.push(pattern.to_owned()),
        }
    }
    let found = search == "true" && change.marks.contains(&names.matched);
    let by_flag = settings.all && auto.is_empty() && typed.is_empty();
    (((found || truth(auto) || truth(typed) || by_flag).then_some(Wanted::Used)), wrong)
}

fn said<'a>(annotations: &'a BTreeMap<String, String>, name: &str) -> &'a str {
    annotations.get(name).map_or("", String::as_str)
}
