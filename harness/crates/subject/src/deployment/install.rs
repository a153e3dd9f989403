//! Creates the subject's objects on the cluster one by one, and removes them in reverse order.
//!
//! All of them are owned by a dedicated namespace. If a run is killed, the next one removes that
//! namespace like every namespace of the harness, and the garbage collector then removes the
//! objects.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use lockstep_cluster::{INSTALLATION_LABEL, MANAGED_BY, MANAGER, installation};
use lockstep_support::clock;
use serde_json::{Value, json};

use super::manifest::{namespace, text_at};
use crate::SubjectError;

/// The time limit for removing an object of an earlier run.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The objects that were created so far.
pub(super) struct Installation {
    pub(super) client: kube::Client,
    owner: Namespace,
    objects: Vec<InstalledObject>,
}

struct InstalledObject {
    api: Api<DynamicObject>,
    /// `serviceaccount/mine`.
    label: String,
    name: String,
}

impl Installation {
    /// Creates the namespace that will own all objects.
    pub(super) async fn begin(client: &kube::Client) -> Result<Self, SubjectError> {
        let name = format!("lockstep-subject-{:x}", clock::now().as_nanosecond());
        let owner =
            json!({"metadata": {"name": name, "labels": {MANAGED_BY: MANAGER, INSTALLATION_LABEL: installation()}}});
        let owner = serde_json::from_value(owner).expect("a literal of the right shape");
        let owner = Api::all(client.clone()).create(&PostParams::default(), &owner).await;
        let owner = owner.map_err(|source| failed(format!("namespace/{name}"), source))?;
        Ok(Self { client: client.clone(), owner, objects: Vec::new() })
    }

    /// The namespace as an owner reference.
    pub(super) fn owner(&self) -> Value {
        let metadata = &self.owner.metadata;
        json!({"apiVersion": "v1", "kind": "Namespace", "name": metadata.name, "uid": metadata.uid})
    }

    /// Creates an object.
    pub(super) async fn create(&mut self, object: &Value) -> Result<DynamicObject, SubjectError> {
        let (kind, name) = (text_at(object, "/kind"), text_at(object, "/metadata/name"));
        let label = format!("{}/{name}", kind.to_lowercase());
        let api = self.api(object, &kind).await.map_err(|source| failed(label.clone(), source))?;
        let manifest = serde_json::from_value(object.clone());
        let manifest = manifest.map_err(|error| failed(label.clone(), kube::Error::SerdeError(error)))?;
        let made = create_object(&api, &label, &name, &manifest).await?;
        self.objects.push(InstalledObject { api, label, name });
        Ok(made)
    }

    /// The API of the object's kind, in the object's namespace.
    async fn api(&self, object: &Value, kind: &str) -> kube::Result<Api<DynamicObject>> {
        let version = text_at(object, "/apiVersion");
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let (resource, capabilities): (ApiResource, _) =
            pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, kind)).await?;
        Ok(match capabilities.scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), &namespace(object), &resource),
        })
    }

    /// Removes everything in reverse order. When it returns, namespaces are being removed.
    pub(super) async fn remove(self) {
        for InstalledObject { api, label, name } in self.objects.into_iter().rev() {
            ignore_missing(&label, api.delete(&name, &DeleteParams::background()).await);
        }
        let name = self.owner.metadata.name.unwrap_or_default();
        ignore_missing(&name, Api::<Namespace>::all(self.client).delete(&name, &DeleteParams::background()).await);
    }
}

/// Creates an object, after removing one that an earlier run has left.
async fn create_object(
    api: &Api<DynamicObject>,
    label: &str,
    name: &str,
    manifest: &DynamicObject,
) -> Result<DynamicObject, SubjectError> {
    let since = clock::instant();
    loop {
        let conflict = match api.create(&PostParams::default(), manifest).await {
            Ok(made) => return Ok(made),
            Err(kube::Error::Api(status)) if status.code == 409 => status,
            Err(source) => return Err(failed(label.to_owned(), source)),
        };
        tracing::debug!(object = label, taken = %conflict, "there already");
        let existing = api.get_opt(name).await.map_err(|source| failed(label.to_owned(), source))?;
        let Some(existing) = existing else { continue };
        if existing.metadata.labels.unwrap_or_default().get(MANAGED_BY).is_none_or(|by| by != MANAGER) {
            return Err(SubjectError::There(label.to_owned()));
        }
        if since.elapsed() > TIMEOUT {
            return Err(SubjectError::Stays { object: label.to_owned(), seconds: TIMEOUT.as_secs() });
        }
        ignore_missing(label, api.delete(name, &DeleteParams::background()).await);
        clock::pause(POLL_INTERVAL).await;
    }
}

/// Treats a missing object as deleted; an object that cannot be deleted is left to the next run.
fn ignore_missing<T>(label: &str, deleted: kube::Result<T>) {
    match deleted {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
        Err(error) => tracing::warn!(object = label, %error, "an object of the subject's is not removed"),
    }
}

fn failed(label: String, source: kube::Error) -> SubjectError {
    SubjectError::Install { object: label, source: Box::new(source) }
}
