//! RoleBindings: stored and validated, without effect. Upstream: `pkg/registry/rbac/rolebinding`,
//! `SetDefaults_RoleBinding`, `SetDefaults_Subject`, `ValidateRoleBinding`, `printRoleBinding`.

use jiff::Timestamp;
use serde_json::Value;

use crate::registry::defaults::{entry, items as elements};
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::schema::printers::cells::{age, items, name, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text, wide};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

/// The group of roles, users and groups.
const GROUP: &str = "rbac.authorization.k8s.io";
const SUBJECTS: [&str; 3] = ["ServiceAccount", "User", "Group"];

pub(crate) static KIND: ResourceKind = kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding");

pub(crate) struct RoleBindingStrategy;

impl Strategy for RoleBindingStrategy {
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
        set_defaults(binding);
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_role_reference(&new["roleRef"], &["Role", "ClusterRole"]));
        errors.extend(validate_subjects(&new["subjects"], true));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(new);
        errors.extend(self.validate_metadata_update(new, old));
        errors.extend(validate_same_role(new, old));
        errors
    }

    fn columns(&self) -> &'static [Column] {
        &COLUMNS
    }

    fn cells(&self, binding: &Value, now: Timestamp) -> Vec<Value> {
        cells(binding, now)
    }
}

/// The columns of bindings of both scopes.
pub(crate) const COLUMNS: [Column; 6] =
    [NAME, text("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")];

/// The cells of a binding of either scope.
pub(crate) fn cells(binding: &Value, now: Timestamp) -> Vec<Value> {
    let reference = &binding["roleRef"];
    let role = format!("{}/{}", or(&reference["kind"], ""), or(&reference["name"], ""));
    let of_kind = |kind: &str| -> Value {
        let subjects = items(&binding["subjects"]).filter(|subject| subject["kind"] == kind);
        let names = subjects.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", or(&subject["namespace"], ""), or(&subject["name"], "")),
            _ => or(&subject["name"], "").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ").into()
    };
    let [users, groups, accounts] = ["User", "Group", "ServiceAccount"].map(of_kind);
    vec![name(binding), role.into(), age(binding, now), users, groups, accounts]
}

/// Sets the defaults of a binding of either scope.
pub(crate) fn set_defaults(binding: &mut Value) {
    let reference = entry(binding, "roleRef");
    if or(&reference["apiGroup"], "").is_empty() {
        reference["apiGroup"] = GROUP.into();
    }
    for subject in elements(binding, "subjects") {
        let is_user_or_group = matches!(subject["kind"].as_str(), Some("User" | "Group"));
        if is_user_or_group && or(&subject["apiGroup"], "").is_empty() {
            subject["apiGroup"] = GROUP.into();
        }
    }
}

/// Validates a reference to a role of one of these kinds.
pub(crate) fn validate_role_reference(reference: &Value, kinds: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let field = |name: &str| or(&reference[name], "").to_owned();
    if field("apiGroup") != GROUP {
        errors.push(FieldError::unsupported("roleRef.apiGroup", field("apiGroup"), &[GROUP]));
    }
    if !kinds.contains(&field("kind").as_str()) {
        errors.push(FieldError::unsupported("roleRef.kind", field("kind"), kinds));
    }
    match field("name") {
        name if name.is_empty() => errors.push(FieldError::required("roleRef.name", "")),
        name => {
            let wrong = names::path_segment(&name).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid("roleRef.name", name.as_str(), why)));
        }
    }
    errors
}

/// Validates the subjects of a binding; those of a cluster must name the namespace of an account.
pub(crate) fn validate_subjects(subjects: &Value, is_namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, subject) in items(subjects).enumerate() {
        let at = |name: &str| format!("subjects[{index}].{name}");
        let [kind, name, group, namespace] =
            ["kind", "name", "apiGroup", "namespace"].map(|field| or(&subject[field], ""));
        if name.is_empty() {
            errors.push(FieldError::required(&at("name"), ""));
        }
        match kind {
            "ServiceAccount" => {
                if !name.is_empty() {
                    let wrong = names::dns_subdomain(name).into_iter();
                    errors.extend(wrong.map(|why| FieldError::invalid(&at("name"), name, why)));
                }
                if !group.is_empty() {
                    errors.push(FieldError::unsupported(&at("apiGroup"), group, &[""]));
                }
                if !is_namespaced && namespace.is_empty() {
                    errors.push(FieldError::required(&at("namespace"), ""));
                }
            }
            "User" | "Group" if group != GROUP => {
                errors.push(FieldError::unsupported(&at("apiGroup"), group, &[GROUP]));
            }
            "User" | "Group" => {}
            other => errors.push(FieldError::unsupported(&at("kind"), other, &SUBJECTS)),
        }
    }
    errors
}

/// The role of a binding is immutable.
pub(crate) fn validate_same_role(new: &Value, old: &Value) -> Option<FieldError> {
    let reference = &new["roleRef"];
    // Upstream prints its internal type.
    let fields = [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")];
    let fields = fields.map(|(shown, name)| format!("\"{shown}\":{}", Value::from(or(&reference[name], ""))));
    let printed = format!("{{{}}}", fields.join(","));
    (*reference != old["roleRef"]).then(|| FieldError::invalid_printed("roleRef", printed, "cannot change roleRef"))
}
