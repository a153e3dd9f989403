//! What Reloader evaluates of a workload: annotations, containers, and volumes in their order.
//!
//! Case: `config-restart/reloader/in-the-template`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rollout_model::beginning;
use rollout_model::names::LAST_APPLIED;
use rollout_model::names::restart::{CONFIG_MAPS_EXCLUDED, ROLLOUT_STRATEGY, SECRETS_EXCLUDED, VARIABLE};
use serde_json::Value;

use crate::model::name_patterns;
use crate::model::name_patterns::NamePatterns;
use crate::names::ConfigKind;
use crate::settings::ReloaderAnnotations;

/// Annotations whose names no flag changes.
const EXCLUDE_ANNOTATIONS: [&str; 2] = [CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED];
const FIXED_ANNOTATIONS: [&str; 3] = [CONFIG_MAPS_EXCLUDED, SECRETS_EXCLUDED, ROLLOUT_STRATEGY];

/// How many bytes are stored of an annotation that is not a list; all meaningful values are
/// shorter.
const MAX_VALUE_BYTES: usize = 128;

/// The facts about a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloaderFacts {
    /// The workload's own annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its pod template's annotations.
    pub template_annotations: BTreeMap<String, String>,
    /// The compiled name patterns of the list of each kind: from the workload's own annotations, or
    /// else from its template's.
    pub patterns: BTreeMap<ConfigKind, Arc<NamePatterns>>,
    /// Its containers.
    pub containers: Vec<ContainerFacts>,
    /// Its init containers.
    pub init_containers: Vec<ContainerFacts>,
    /// Its volumes.
    pub volumes: Vec<VolumeFacts>,
    /// Whether it is paused.
    pub paused: bool,
}

/// A container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerFacts {
    /// Its name.
    pub name: String,
    /// The volumes that it mounts.
    pub mounts: BTreeSet<String>,
    /// The configs that its environment comes from.
    pub environment: BTreeSet<(ConfigKind, String)>,
    /// The variables that restarts have set.
    pub variables: BTreeMap<String, String>,
}

/// A volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeFacts {
    /// Its name.
    pub name: String,
    /// The configs that it contains.
    pub configs: BTreeSet<(ConfigKind, String)>,
}

impl ReloaderFacts {
    /// Reads a workload and its pod template.
    pub(crate) fn read(raw: &Value, template: &Value) -> Self {
        let spec = &template["spec"];
        Self {
            annotations: annotations_of(&raw["metadata"]["annotations"]),
            template_annotations: annotations_of(&template["metadata"]["annotations"]),
            containers: items(&spec["containers"]).map(container).collect(),
            init_containers: items(&spec["initContainers"]).map(container).collect(),
            volumes: items(&spec["volumes"]).map(volume).collect(),
            patterns: BTreeMap::new(),
            paused: raw["spec"]["paused"] == true,
        }
    }

    /// Compiles the lists of names, reusing `before`'s patterns where a list has not changed, and
    /// drops all irrelevant annotations, because they may have 256 KiB. Returns the annotations
    /// that exceed a limit, with the problem of each.
    pub fn compile(&mut self, names: &ReloaderAnnotations, before: Option<&Self>) -> BTreeMap<String, String> {
        let mut problems = BTreeMap::new();
        for kind in ConfigKind::ALL {
            let of = effective_annotations(names, kind, &self.annotations, &self.template_annotations);
            let list = list_annotation(names, kind);
            let text = of.get(list).map_or("", String::as_str);
            let previous =
                before.and_then(|before| before.patterns.get(&kind)).filter(|previous| previous.is_read_from(text));
            let patterns = previous.cloned().unwrap_or_else(|| {
                let (patterns, invalid) = NamePatterns::read(text);
                // Logged when the text changes, and not at every change of a config.
                if let Some(first) = invalid.first() {
                    let (first, count) = (beginning(first, MAX_VALUE_BYTES), invalid.len());
                    tracing::error!(
                        annotation = list,
                        first,
                        count,
                        "An annotation has names that are not regular expressions."
                    );
                }
                Arc::new(patterns)
            });
            problems.extend(patterns.problem().map(|problem| (list.to_owned(), problem)));
            self.patterns.insert(kind, patterns);
        }
        for (annotations, is_own) in [(&mut self.annotations, true), (&mut self.template_annotations, false)] {
            annotations.retain(|name, _| names.is_known(name) || is_own && FIXED_ANNOTATIONS.contains(&name.as_str()));
            for (name, value) in annotations {
                let is_list = EXCLUDE_ANNOTATIONS.contains(&name.as_str());
                let most = if is_list { name_patterns::MAX_LIST_BYTES } else { MAX_VALUE_BYTES };
                if ConfigKind::ALL.iter().any(|kind| list_annotation(names, *kind) == name) {
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

    /// The cost of deciding about this workload; a small workload costs 1.
    pub(crate) fn cost(&self) -> usize {
        let lists = self.annotations.values().map(|value| value.len() / 512).sum::<usize>();
        1 + lists + self.containers.len() / 16 + self.patterns.values().map(|patterns| patterns.cost()).sum::<usize>()
    }
}

/// The annotations that decide whether a config of a kind restarts the workload: its own if it has
/// any of them, else its template's.
pub(crate) fn effective_annotations<'a>(
    names: &ReloaderAnnotations,
    kind: ConfigKind,
    annotations: &'a BTreeMap<String, String>,
    template: &'a BTreeMap<String, String>,
) -> &'a BTreeMap<String, String> {
    let opts = [list_annotation(names, kind), &names.search, &names.auto, auto_annotation(names, kind)];
    if opts.iter().any(|name| annotations.contains_key(*name)) { annotations } else { template }
}

fn list_annotation(names: &ReloaderAnnotations, kind: ConfigKind) -> &str {
    match kind {
        ConfigKind::ConfigMap => &names.config_maps,
        ConfigKind::Secret => &names.secrets,
    }
}

/// The annotation that says whether all configs of a kind that the pods use restart the workload.
pub(crate) fn auto_annotation(names: &ReloaderAnnotations, kind: ConfigKind) -> &str {
    match kind {
        ConfigKind::ConfigMap => &names.config_maps_auto,
        ConfigKind::Secret => &names.secrets_auto,
    }
}

fn container(of: &Value) -> ContainerFacts {
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
    ContainerFacts {
        name: text(&of["name"]),
        mounts: items(&of["volumeMounts"]).map(|mount| text(&mount["name"])).collect(),
        environment,
        variables: items(&of["env"]).filter_map(variable).collect(),
    }
}

fn volume(of: &Value) -> VolumeFacts {
    let mut configs = BTreeSet::new();
    let mut add = |kind, name: &Value| configs.extend(name.as_str().map(|name| (kind, name.to_owned())));
    add(ConfigKind::ConfigMap, &of["configMap"]["name"]);
    add(ConfigKind::Secret, &of["secret"]["secretName"]);
    for source in items(&of["projected"]["sources"]) {
        add(ConfigKind::ConfigMap, &source["configMap"]["name"]);
        add(ConfigKind::Secret, &source["secret"]["name"]);
    }
    VolumeFacts { name: text(&of["name"]), configs }
}

/// All annotations except the one that repeats the whole object.
fn annotations_of(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten().filter(|(name, _)| *name != LAST_APPLIED);
    entries.map(|(name, value)| (name.clone(), text(value))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
