//! Namespaces. Upstream: `pkg/registry/core/namespace`, `ValidateNamespace…`, `printNamespace`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::admission::pod_security::unknown_standard;
use crate::registry::defaults::{entry, set};
use crate::registry::strategy::{Deletion, Strategy};
use crate::schema::printers::cells::name;
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::schema::printers::{age, nodes};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, SelectableFields, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind = ResourceKind {
    namespaced: false,
    subresources: &["status", "finalize"],
    // Namespaces can only be deleted one by one.
    verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
    short_names: &["ns"],
    selectable_fields: SelectableFields::Fields(&["status.phase"]),
    ..kind("", "v1", "namespaces", "Namespace")
};

pub(crate) struct NamespaceStrategy;

impl Strategy for NamespaceStrategy {
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::dns_label
    }

    fn set_defaults(&self, body: &mut Value) {
        let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !name.is_empty() {
            entry(&mut body["metadata"], "labels")["kubernetes.io/metadata.name"] = name.into();
        }
        set(entry(body, "status"), "phase", json!("Active"));
    }

    fn prepare_for_create(&self, body: &mut Value) {
        body["status"] = json!({"phase": "Active"});
        let finalizers = entry(body, "spec");
        let mut names = finalizers["finalizers"].as_array().cloned().unwrap_or_default();
        if !names.contains(&json!("kubernetes")) {
            names.push(json!("kubernetes"));
        }
        finalizers["finalizers"] = Value::Array(names);
    }

    fn prepare_for_update(&self, new: &mut Value, old: &Value) {
        new["spec"]["finalizers"] = old["spec"]["finalizers"].clone();
    }

    // Upstream also validates it as a new object.
    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(new);
        errors.extend(self.validate_metadata_update(new, old));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_phase(new));
        errors
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        unknown_standard(&new["metadata"]["labels"])
    }

    fn deletion(&self) -> Deletion {
        Deletion::ContentsFirst
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Status"), AGE] }
    }

    fn cells(&self, namespace: &Value, now: Timestamp) -> Vec<Value> {
        let age = age::since(&namespace["metadata"]["creationTimestamp"], now);
        [name(namespace)].into_iter().chain(nodes::namespace(namespace, &age)).collect()
    }
}

fn validate_phase(new: &Value) -> Option<FieldError> {
    let phase = new["status"]["phase"].as_str().unwrap_or_default();
    let (expected, state) = match new["metadata"]["deletionTimestamp"].is_null() {
        true => ("Active", "empty"),
        false => ("Terminating", "not empty"),
    };
    (phase != expected).then(|| {
        let why = format!("may only be '{expected}' if `deletionTimestamp` is {state}");
        FieldError::invalid("status.Phase", phase, why)
    })
}
