//! Nodes. Upstream: `pkg/registry/core/node`, `ValidateNode`, `ValidateNodeUpdate`, `printNode`.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::status_error::ApiResult;
use crate::registry::defaults::{entry, round_up, set};
use crate::registry::state::Server;
use crate::registry::strategy::Strategy;
use crate::registry::validate::{pod, quantity};
use crate::schema::printers::cells::name;
use crate::schema::printers::columns::{AGE, Column, NAME, text, wide};
use crate::schema::printers::{age, nodes};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, SelectableFields, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind = ResourceKind {
    namespaced: false,
    subresources: &["status"],
    unsupported_subresources: &["proxy"],
    short_names: &["no"],
    selectable_fields: SelectableFields::Fields(&["spec.unschedulable"]),
    ..kind("", "v1", "nodes", "Node")
};

pub(crate) struct NodeStrategy;

impl Strategy for NodeStrategy {
    // `podCIDR` is the first of `podCIDRs`.
    fn convert_fields(&self, body: &mut Value) {
        let first = body["spec"]["podCIDR"].as_str().unwrap_or_default().to_owned();
        let all = body["spec"]["podCIDRs"].as_array().cloned().unwrap_or_default();
        if !first.is_empty() && all.first().is_none_or(|one| *one != first) {
            body["spec"]["podCIDRs"] = json!([first]);
        }
    }

    fn set_defaults(&self, body: &mut Value) {
        round_up(&mut body["status"], &["capacity", "allocatable"]);
        if let Some(capacity) = body["status"].get("capacity").cloned() {
            set(&mut body["status"], "allocatable", capacity);
        }
    }

    // No kubelet reports that the node is ready, so it keeps the taint of TaintNodesByCondition.
    fn admit(&self, _: &mut Server, _: (&str, &str), node: &mut Value) -> ApiResult<()> {
        let spec = entry(node, "spec");
        let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        let mut taints = spec["taints"].as_array().cloned().unwrap_or_default();
        if !taints.contains(&taint) {
            taints.push(taint);
        }
        spec["taints"] = Value::Array(taints);
        Ok(())
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_new(new));
        errors
    }

    // Upstream also validates it as a new object.
    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(new);
        errors.extend(self.validate_metadata_update(new, old));
        errors.extend(validate_changes(new, old));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_changes(new, old));
        errors
    }

    // The old name of nodes.
    fn storage_folder(&self) -> Option<&'static str> {
        Some("minions")
    }

    fn columns(&self) -> &'static [Column] {
        const {
            &[
                NAME,
                text("Status"),
                text("Roles"),
                AGE,
                text("Version"),
                wide("Internal-IP"),
                wide("External-IP"),
                wide("OS-Image"),
                wide("Kernel-Version"),
                wide("Container-Runtime"),
            ]
        }
    }

    fn cells(&self, node: &Value, now: Timestamp) -> Vec<Value> {
        let age = age::since(&node["metadata"]["creationTimestamp"], now);
        [name(node)].into_iter().chain(nodes::node(node, &age)).collect()
    }
}

fn validate_new(object: &Value) -> Vec<FieldError> {
    let mut errors = taints(&object["spec"]["taints"]);
    for which in ["capacity", "allocatable"] {
        for (name, amount) in object["status"][which].as_object().into_iter().flatten() {
            errors.extend(quantity::nonnegative(amount, &format!("status.{which}[{name}]")));
        }
    }
    for (index, range) in object["spec"]["podCIDRs"].as_array().into_iter().flatten().enumerate() {
        let range = range.as_str().unwrap_or_default();
        if range
            .split_once('/')
            .is_none_or(|(address, bits)| address.parse::<IpAddr>().is_err() || bits.parse::<u8>().is_err())
        {
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.push(FieldError::invalid(&format!("spec.podCIDRs[{index}]"), range, why));
        }
    }
    errors
}

fn validate_changes(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let ranges = |object: &Value| object["spec"]["podCIDRs"].as_array().cloned().unwrap_or_default();
    if !ranges(old).is_empty() && ranges(new) != ranges(old) {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden("spec.podCIDRs", why));
    }
    errors.extend(taints(&new["spec"]["taints"]));
    errors
}

fn taints(taints: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known: Vec<(&str, &str)> = Vec::new();
    for (index, taint) in taints.as_array().into_iter().flatten().enumerate() {
        // Upstream's path is that of metadata.
        let path = format!("metadata.taints[{index}]");
        let text = |name: &str| taint[name].as_str().unwrap_or_default();
        let (key, value) = (text("key"), text("value"));
        let at = format!("{path}.key");
        errors.extend(names::key(key).into_iter().map(|wrong| FieldError::invalid(&at, key, wrong)));
        let wrong = names::label_value(value);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&format!("{path}.value"), value, wrong.join(";")));
        }
        errors.extend(pod::effect(text("effect"), &format!("{path}.effect")));
        if known.contains(&(text("effect"), key)) {
            let shown = format!(
                "{{\"Key\":\"{key}\",\"Value\":\"{value}\",\"Effect\":\"{}\",\"TimeAdded\":null}}",
                text("effect")
            );
            errors.push(FieldError::duplicate_printed(&path, shown, "taints must be unique by key and effect pair"));
        }
        known.push((text("effect"), key));
    }
    errors
}
