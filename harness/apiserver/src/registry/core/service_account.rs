//! ServiceAccounts. Upstream: `pkg/registry/core/serviceaccount`, `ValidateServiceAccount`,
//! `printServiceAccount`.

use jiff::Timestamp;
use serde_json::Value;

use crate::registry::strategy::{FieldPaths, Strategy};
use crate::schema::printers::cells::{age, name};
use crate::schema::printers::columns::{AGE, Column, NAME};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};

pub(crate) static KIND: ResourceKind = ResourceKind {
    unsupported_subresources: &["token"],
    returns_deleted: true,
    short_names: &["sa"],
    ..kind("", "v1", "serviceaccounts", "ServiceAccount")
};

pub(crate) struct ServiceAccountStrategy;

impl Strategy for ServiceAccountStrategy {
    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(self.validate(new));
        errors
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, AGE] }
    }

    fn cells(&self, account: &Value, now: Timestamp) -> Vec<Value> {
        vec![name(account), age(account, now)]
    }
}
