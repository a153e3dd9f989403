//! What of a workload Reloader looks at: annotations, containers, and volumes in their order.
//!
//! Case: `config-restart/reloader-in-the-template`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::references::ConfigKind;
use crate::model::names::{LAST_APPLIED, restart::VARIABLE};

/// What is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The workload's own annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its pod template's.
    pub template_annotations: BTreeMap<String, String>,
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
            paused: raw["spec"]["paused"] == true,
        }
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
