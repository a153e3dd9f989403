//! Who wrote a version, from its managed fields.
//!
//! The client that changes a field owns it afterwards, alone unless others applied the same value.
//! So the owner of `spec.replicas` wrote the size. The Deployment controller is identified by what
//! only it writes: the status of Deployments. A write through the scale subresource is attributed
//! to a user or an autoscaler, even if kube-controller-manager makes it. A deletion does not show
//! who started it, and is attributed to others.

use std::collections::BTreeSet;

use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{REVISION, text};
use serde_json::Value;

/// The managers of the fields that the Deployment controller decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Owners {
    /// Of `spec.replicas`.
    size: BTreeSet<String>,
    /// Of the revision.
    revision: BTreeSet<String>,
}

/// The author of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Author {
    /// One of the owners of the changed field.
    Owners(Owners),
    /// The Deployment controller.
    #[cfg_attr(not(test), expect(dead_code, reason = "recordings say who wrote a version"))]
    Controller,
    /// Another client, or unknown.
    Other,
}

impl Author {
    /// The author of a version.
    pub(super) fn of(object: &Value) -> Self {
        let Some(entries) = object.at("/metadata/managedFields").and_then(Value::as_array) else { return Self::Other };
        let owners = |path: &[&str]| {
            let own = entries.iter().filter(|entry| entry.at("/subresource").is_none() && has_field(entry, path));
            own.filter_map(|entry| text(entry, "/manager")).map(str::to_owned).collect()
        };
        let revision = format!("f:{REVISION}");
        Self::Owners(Owners {
            size: owners(&["f:spec", "f:replicas"]),
            revision: owners(&["f:metadata", "f:annotations", &revision]),
        })
    }

    /// Whether one of these controllers wrote the new size.
    pub(super) fn wrote_size(&self, controllers: &BTreeSet<String>) -> bool {
        self.is_by(controllers, |owners| &owners.size)
    }

    /// Whether one of these controllers wrote the new revision.
    pub(super) fn wrote_revision(&self, controllers: &BTreeSet<String>) -> bool {
        self.is_by(controllers, |owners| &owners.revision)
    }

    fn is_by(&self, controllers: &BTreeSet<String>, field: impl Fn(&Owners) -> &BTreeSet<String>) -> bool {
        match self {
            Self::Owners(owners) => !field(owners).is_empty() && field(owners).is_subset(controllers),
            Self::Controller => true,
            Self::Other => false,
        }
    }
}

/// The managers that write the status of this Deployment.
pub(super) fn controllers(deployment: &Value) -> impl Iterator<Item = &str> {
    let entries = deployment.at("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let status = entries.filter(|entry| {
        text(entry, "/subresource") == Some("status") && has_field(entry, &["f:status", "f:observedGeneration"])
    });
    status.filter_map(|entry| text(entry, "/manager"))
}

fn has_field(entry: &Value, path: &[&str]) -> bool {
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
    fn attributes_a_size_to_its_owner(#[case] manager: &str, #[case] subresource: Value, #[case] expected: bool) {
        let mut entry = json!({"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        if !subresource.is_null() {
            entry["subresource"] = subresource;
        }
        let set = json!({"metadata": {"managedFields": [entry]}});
        let controllers = BTreeSet::from(["kube-controller-manager".to_owned()]);
        assert_eq!(Author::of(&set).wrote_size(&controllers), expected);
        assert!(!Author::of(&set).wrote_revision(&controllers));
        assert_eq!(Author::of(&json!({"metadata": {}})), Author::Other);
    }

    #[test]
    fn controllers_are_the_writers_of_the_status() {
        let status =
            json!({"manager": "x", "subresource": "status", "fieldsV1": {"f:status": {"f:observedGeneration": {}}}});
        let spec = json!({"manager": "kubectl", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        let deployment = json!({"metadata": {"managedFields": [spec, status]}});
        assert_eq!(controllers(&deployment).collect::<Vec<_>>(), ["x"]);
    }
}
