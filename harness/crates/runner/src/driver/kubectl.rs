//! The user's part: what kubectl sends, with the same verbs, patch types, field managers and
//! bodies.
//!
//! `apply` has its own file. `set` and `rollout restart|pause|resume` are strategic merge patches
//! of the fields that they change, `scale` is a merge patch of the scale subresource, and `rollout
//! undo` a JSON patch that replaces the template and the annotations. The operations' own files
//! have the bodies, and the cases in which kubectl itself refuses before it calls the server.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PropagationPolicy, ResourceExt,
};
use kube::core::Selector;
use lockstep_case::model::{Cascade, PatchKind, Target};
use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::apply::ApplyRequest;
use super::kubelet::nth_replica_set;
use super::{DriveError, Driver, drive_error};
use crate::observe::{CachedObject, WatchedKind};

impl Driver {
    pub(super) async fn apply(&self, manifest: &Value, server_side: bool) -> Result<(), DriveError> {
        let mut manifest = fill_in(manifest, &self.namespace);
        // On every cluster, so that no scheduler binds a pod before the driver does.
        if let Some(spec) = manifest.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
            spec.insert("schedulerName".into(), "lockstep".into());
        }
        self.resolve_owners(&mut manifest).await?;
        self.make_real(&mut manifest).await?;
        let text = |pointer: &str| manifest.at(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let api = self.api(&api_version, &kind);
        manifest["metadata"]["namespace"] = self.namespace.as_str().into();
        let applied = ApplyRequest { client: &self.client, api, name, manifest };
        let answers = match server_side {
            true => applied.on_server_side().await?,
            false => applied.on_client_side().await?.into_iter().collect(),
        };
        let kind = self.watched_kind(&kind);
        answers.iter().for_each(|answer| self.note(kind, answer));
        Ok(())
    }

    pub(super) async fn patch(
        &self,
        target: &Target,
        kind: PatchKind,
        patch: &Value,
        manager: &str,
    ) -> Result<(), DriveError> {
        let (api, name, watched) = self.resolve(target)?;
        let patch = &fill_in(patch, &self.namespace);
        self.provide_images(patch).await?;
        let params = managed_by(manager);
        let answer = match kind {
            PatchKind::Strategic => api.patch(&name, &params, &Patch::Strategic(patch)).await.map_err(drive_error)?,
            PatchKind::Merge => api.patch(&name, &params, &Patch::Merge(patch)).await.map_err(drive_error)?,
            PatchKind::Json => {
                let patch = serde_json::from_value(patch.clone());
                let patch = patch.map_err(|e| DriveError::Refused(format!("no JSON patch: {e}")))?;
                api.patch(&name, &params, &Patch::<Value>::Json(patch)).await.map_err(drive_error)?
            }
        };
        self.note(watched, &answer);
        Ok(())
    }

    pub(super) async fn delete(&self, target: &Target, cascade: Cascade) -> Result<(), DriveError> {
        let (api, name, watched) = self.resolve(target)?;
        let policy = match cascade {
            Cascade::Background => PropagationPolicy::Background,
            Cascade::Foreground => PropagationPolicy::Foreground,
            Cascade::Orphan => PropagationPolicy::Orphan,
        };
        let how = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
        // The answer to a deletion that is complete at once has no version.
        if let Some(kind) = watched {
            self.cache.record_own_deletion(kind, &self.namespace, &name);
        }
        let answer = api.delete(&name, &how).await.inspect_err(|_| {
            if let Some(kind) = watched {
                self.cache.forget_own_deletion(kind, &self.namespace, &name);
            }
        });
        if let Some(object) = answer.map_err(drive_error)?.left() {
            self.note(watched, &object);
            let ObjectMeta { deletion_grace_period_seconds, finalizers, .. } = &object.metadata;
            let is_gone = *deletion_grace_period_seconds == Some(0) && finalizers.is_none();
            if let Some(kind) = watched.filter(|_| is_gone) {
                self.cache.record_own_removal(kind, &self.namespace, &name);
            }
        }
        Ok(())
    }

    pub(super) async fn scale(&self, target: &Target, replicas: i32) -> Result<(), DriveError> {
        let (api, name, watched) = self.resolve(target)?;
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let answer = api.patch_scale(&name, &managed_by("kubectl"), &patch).await.map_err(drive_error)?;
        let mut object =
            DynamicObject::new(&name, &ApiResource::erase::<k8s_openapi::api::autoscaling::v1::Scale>(&()));
        object.metadata.resource_version = answer.metadata.resource_version;
        self.note(watched, &object);
        Ok(())
    }

