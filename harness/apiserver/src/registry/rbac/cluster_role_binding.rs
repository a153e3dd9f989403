//! ClusterRoleBindings: stored and validated, without effect. What they share with RoleBindings is
//! in `role_binding`. Upstream: `pkg/registry/rbac/clusterrolebinding`,
//! `ValidateClusterRoleBinding`, `printClusterRoleBinding`.

use jiff::Timestamp;
use serde_json::Value;

use crate::registry::rbac::role_binding::{self, validate_role_reference, validate_same_role, validate_subjects};
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::schema::printers::columns::Column;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind = ResourceKind {
    namespaced: false,
    ..kind("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding")
};

pub(crate) struct ClusterRoleBindingStrategy;

impl Strategy for ClusterRoleBindingStrategy {
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::path_segment
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn set_defaults(&self, binding: &mut Value) {
        role_binding::set_defaults(binding);
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_role_reference(&new["roleRef"], &["ClusterRole"]));
        errors.extend(validate_subjects(&new["subjects"], false));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(new);
        errors.extend(self.validate_metadata_update(new, old));
        errors.extend(validate_same_role(new, old));
        errors
    }

    fn columns(&self) -> &'static [Column] {
        &role_binding::COLUMNS
    }

    fn cells(&self, binding: &Value, now: Timestamp) -> Vec<Value> {
        role_binding::cells(binding, now)
    }
}
