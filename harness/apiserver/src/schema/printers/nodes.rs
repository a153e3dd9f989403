//! Table cells of nodes and namespaces.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::schema::printers::cells::{items, or};

/// The prefix of the label of a role.
const ROLE: &str = "node-role.kubernetes.io/";

/// Upstream: `printNode`.
pub(crate) fn node(node: &Value, age: &str) -> Vec<Value> {
    let ready = items(&node["status"]["conditions"]).rfind(|one| one["type"] == "Ready");
    let mut status = match ready {
        None => "Unknown",
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if node["spec"]["unschedulable"] == true {
        status += ",SchedulingDisabled";
    }
    let info = |name: &str, absent: &'static str| or(&node["status"]["nodeInfo"][name], absent).to_owned();
    let address = |kind: &str| -> Value {
        let found = items(&node["status"]["addresses"]).find(|one| one["type"] == kind);
        found.map_or("<none>".into(), |one| one["address"].clone())
    };
    let mut kernel = info("kernelVersion", "<unknown>");
    let architecture = info("architecture", "");
    if !architecture.is_empty() {
        kernel += &format!(" ({architecture})");
    }
    vec![
        status.into(),
        roles(node).into(),
        age.into(),
        info("kubeletVersion", "").into(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage", "<unknown>").into(),
        kernel.into(),
        info("containerRuntimeVersion", "<unknown>").into(),
    ]
}

/// Upstream: `findNodeRoles`.
fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(label, value)| match label.strip_prefix(ROLE) {
            Some(role) => Some(role),
            None if label == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

/// Upstream: `printNamespace`.
pub(crate) fn namespace(namespace: &Value, age: &str) -> Vec<Value> {
    vec![or(&namespace["status"]["phase"], "").into(), age.into()]
}
