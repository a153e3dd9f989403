//! What tells the harness's own objects on a cluster from all others.

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams};

/// The label of every namespace, node and role that the harness makes.
pub(crate) const OURS: &str = "app.kubernetes.io/managed-by";
/// Its value.
pub(crate) const MANAGER: &str = "lockstep";
/// The label of the one namespace that stays for as long as the harness uses a cluster of somebody's.
pub(crate) const PART: &str = "app.kubernetes.io/component";
/// Its value.
pub(crate) const HOME: &str = "home";

/// All of the harness's own objects, or all but its home.
pub(crate) fn ours(home_too: bool) -> ListParams {
    let rest = if home_too { String::new() } else { format!(",{PART}!={HOME}") };
    ListParams::default().labels(&format!("{OURS}={MANAGER}{rest}"))
}

/// Whether an object is the harness's own by its name too: a label alone is easily copied, and what is found is deleted.
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
