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

const DOCKER_CONFIG: &str = ".dockercfg";
const DOCKER_CONFIG_JSON: &str = ".dockerconfigjson";
const SSH_KEY: &str = "ssh-privatekey";
/// Go's error for a certificate without PEM data.
const NO_CERTIFICATE: &str = "tls: failed to find any PEM data in certificate input";

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
        errors.extend(validate_type(new));
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

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        unsupported_content(new).map(|key| format!("a Secret whose {key} is not a JSON object"))
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        let is_text = |key: &str| BASE64_STANDARD.decode(or(&new["data"][key], "")).is_ok_and(|pem| has_pem(&pem));
        let no_certificate = new["type"] == "kubernetes.io/tls" && !is_text("tls.crt");
        no_certificate.then(|| NO_CERTIFICATE.to_owned()).into_iter().collect()
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

/// Validates what the type of a Secret needs. Upstream: `ValidateSecret`.
fn validate_type(secret: &Value) -> Vec<FieldError> {
    let has = |key: &str| secret["data"].get(key).is_some();
    let required = |keys: &[&str]| -> Vec<FieldError> {
        keys.iter().map(|key| FieldError::required(&format!("data[{key}]"), "")).collect()
    };
    let missing = |keys: &[&str]| required(&keys.iter().copied().filter(|key| !has(key)).collect::<Vec<_>>());
    match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            let account = or(&secret["metadata"]["annotations"][ACCOUNT], "");
            let path = format!("metadata.annotations[{ACCOUNT}]");
            account.is_empty().then(|| FieldError::required(&path, "")).into_iter().collect()
        }
        "kubernetes.io/dockercfg" => missing(&[DOCKER_CONFIG]),
        "kubernetes.io/dockerconfigjson" => missing(&[DOCKER_CONFIG_JSON]),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => required(&["username", "password"]),
        "kubernetes.io/ssh-auth" if or(&secret["data"][SSH_KEY], "").is_empty() => required(&[SSH_KEY]),
        "kubernetes.io/tls" => missing(&["tls.crt", "tls.key"]),
        _ => Vec::new(),
    }
}

/// The feature of a Secret that this server does not support: upstream parses these contents.
fn unsupported_content(secret: &Value) -> Option<&'static str> {
    let parsed = |key: &str| {
        let text = BASE64_STANDARD.decode(or(&secret["data"][key], "")).ok();
        text.and_then(|text| serde_json::from_slice::<Value>(&text).ok())
    };
    let is_object = |key: &str| parsed(key).is_some_and(|config| config.is_object() || config.is_null());
    match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/dockercfg" if !is_object(DOCKER_CONFIG) => Some(DOCKER_CONFIG),
        "kubernetes.io/dockerconfigjson" if !is_object(DOCKER_CONFIG_JSON) => Some(DOCKER_CONFIG_JSON),
        _ => None,
    }
}

/// Whether a text has a block of PEM. What such a block contains is not checked.
fn has_pem(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).lines().any(|line| line.starts_with("-----BEGIN "))
}
