//! Warnings about pods and templates of pods. Upstream: `pkg/api/pod/warnings.go`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::registry::validate::scalars::{items, text};
use crate::types::names;

/// The warning for a name that is not a DNS label; `usage` says what contains the name.
pub(crate) fn name_warning(new: &Value, usage: &str) -> Option<String> {
    let wrong = names::dns_label(new["metadata"]["name"].as_str().unwrap_or_default());
    (!wrong.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {usage}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            wrong.join(" ")
        )
    })
}

/// The warnings about the spec of pods at a path, if it changed. Upstream:
/// `warningsForPodSpecAndMeta`, of whose warnings it knows those about environments, ports and the
/// grace period.
pub(crate) fn spec_warnings(new: &Value, path: &str, changed: bool) -> Vec<String> {
    if !changed {
        return Vec::new();
    }
    let spec = path.split('.').fold(new, |value, name| &value[name]);
    let mut warnings = Vec::new();
    for (container, at) in containers(spec, path) {
        hidden_variables(&mut warnings, container, &at);
    }
    ambiguous_ports(&mut warnings, spec, path);
    shared_port_names(&mut warnings, spec, path);
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|grace| grace < 0) {
        warnings.push(format!(
            "{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    warnings
}

/// All containers with their paths. Upstream: `VisitContainersWithPath`.
fn containers<'a>(spec: &'a Value, path: &str) -> impl Iterator<Item = (&'a Value, String)> {
    ["initContainers", "containers"].into_iter().flat_map(move |list| items(spec, list, path))
}

/// Warns about a variable that hides an earlier one and does not refer to it.
fn hidden_variables(warnings: &mut Vec<String>, container: &Value, path: &str) {
    let mut names = BTreeSet::new();
    for (variable, path) in items(container, "env", path) {
        let (name, value) = (text(variable, "name"), text(variable, "value"));
        let reference = format!("$({name})");
        let extends = variable["valueFrom"].is_null() && value != reference && value.contains(&reference);
        if !names.insert(name) && !extends {
            warnings
                .push(format!("{path}: hides previous definition of {name:?}, which may be dropped when using apply"));
        }
    }
}

/// Warns about a name that several ports have.
fn shared_port_names(warnings: &mut Vec<String>, spec: &Value, path: &str) {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    for (container, at) in containers(spec, path) {
        for (port, at) in items(container, "ports", &at) {
            let Some(name) = port["name"].as_str().filter(|name| !name.is_empty()) else { continue };
            match known.get(name) {
                Some(other) => warnings.push(format!(
                    "{at}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
                )),
                None => drop(known.insert(name, at)),
            }
        }
    }
}

/// Warns about ports that several containers, or one of them, define twice.
fn ambiguous_ports(warnings: &mut Vec<String>, spec: &Value, path: &str) {
    let mut known: Vec<(String, &Value)> = Vec::new();
    for (container, at) in containers(spec, path) {
        for (port, at) in items(container, "ports", &at) {
            let number = |port: &Value, name: &str| port[name].as_i64().unwrap_or(0);
            let (host_port, host) = (number(port, "hostPort"), text(port, "hostIP"));
            if !host.is_empty() && host_port == 0 {
                warnings.push(format!(
                    "{at}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{host}}}",
                    text(port, "name"),
                    number(port, "containerPort"),
                    text(port, "protocol")
                ));
            }
            let is_same = |other: &Value| {
                other["containerPort"] == port["containerPort"] && other["protocol"] == port["protocol"]
            };
            for (place, other) in known.iter().filter(|(_, other)| is_same(other)) {
                let (other_port, other_host) = (number(other, "hostPort"), text(other, "hostIP"));
                let how = if host == other_host && host_port == other_port {
                    "duplicate"
                } else if host_port == 0 || other_port == 0 {
                    "overlapping"
                } else if host_port == other_port && host.is_empty() != other_host.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                warnings.push(format!("{at}: {how} port definition with {place}"));
            }
            known.push((at, port));
        }
    }
}

/// The warnings about a Deployment or a ReplicaSet: its pods' names begin with its own.
pub(crate) fn workload_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let changed = old.is_none_or(|old| old["metadata"]["generation"] != new["metadata"]["generation"]);
    let name = if old.is_none() { name_warning(new, "Pod names and hostnames") } else { None };
    name.into_iter().chain(spec_warnings(new, "spec.template.spec", changed)).collect()
}
