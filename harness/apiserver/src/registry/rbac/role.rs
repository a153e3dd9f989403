//! Roles: stored and validated, without effect. Upstream: `pkg/registry/rbac/role`, `ValidateRole`,
//! `ValidatePolicyRule`.

use serde_json::Value;

use crate::registry::strategy::{FieldPaths, Strategy};
use crate::schema::printers::cells::items;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind = kind("rbac.authorization.k8s.io", "v1", "roles", "Role");

pub(crate) struct RoleStrategy;

impl Strategy for RoleStrategy {
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::path_segment
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn unstored_lists(&self) -> &'static [&'static str] {
        &["rules"]
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_rules(&new["rules"], true));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(new);
        errors.extend(self.validate_metadata_update(new, old));
        errors
    }
}

/// Validates the rules of a role; those of a namespace cannot apply to URLs.
pub(crate) fn validate_rules(rules: &Value, is_namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in items(rules).enumerate() {
        let at = |name: &str| format!("rules[{index}].{name}");
        let has = |name: &str| items(&rule[name]).len() > 0;
        if !has("verbs") {
            errors.push(FieldError::required(&at("verbs"), "verbs must contain at least one value"));
        }
        if has("nonResourceURLs") {
            let invalid = |why: &str| FieldError::invalid(&at("nonResourceURLs"), rule["nonResourceURLs"].clone(), why);
            if is_namespaced {
                errors.push(invalid("namespaced rules cannot apply to non-resource URLs"));
            }
            if ["apiGroups", "resources", "resourceNames"].into_iter().any(has) {
                errors.push(invalid("rules cannot apply to both regular resources and non-resource URLs"));
            }
            continue;
        }
        if !has("apiGroups") {
            errors.push(FieldError::required(&at("apiGroups"), "resource rules must supply at least one api group"));
        }
        if !has("resources") {
            errors.push(FieldError::required(&at("resources"), "resource rules must supply at least one resource"));
        }
    }
    errors
}
