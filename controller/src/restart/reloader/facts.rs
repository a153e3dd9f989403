//! What of a workload Reloader looks at: annotations, containers, and volumes in their order.
//!
//! Case: `config-restart/reloader-in-the-template`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::super::references::ConfigKind;
use super::patterns::{self, NamePatterns};
use crate::model::beginning;
use crate::model::names::LAST_APPLIED;
use crate::model::names::restart::{CONFIG_MAPS_EXCLUDED, ROLLOUT_STRATEGY, SECRETS_EXCLUDED, VARIABLE};
use crate::settings::ReloaderAnnotations;

/// Annotations whose names no flag changes.
const EXCLUDED: [&str; 2] = [CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED];
const KEPT: [&str; 3] = [CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED, ROLLOUT_STRATEGY];

/// Bytes that are kept of an annotation which is no list: all that mean something are shorter.
const LONGEST_VALUE: usize = 128;

/// What is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The workload's own annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its pod template's.
    pub template_annotations: BTreeMap<String, String>,
    /// The names in the list of each kind, compiled: the workload's own, or its template's where
    /// the workload says nothing.
    pub patterns: BTreeMap<ConfigKind, Arc<NamePatterns>>,
    /// Containers.
    pub containers: Vec<Container>,
    /// Init containers.
    pub init_containers: Vec<Container>,
    /// Volumes.
    pub volumes: Vec<Volume>,
    /// Whether it is paused.
    pub paused: bool,
}

/// A container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Volumes that it mounts.
    pub mounts: BTreeSet<String>,
    /// Configs that its environment is taken from.
    pub environment: BTreeSet<(ConfigKind, String)>,
    /// Variables that restarts have set.
    pub variables: BTreeMap<String, String>,
}

/// A volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Configs that it is of.
    pub configs: BTreeSet<(ConfigKind, String)>,
}

impl Facts {
    /// Reads a workload with its pod template.
    pub(in crate::restart) fn read(raw: &Value, template: &Value) -> Self {
        let spec = &template["spec"];
        Self {
            annotations: texts(&raw["metadata"]["annotations"]),
            template_annotations: texts(&template["metadata"]["annotations"]),
            containers: items(&spec["containers"]).map(container).collect(),
            init_containers: items(&spec["initContainers"]).map(container).collect(),
            volumes: items(&spec["volumes"]).map(volume).collect(),
            patterns: BTreeMap::new(),
            paused: raw["spec"]["paused"] == true,
        }
    }

    /// Compiles the lists of names, unless the workload had the same before, and drops all
    /// annotations that mean nothing: they may have 256 KiB. Returns what is beyond the limits, by
    /// annotation.
    pub(in crate::restart) fn compile(
        &mut self,
        names: &ReloaderAnnotations,
        before: Option<&Self>,
    ) -> BTreeMap<String, String> {
        let mut problems = BTreeMap::new();
        for kind in ConfigKind::ALL {
            let of = speaking(names, kind, &self.annotations, &self.template_annotations);
            let list = list(names, kind);
            let text = of.get(list).map_or("", String::as_str);
            let known = before.and_then(|before| before.patterns.get(&kind)).filter(|known| known.are_of(text));
            let patterns = known.cloned().unwrap_or_else(|| {
                let (patterns, invalid) = NamePatterns::read(text);
                // Said once for each text, and not at each change.
                if let Some(first) = invalid.first() {
                    let (first, count) = (beginning(first, LONGEST_VALUE), invalid.len());
                    tracing::error!(
                        annotation = list,
                        first,
                        count,
                        "An annotation has names that are no regular expressions."
                    );
                }
                Arc::new(patterns)
            });
            problems.extend(patterns.problem().map(|problem| (list.to_owned(), problem)));
            self.patterns.insert(kind, patterns);
        }
        for (annotations, is_own) in [(&mut self.annotations, true), (&mut self.template_annotations, false)] {
            annotations.retain(|name, _| names.is_known(name) || is_own && KEPT.contains(&name.as_str()));
            for (name, value) in annotations {
                let is_list = EXCLUDED.contains(&name.as_str());
                let most = if is_list { patterns::LONGEST_TEXT } else { LONGEST_VALUE };
                if ConfigKind::ALL.iter().any(|kind| list(names, *kind) == name) {
                    *value = String::new();
                } else if value.len() > most {
                    if is_list {
                        let problem = format!("only its first {} KiB count", most >> 10);
                        problems.insert(name.clone(), problem);
                    }
                    *value = beginning(value, most).to_owned();
                }
            }
        }
        problems
    }

