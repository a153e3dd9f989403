//! Leases. Upstream: `pkg/registry/coordination/lease`, `ValidateLease`, `printLease`.

use jiff::Timestamp;
use serde_json::Value;

use crate::registry::strategy::{FieldPaths, Strategy};
use crate::registry::validate::scalars::nonnegative;
use crate::schema::printers::cells::{age, name, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};

pub(crate) static KIND: ResourceKind = kind("coordination.k8s.io", "v1", "leases", "Lease");

pub(crate) struct LeaseStrategy;

impl Strategy for LeaseStrategy {
    fn qualifies_finalizers(&self) -> bool {
        false
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_spec(&new["spec"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_spec(&new["spec"]));
        errors
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Holder"), AGE] }
    }

    fn cells(&self, lease: &Value, now: Timestamp) -> Vec<Value> {
        vec![name(lease), or(&lease["spec"]["holderIdentity"], "").into(), age(lease, now)]
    }
}

fn validate_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    nonnegative(&mut errors, spec, "spec", "leaseTransitions");
    errors
}
