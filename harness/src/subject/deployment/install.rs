//! The subject's objects on the cluster: made one by one, and removed in the other direction.
//!
//! All of them belong to a namespace that is made for nothing else. A run that was killed leaves it
//! behind, the next one removes it as every namespace of the harness's, and the garbage collector
//! then removes what belonged to it.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use serde_json::{Value, json};

use super::super::SubjectError;
use super::manifest::{namespace, text_at};
use crate::clock;
use crate::cluster::{INSTALLATION, MANAGER, OURS, installation};

/// How long an earlier run's object may take to go.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(250);

/// What was made so far.
pub(super) struct Installed {
    pub(super) client: kube::Client,
    owner: Namespace,
    made: Vec<Made>,
}

struct Made {
    api: Api<DynamicObject>,
    /// `serviceaccount/mine`.
    what: String,
    name: String,
}

impl Installed {
    /// Nothing yet but the namespace that all will belong to.
    pub(super) async fn begin(client: &kube::Client) -> Result<Self, SubjectError> {
        let name = format!("lockstep-subject-{:x}", clock::now().as_nanosecond());
        let owner = json!({"metadata": {"name": name, "labels": {OURS: MANAGER, INSTALLATION: installation()}}});
        let owner = serde_json::from_value(owner).expect("a literal of the right shape");
        let owner = Api::all(client.clone()).create(&PostParams::default(), &owner).await;
        let owner = owner.map_err(|source| failed(format!("namespace/{name}"), source))?;
        Ok(Self { client: client.clone(), owner, made: Vec::new() })
    }

    /// Whom everything belongs to, as an owner reference.
    pub(super) fn owner(&self) -> Value {
        let metadata = &self.owner.metadata;
        json!({"apiVersion": "v1", "kind": "Namespace", "name": metadata.name, "uid": metadata.uid})
    }

    /// Make one object.
    pub(super) async fn make(&mut self, object: &Value) -> Result<DynamicObject, SubjectError> {
        let (kind, name) = (text_at(object, "/kind"), text_at(object, "/metadata/name"));
        let what = format!("{}/{name}", kind.to_lowercase());
        let api = self.api(object, &kind).await.map_err(|source| failed(what.clone(), source))?;
        let wanted = serde_json::from_value(object.clone());
        let wanted = wanted.map_err(|error| failed(what.clone(), kube::Error::SerdeError(error)))?;
        let made = create(&api, &what, &name, &wanted).await?;
        self.made.push(Made { api, what, name });
        Ok(made)
    }

    /// The API of the object's kind, where the object belongs.
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

    /// Remove everything, the last first. Namespaces are on their way out then.
    pub(super) async fn remove(self) {
        for Made { api, what, name } in self.made.into_iter().rev() {
            told(&what, api.delete(&name, &DeleteParams::background()).await);
        }
        let name = self.owner.metadata.name.unwrap_or_default();
        told(&name, Api::<Namespace>::all(self.client).delete(&name, &DeleteParams::background()).await);
    }
}

/// Make an object; one that an earlier run has left makes way first.
async fn create(
    api: &Api<DynamicObject>,
    what: &str,
    name: &str,
    wanted: &DynamicObject,
) -> Result<DynamicObject, SubjectError> {
    let since = clock::instant();
    loop {
        let taken = match api.create(&PostParams::default(), wanted).await {
            Ok(made) => return Ok(made),
            Err(kube::Error::Api(status)) if status.code == 409 => status,
            Err(source) => return Err(failed(what.to_owned(), source)),
        };
        tracing::debug!(object = what, %taken, "there already");
        let there = api.get_opt(name).await.map_err(|source| failed(what.to_owned(), source))?;
        let Some(there) = there else { continue };
        if there.metadata.labels.unwrap_or_default().get(OURS).is_none_or(|by| by != MANAGER) {
            return Err(SubjectError::There(what.to_owned()));
        }
        if since.elapsed() > PATIENCE {
            return Err(SubjectError::Stays { what: what.to_owned(), seconds: PATIENCE.as_secs() });
        }
        told(what, api.delete(name, &DeleteParams::background()).await);
        clock::pause(LOOK).await;
    }
}

/// What stays although it was to go is for the next run to remove.
fn told<T>(what: &str, deleted: kube::Result<T>) {
    match deleted {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
        Err(error) => tracing::warn!(object = what, %error, "an object of the subject's is not removed"),
    }
}

fn failed(what: String, source: kube::Error) -> SubjectError {
    SubjectError::Install { what, source: Box::new(source) }
}