    /// The ReplicaSets of a Deployment, in the order of their names.
    pub(super) async fn replica_sets(&self, deployment: &Value) -> Result<Vec<Value>, DriveError> {
        let selector: LabelSelector = serde_json::from_value(deployment["spec"]["selector"].clone())
            .map_err(|error| DriveError::Server(error.into()))?;
        let selector = Selector::try_from(selector).map_err(|error| DriveError::Server(error.into()))?;
        let found = self
            .api("apps/v1", "ReplicaSet")
            .list(&ListParams::default().labels_from(&selector))
            .await
            .map_err(drive_error)?;
        let uid = deployment["metadata"]["uid"].as_str();
        let is_owner = |owner: &OwnerReference| owner.controller == Some(true) && Some(owner.uid.as_str()) == uid;
        let owned = found.items.into_iter().filter(|set| set.owner_references().iter().any(is_owner));
        owned.map(|set| serde_json::to_value(set).map_err(|error| DriveError::Server(error.into()))).collect()
    }

    /// The API and the real name of a target; `replicaset/rs2` is the second ReplicaSet to appear,
    /// and `pod/rs2.1` the first of its pods that is alive.
    fn resolve(&self, target: &Target) -> Result<(Api<DynamicObject>, String, Option<WatchedKind>), DriveError> {
        let Some((version, kind)) = target.type_of() else {
            return Err(DriveError::Refused(format!("the driver does not know the kind {}", target.kind)));
        };
        let name = match kind {
            "ReplicaSet" => self.nth_replica_set(&target.name)?.map(|rs| rs.name),
            "Pod" => match self.pod_names().remove(&target.name) {
                Some(real) => Some(real),
                None => self.nth_pod(&target.name)?,
            },
            _ => None,
        };
        let name = name.unwrap_or_else(|| target.name.clone());
        Ok((self.api(version, kind), name, self.watched_kind(kind)))
    }

    /// The ReplicaSet that `rs2` refers to; `None` for a name of another form.
    fn nth_replica_set(&self, name: &str) -> Result<Option<CachedObject>, DriveError> {
        if name.strip_prefix("rs").is_none_or(|number| number.parse::<usize>().is_err()) {
            return Ok(None);
        }
        let found = nth_replica_set(&self.cache.list(WatchedKind::ReplicaSet, &self.namespace), name);
        found.map(Some).ok_or_else(|| DriveError::Impossible(format!("there is no ReplicaSet {name}")))
    }

    /// The name of the pod that `rs2.1` refers to; `None` for a name of another form.
    fn nth_pod(&self, name: &str) -> Result<Option<String>, DriveError> {
        let parts = name.split_once('.').and_then(|(set, number)| Some((set, number.parse::<usize>().ok()?)));
        let Some((set, number)) = parts else { return Ok(None) };
        let Some(set) = self.nth_replica_set(set)? else { return Ok(None) };
        let mut pods = self.cache.list(WatchedKind::Pod, &self.namespace);
        pods.retain(|pod| pod.alive() && pod.owner() == Some(set.text("/metadata/uid")));
        pods.sort_by_key(|pod| pod.first);
        let found = pods.get(number.wrapping_sub(1)).map(|pod| pod.name.clone());
        found.map(Some).ok_or_else(|| DriveError::Impossible(format!("there is no pod {name}")))
    }

    /// Manifests refer to owners by name, and the server requires UIDs.
    async fn resolve_owners(&self, manifest: &mut Value) -> Result<(), DriveError> {
        let references = manifest.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        for reference in references.into_iter().flatten().filter(|reference| reference["uid"].is_null()) {
            let text = |key: &str| reference[key].as_str().unwrap_or_default().to_owned();
            let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
            if let Some(owner) = self.api(&api_version, &kind).get_opt(&name).await.map_err(drive_error)? {
                reference["uid"] = json!(owner.metadata.uid);
            }
        }
        Ok(())
    }

    /// The kind of this name, if it is watched.
    fn watched_kind(&self, kind: &str) -> Option<WatchedKind> {
        WatchedKind::ALL.into_iter().find(|known| known.to_string() == kind).filter(|kind| self.cache.watches(*kind))
    }

    fn note(&self, kind: Option<WatchedKind>, object: &DynamicObject) {
        if let Some(kind) = kind {
            self.record_write(kind, object);
        }
    }
}

/// The parameters of a write by one of kubectl's field managers.
fn managed_by(manager: &str) -> PatchParams {
    PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() }
}

/// The placeholder for the case's namespace in manifests and patches, in any text, in the syntax of
/// a Kubernetes variable. A case does not choose its namespace, and needs to know it only where a
/// value contains it, such as an annotation whose keys are namespaced names.
const PLACEHOLDER: &str = "$(NAMESPACE)";

/// The value with every placeholder replaced, except in keys of maps.
fn fill_in(value: &Value, namespace: &str) -> Value {
    match value {
        Value::String(text) => text.replace(PLACEHOLDER, namespace).into(),
        Value::Array(items) => items.iter().map(|item| fill_in(item, namespace)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), fill_in(value, namespace))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaces_the_placeholder_in_every_text() {
        let value =
            json!({"a": ["secret/$(NAMESPACE)/c in $(NAMESPACE)", 1, null], "$(NAMESPACE)": true, "b": "$(OTHER)"});
        let filled = json!({"a": ["secret/ns/c in ns", 1, null], "$(NAMESPACE)": true, "b": "$(OTHER)"});
        assert_eq!(fill_in(&value, "ns"), filled);
    }
}
