//! What tells the harness's own objects on a cluster from all others.

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::{Value, json};

use super::installation::installation;

/// The label of every namespace, node and role that the harness makes.
pub(crate) const OURS: &str = "app.kubernetes.io/managed-by";
/// Its value.
pub(crate) const MANAGER: &str = "lockstep";
/// The label that says which installation of the harness made it.
pub(crate) const INSTALLATION: &str = "lockstep/installation";
/// The label by which the API server refuses pods that reach out of their container.
const ADMISSION: &str = "pod-security.kubernetes.io/enforce";
/// What pods of cases need no more than: neither privileges nor anything of the node's.
/// `restricted` would refuse the plain templates that cases and everybody's first Deployment have.
const LEVEL: &str = "baseline";
/// The label of the one namespace that stays for as long as the harness uses a cluster of
/// somebody's.
pub(crate) const PART: &str = "app.kubernetes.io/component";
/// Its value.
pub(crate) const HOME: &str = "home";

/// All of this installation's own objects, or all but its home.
pub(crate) fn ours(home_too: bool) -> ListParams {
    let rest = if home_too { String::new() } else { format!(",{PART}!={HOME}") };
    ListParams::default().labels(&format!("{OURS}={MANAGER},{INSTALLATION}={}{rest}", installation()))
}

/// What carries the harness's label and is not this installation's.
pub(crate) fn others() -> ListParams {
    ListParams::default().labels(&format!("{OURS}={MANAGER},{INSTALLATION}!={}", installation()))
}

/// The labels of what this installation makes.
pub(crate) fn labels() -> Value {
    json!({OURS: MANAGER, INSTALLATION: installation()})
}

/// The labels of a namespace for cases: pods in it reach nothing of a node's, whatever the
/// cluster's own default is. `installation` says who made it, where it may outlive the run.
pub(crate) fn namespace_labels(installation: Option<&str>) -> Value {
    let mut labels = json!({OURS: MANAGER, ADMISSION: LEVEL});
    if let Some(id) = installation {
        labels[INSTALLATION] = id.into();
    }
    labels
}

/// Whether an object is the harness's own by its name too: a label alone is easily copied, and what
/// is found is deleted.
pub(crate) fn named_ours(name: &str) -> bool {
    name.starts_with("lockstep-") || name.starts_with("ls-")
}

/// Delete a namespace and, at once, its pods, which no kubelet would finish; does not wait.
///
/// # Errors
/// When the server refuses; not when there is no such namespace.
pub(crate) async fn delete_namespace(client: &kube::Client, name: &str) -> Result<(), kube::Error> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let deleted = gone(namespaces.delete(name, &DeleteParams::background()).await);
    let pods: Api<Pod> = Api::namespaced(client.clone(), name);
    let now = DeleteParams::default().grace_period(0);
    deleted.and(gone(pods.delete_collection(&now, &ListParams::default()).await))
}

/// What is not there needs no removing, and what is on its way out no second push.
pub(crate) fn gone<T>(deleted: kube::Result<T>) -> Result<(), kube::Error> {
    match deleted {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        deleted => deleted.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::named_ours;

    #[test]
    fn names_of_ours() {
        for (name, ours) in [("lockstep-1", true), ("ls-rolling-a-0-1f", true), ("lockstep", false), ("tools", false)] {
            assert_eq!(named_ours(name), ours, "{name}");
        }
    }
}
