//! Identifies the harness's objects on a cluster.

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::{Value, json};

use super::installation::installation;

/// The label of every object that the harness creates.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Its value.
pub const MANAGER: &str = "lockstep";
/// The label with the id of the installation that created the object.
pub const INSTALLATION_LABEL: &str = "lockstep/installation";
/// The label by which the API server refuses pods with access to their node.
const POD_SECURITY_LABEL: &str = "pod-security.kubernetes.io/enforce";
/// Pods of cases need neither privileges nor access to the node. `restricted` would refuse the
/// plain templates that cases, and most first Deployments, have.
const POD_SECURITY_LEVEL: &str = "baseline";
/// The label of the namespace that stays while the harness uses a user's cluster.
pub(crate) const COMPONENT_LABEL: &str = "app.kubernetes.io/component";
/// Its value.
pub(crate) const HOME_COMPONENT: &str = "home";

/// Selects this installation's objects, with or without its home namespace.
pub fn own_objects(include_home: bool) -> ListParams {
    let rest = if include_home { String::new() } else { format!(",{COMPONENT_LABEL}!={HOME_COMPONENT}") };
    ListParams::default().labels(&format!("{MANAGED_BY}={MANAGER},{INSTALLATION_LABEL}={}{rest}", installation()))
}

/// Selects objects with the harness's label that belong to other installations.
pub(crate) fn foreign_objects() -> ListParams {
    ListParams::default().labels(&format!("{MANAGED_BY}={MANAGER},{INSTALLATION_LABEL}!={}", installation()))
}

/// The labels of objects that this installation creates.
pub(crate) fn ownership_labels() -> Value {
    json!({MANAGED_BY: MANAGER, INSTALLATION_LABEL: installation()})
}

/// The labels of a namespace for cases: its pods get no access to their node, whatever the
/// cluster's default is. `installation` is the creator's id, on a cluster that may outlive the run.
pub fn namespace_labels(installation: Option<&str>) -> Value {
    let mut labels = json!({MANAGED_BY: MANAGER, POD_SECURITY_LABEL: POD_SECURITY_LEVEL});
    if let Some(id) = installation {
        labels[INSTALLATION_LABEL] = id.into();
    }
    labels
}

/// Whether an object has one of the harness's names: a label alone is easily copied, and matching
/// objects are deleted.
pub fn has_lockstep_name(name: &str) -> bool {
    name.starts_with("lockstep-") || name.starts_with("ls-")
}

/// Deletes a namespace and, without grace period, its pods, which no kubelet would finish. Does not
/// wait.
///
/// # Errors
/// When the server refuses; a missing namespace is not an error.
pub async fn delete_namespace(client: &kube::Client, name: &str) -> Result<(), kube::Error> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let deleted = ignore_missing(namespaces.delete(name, &DeleteParams::background()).await);
    let pods: Api<Pod> = Api::namespaced(client.clone(), name);
    let now = DeleteParams::default().grace_period(0);
    deleted.and(ignore_missing(pods.delete_collection(&now, &ListParams::default()).await))
}

/// Treats a missing object, and one that is being deleted, as deleted.
pub(crate) fn ignore_missing<T>(deleted: kube::Result<T>) -> Result<(), kube::Error> {
    match deleted {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        deleted => deleted.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::has_lockstep_name;

    #[test]
    fn recognises_names_of_harness_objects() {
        for (name, expected) in
            [("lockstep-1", true), ("ls-rolling-a-0-1f", true), ("lockstep", false), ("tools", false)]
        {
            assert_eq!(has_lockstep_name(name), expected, "{name}");
        }
    }
}
