//! Secrets. Upstream: `pkg/registry/core/secret`, `ValidateSecret`, `printSecret`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::{entry, set};
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::registry::validate::data::{data, immutable_data};
use crate::schema::printers::cells::{age, count, name, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, SelectableFields, kind};

pub(crate) static KIND: ResourceKind =
    ResourceKind { selectable_fields: SelectableFields::Fields(&["type"]), ..kind("", "v1", "secrets", "Secret") };

pub(crate) struct SecretStrategy;

impl Strategy for SecretStrategy {
    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn set_defaults(&self, secret: &mut Value) {
        set(secret, "type", json!("Opaque"));
    }

    // `stringData` is stored as `data`.
    fn convert_fields(&self, secret: &mut Value) {
        let plain = secret.as_object_mut().and_then(|secret| secret.remove("stringData"));
        for (key, text) in plain.as_ref().and_then(Value::as_object).into_iter().flatten() {
            entry(secret, "data")[key] = BASE64_STANDARD.encode(text.as_str().unwrap_or_default()).into();
        }
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(data(new, "data"));
        errors.extend(missing_keys(new));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        if new["type"] != old["type"] {
            errors.push(FieldError::invalid("type", new["type"].clone(), "field is immutable"));
        }
        errors.extend(immutable_data(new, old));
        errors.extend(self.validate(new));
        errors
    }

    fn has_legacy_quota_name(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Type"), text("Data"), AGE] }
    }

    fn cells(&self, secret: &Value, now: Timestamp) -> Vec<Value> {
        vec![name(secret), or(&secret["type"], "").into(), count(&secret["data"]).into(), age(secret, now)]
    }
}

/// The keys that the type of a Secret needs.
fn missing_keys(object: &Value) -> Vec<FieldError> {
    let needed: &[&str] = match object["type"].as_str() {
        Some("kubernetes.io/tls") => &["tls.crt", "tls.key"],
        Some("kubernetes.io/ssh-auth") => &["ssh-privatekey"],
        _ => &[],
    };
    let missing = needed.iter().filter(|name| object["data"].get(**name).is_none());
    missing.map(|name| FieldError::required(&format!("data[{name}]"), "")).collect()
}
