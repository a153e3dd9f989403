//! ResourceQuotas. Upstream: `pkg/registry/core/resourcequota`, `ValidateResourceQuota`,
//! `printResourceQuota`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::strategy::Strategy;
use crate::registry::validate::quota;
use crate::schema::printers::cells::{age, name, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;

pub(crate) struct ResourceQuotaStrategy;

impl Strategy for ResourceQuotaStrategy {
    fn prepare_for_create(&self, quota: &mut Value) {
        quota["status"] = json!({});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(quota::spec(&new["spec"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(quota::update(&new["spec"], &old["spec"]));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(quota::amounts(&new["status"]["hard"], "status.hard"));
        errors.extend(quota::amounts(&new["status"]["used"], "status.used"));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { quota::warnings(&new["spec"]["hard"]) }
    }

    fn has_legacy_quota_name(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Request"), text("Limit"), AGE] }
    }

    fn cells(&self, quota: &Value, now: Timestamp) -> Vec<Value> {
        let (mut requests, mut limits) = (Vec::new(), Vec::new());
        for (resource, hard) in quota["status"]["hard"].as_object().into_iter().flatten() {
            let used = or(&quota["status"]["used"][resource], "0");
            let line = format!("{resource}: {used}/{}", or(hard, "0"));
            if resource.starts_with("limits.") { limits.push(line) } else { requests.push(line) }
        }
        vec![name(quota), requests.join(", ").into(), limits.join(", ").into(), age(quota, now)]
    }
}
