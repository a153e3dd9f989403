//! ClusterRoles: stored and validated, without effect; their rules are not aggregated. Upstream:
//! `pkg/registry/rbac/clusterrole`, `ValidateClusterRole`.

use serde_json::Value;

use crate::registry::rbac::role::validate_rules;
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::registry::validate::apps::is_selector;
use crate::registry::validate::selectors::selector_of;
use crate::schema::printers::cells::items;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind =
    ResourceKind { namespaced: false, ..kind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole") };

pub(crate) struct ClusterRoleStrategy;

impl Strategy for ClusterRoleStrategy {
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
        errors.extend(validate_rules(&new["rules"], false));
        errors.extend(validate_aggregation(&new["aggregationRule"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(new);
        errors.extend(self.validate_metadata_update(new, old));
        errors
    }
}

fn validate_aggregation(rule: &Value) -> Vec<FieldError> {
    const PATH: &str = "aggregationRule.clusterRoleSelectors";
    let mut errors = Vec::new();
    if rule.is_null() {
        return errors;
    }
    if items(&rule["clusterRoleSelectors"]).len() == 0 {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(PATH, why));
    }
    for (index, selector) in items(&rule["clusterRoleSelectors"]).enumerate() {
        let path = format!("{PATH}[{index}]");
        errors.extend(selector_of(selector, &path));
        if !is_selector(selector) {
            errors.push(FieldError::invalid(&path, Value::Null, "invalid label selector."));
        }
    }
    errors
}