    /// How much work a look at it is: 1 is that of a small workload.
    pub(super) fn cost(&self) -> usize {
        let lists = self.annotations.values().map(|value| value.len() / 512).sum::<usize>();
        1 + lists + self.containers.len() / 16 + self.patterns.values().map(|patterns| patterns.cost()).sum::<usize>()
    }
}

/// The annotations that say whether a config of a kind restarts the workload: its own, unless none
/// of them says anything.
pub(super) fn speaking<'a>(
    names: &ReloaderAnnotations,
    kind: ConfigKind,
    own: &'a BTreeMap<String, String>,
    template: &'a BTreeMap<String, String>,
) -> &'a BTreeMap<String, String> {
    let opts = [list(names, kind), &names.search, &names.auto, typed_auto(names, kind)];
    if opts.iter().any(|name| own.contains_key(*name)) { own } else { template }
}

/// The annotation that lists configs of a kind.
fn list(names: &ReloaderAnnotations, kind: ConfigKind) -> &str {
    match kind {
        ConfigKind::ConfigMap => &names.config_maps,
        ConfigKind::Secret => &names.secrets,
    }
}

/// The annotation that says whether all configs of a kind that are used count.
pub(super) fn typed_auto(names: &ReloaderAnnotations, kind: ConfigKind) -> &str {
    match kind {
        ConfigKind::ConfigMap => &names.config_maps_auto,
        ConfigKind::Secret => &names.secrets_auto,
    }
}

fn container(of: &Value) -> Container {
    let mut environment = BTreeSet::new();
    let mut add = |kind, name: &Value| environment.extend(name.as_str().map(|name| (kind, name.to_owned())));
    for env in items(&of["env"]) {
        add(ConfigKind::ConfigMap, &env["valueFrom"]["configMapKeyRef"]["name"]);
        add(ConfigKind::Secret, &env["valueFrom"]["secretKeyRef"]["name"]);
    }
    for from in items(&of["envFrom"]) {
        add(ConfigKind::ConfigMap, &from["configMapRef"]["name"]);
        add(ConfigKind::Secret, &from["secretRef"]["name"]);
    }
    let variable = |env: &Value| {
        let name = env["name"].as_str().filter(|name| name.starts_with(VARIABLE))?;
        Some((name.to_owned(), text(&env["value"])))
    };
    Container {
        name: text(&of["name"]),
        mounts: items(&of["volumeMounts"]).map(|mount| text(&mount["name"])).collect(),
        environment,
        variables: items(&of["env"]).filter_map(variable).collect(),
    }
}

fn volume(of: &Value) -> Volume {
    let mut configs = BTreeSet::new();
    let mut add = |kind, name: &Value| configs.extend(name.as_str().map(|name| (kind, name.to_owned())));
    add(ConfigKind::ConfigMap, &of["configMap"]["name"]);
    add(ConfigKind::Secret, &of["secret"]["secretName"]);
    for source in items(&of["projected"]["sources"]) {
        add(ConfigKind::ConfigMap, &source["configMap"]["name"]);
        add(ConfigKind::Secret, &source["secret"]["name"]);
    }
    Volume { name: text(&of["name"]), configs }
}

/// Annotations, without the one that repeats the whole object.
fn texts(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten().filter(|(name, _)| *name != LAST_APPLIED);
    entries.map(|(name, value)| (name.clone(), text(value))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
