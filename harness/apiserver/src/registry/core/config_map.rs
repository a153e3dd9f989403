//! ConfigMaps. Upstream: `pkg/registry/core/configmap`, `ValidateConfigMap`, `printConfigMap`.

use jiff::Timestamp;
use serde_json::Value;

use crate::registry::strategy::{FieldPaths, Strategy};
use crate::registry::validate::data::{data, immutable_data};
use crate::schema::printers::cells::{age, count, name};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};

pub(crate) static KIND: ResourceKind =
    ResourceKind { short_names: &["cm"], ..kind("", "v1", "configmaps", "ConfigMap") };

pub(crate) struct ConfigMapStrategy;

impl Strategy for ConfigMapStrategy {
    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(data(new, ""));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(immutable_data(new, old));
        errors.extend(self.validate(new));
        errors
    }

    fn has_legacy_quota_name(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Data"), AGE] }
    }

    fn cells(&self, map: &Value, now: Timestamp) -> Vec<Value> {
        vec![name(map), (count(&map["data"]) + count(&map["binaryData"])).into(), age(map, now)]
    }
}
