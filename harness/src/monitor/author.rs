//! Who wrote a version, by its managed fields.
//!
//! Whoever changes a field owns it afterwards, and alone unless others applied the same value. So a
//! size was written by the owner of `spec.replicas`. The Deployment controller is known by what
//! nobody else writes: the status of Deployments. A write through the scale subresource is a user's
//! or an autoscaler's, also where kube-controller-manager makes it. A deletion leaves no trace of
//! who began it, and counts as somebody else's.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::pointer::At;
use crate::timeline::object::{REVISION, text};

/// The managers of the fields that the Deployment controller decides about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Owners {
    /// Of `spec.replicas`.
    size: BTreeSet<String>,
    /// Of the revision.
    revision: BTreeSet<String>,
}

/// Who wrote a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Author {
    /// One of those who own the field that was changed.
    Owners(Owners),
    /// The Deployment controller.
    #[cfg_attr(not(test), expect(dead_code, reason = "recordings say who wrote a version"))]
    Controller,
    /// Somebody else, or it is not known.
    Other,
}

impl Author {
    /// The author of a version.
    pub(super) fn of(object: &Value) -> Self {
        let Some(entries) = object.at("/metadata/managedFields").and_then(Value::as_array) else { return Self::Other };
        let owners = |path: &[&str]| {
            let own = entries.iter().filter(|entry| entry.at("/subresource").is_none() && has(entry, path));
            own.filter_map(|entry| text(entry, "/manager")).map(str::to_owned).collect()
        };
        let revision = format!("f:{REVISION}");
        Self::Owners(Owners {
            size: owners(&["f:spec", "f:replicas"]),
            revision: owners(&["f:metadata", "f:annotations", &revision]),
        })
    }

    /// Whether one of these wrote the size that is new in the version.
    pub(super) fn sized(&self, controllers: &BTreeSet<String>) -> bool {
        self.is(controllers, |owners| &owners.size)
    }

    /// Whether one of these wrote the revision that is new in the version.
    pub(super) fn numbered(&self, controllers: &BTreeSet<String>) -> bool {
        self.is(controllers, |owners| &owners.revision)
    }

    fn is(&self, controllers: &BTreeSet<String>, field: impl Fn(&Owners) -> &BTreeSet<String>) -> bool {
        match self {
            Self::Owners(owners) => !field(owners).is_empty() && field(owners).is_subset(controllers),
            Self::Controller => true,
            Self::Other => false,
        }
    }
}

/// Who writes the status of this Deployment.
pub(super) fn controllers(deployment: &Value) -> impl Iterator<Item = &str> {
    let entries = deployment.at("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let status = entries.filter(|entry| {
        text(entry, "/subresource") == Some("status") && has(entry, &["f:status", "f:observedGeneration"])
    });
    status.filter_map(|entry| text(entry, "/manager"))
}

fn has(entry: &Value, path: &[&str]) -> bool {
    path.iter().try_fold(&entry["fieldsV1"], |fields, name| fields.get(name)).is_some()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::the_controller("kube-controller-manager", Value::Null, true)]
    #[case::a_user("kubectl", Value::Null, false)]
    #[case::an_autoscaler("kube-controller-manager", json!("scale"), false)]
    fn a_size_is_by_its_owner(#[case] manager: &str, #[case] subresource: Value, #[case] expected: bool) {
        let mut entry = json!({"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        if !subresource.is_null() {
            entry["subresource"] = subresource;
        }
        let set = json!({"metadata": {"managedFields": [entry]}});
        let controllers = BTreeSet::from(["kube-controller-manager".to_owned()]);
        assert_eq!(Author::of(&set).sized(&controllers), expected);
        assert!(!Author::of(&set).numbered(&controllers));
        assert_eq!(Author::of(&json!({"metadata": {}})), Author::Other);
    }

    #[test]
    fn the_controller_is_who_writes_the_status() {
        let status =
            json!({"manager": "x", "subresource": "status", "fieldsV1": {"f:status": {"f:observedGeneration": {}}}});
        let spec = json!({"manager": "kubectl", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        let deployment = json!({"metadata": {"managedFields": [spec, status]}});
        assert_eq!(controllers(&deployment).collect::<Vec<_>>(), ["x"]);
    }
}
