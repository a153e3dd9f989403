//! Identifies the harness's objects on a cluster, and the installation of the harness that created
//! them: an id of this user on this machine, generated once and stored.
//!
//! Every object that a cleanup deletes on a cluster that outlives the run has this id. An object
//! with the harness's label but another id, or none, belongs to another machine's run, or has a
//! copied label. It is reported and kept.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams};
use serde_json::{Value, json};

use crate::ClusterError;
use crate::user_dir::{random_token, user_temp_dir, write_private_file};

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
/// The length of an installation's id.
const ID_LENGTH: usize = 16;
const ID_FILE: &str = "installation";

/// The label of everything that this installation creates on a cluster that outlives the run.
pub fn label() -> (&'static str, &'static str) {
    (INSTALLATION_LABEL, installation())
}

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
    let pods: Api<DynamicObject> = Api::namespaced_with(client.clone(), name, &ApiResource::erase::<Pod>(&()));
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

/// This installation's id, generated and stored on first use. If it cannot be stored, the id lasts
/// for this process: a later run then finds no objects of this one, and deletes nothing by mistake.
pub fn installation() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| match state_folder().and_then(|folder| load_or_create(&folder)) {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(
                "no id of this installation can be kept, so a later run will not remove what is left: {error}"
            );
            generate_id().unwrap_or_else(|_| std::process::id().to_string())
        }
    })
}

/// The user's state folder, or this user's temporary folder.
fn state_folder() -> Result<PathBuf, ClusterError> {
    lockstep_support::private_fs::state_dir().map_or_else(user_temp_dir, Ok)
}

/// The id that is stored in a folder. Of two processes that store one at the same time, the first
/// wins.
fn load_or_create(folder: &Path) -> Result<String, ClusterError> {
    let path = folder.join(ID_FILE);
    if let Some(id) = read_id(&path) {
        return Ok(id);
    }
    lockstep_support::private_fs::create_dir(folder).map_err(ClusterError::file(folder))?;
    let id = generate_id()?;
    let part = folder.join(format!("{ID_FILE}.{id}"));
    write_private_file(&part, id.as_bytes())?;
    let link_result = std::fs::hard_link(&part, &path);
    std::fs::remove_file(&part).map_err(ClusterError::file(&part))?;
    match (link_result, read_id(&path)) {
        (_, Some(id)) => Ok(id),
        // The file has other content; replace it.
        (_, None) => write_private_file(&path, id.as_bytes()).map(|()| id),
    }
}

fn read_id(path: &Path) -> Option<String> {
    let id = std::fs::read_to_string(path).ok()?;
    let is_id = id.len() == ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id)
}

fn generate_id() -> Result<String, ClusterError> {
    random_token().map(|token| token[..ID_LENGTH].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_names_of_harness_objects() {
        for (name, expected) in
            [("lockstep-1", true), ("ls-rolling-a-0-1f", true), ("lockstep", false), ("tools", false)]
        {
            assert_eq!(has_lockstep_name(name), expected, "{name}");
        }
    }

    #[test]
    fn id_is_generated_once_and_fits_a_label() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state/lockstep");
        let id = load_or_create(&state).unwrap();
        assert_eq!((load_or_create(&state).unwrap(), id.len()), (id.clone(), ID_LENGTH));
        assert_eq!(std::fs::read_dir(&state).unwrap().count(), 1);
        std::fs::write(state.join(ID_FILE), "not an id").unwrap();
        let other = load_or_create(&state).unwrap();
        assert_ne!(other, id);
        assert_eq!(load_or_create(&state).unwrap(), other);
    }
}
