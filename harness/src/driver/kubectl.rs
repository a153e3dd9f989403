//! The user's half: what kubectl sends, by the same verbs, patch types and bodies.
//!
//! `set` and `rollout restart|pause|resume` are strategic merge patches, `scale` is a merge patch of the scale subresource,
//! `rollout undo` a JSON patch that replaces the template and the annotations. What is in them, and where kubectl itself
//! refuses before it asks the server, is in the operations' own files.

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, PropagationPolicy};
use serde_json::{Value, json};

use super::node::nth;
use super::{DriveError, Driver, namespace};
use crate::case::model::{Cascade, PatchKind, Target};
use crate::observe::{Kind, Object};
use crate::pointer::At;

impl Driver {
    pub(super) async fn apply(&self, manifest: &Value) -> Result<(), DriveError> {
        let mut manifest = namespace::filled_in(manifest, &self.namespace);
        // On every cluster, so that no scheduler binds before the driver does.
        if let Some(spec) = manifest.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
            spec.insert("schedulerName".into(), "lockstep".into());
        }
        self.resolve_owners(&mut manifest).await?;
        self.make_real(&mut manifest).await?;
        let text = |pointer: &str| manifest.at(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let api = self.api(group, version, &kind);
        let object: DynamicObject =
            serde_json::from_value(manifest.clone()).map_err(|e| DriveError::Refused(format!("bad manifest: {e}")))?;
        let exists = api.get_opt(&name).await?.is_some();
        let answer = if exists {
            api.patch(&name, &PatchParams::default(), &Patch::Strategic(manifest)).await?
        } else {
            api.create(&PostParams::default(), &object).await?
        };
        if let Some(kind) = self.watched(&kind) {
            self.wrote(kind, &answer);
        }
        Ok(())
    }

    pub(super) async fn patch(&self, target: &Target, kind: PatchKind, patch: &Value) -> Result<(), DriveError> {
        let (api, name, watched) = self.resolve(target)?;
        let patch = &namespace::filled_in(patch, &self.namespace);
        self.provide_images(patch).await?;
        let none = PatchParams::default();
        let answer = match kind {
            PatchKind::Strategic => api.patch(&name, &none, &Patch::Strategic(patch)).await?,
            PatchKind::Merge => api.patch(&name, &none, &Patch::Merge(patch)).await?,
            PatchKind::Json => {
                let patch = serde_json::from_value(patch.clone());
                let patch = patch.map_err(|e| DriveError::Refused(format!("no JSON patch: {e}")))?;
                api.patch(&name, &none, &Patch::<Value>::Json(patch)).await?
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
        // The answer to a deletion that is done at once names no version.
        if let Some(kind) = watched {
            self.world.own_deletion(kind, &self.namespace, &name);
        }
        if let Some(object) = api.delete(&name, &how).await?.left() {
            self.note(watched, &object);
        }
        Ok(())
    }

    pub(super) async fn scale(&self, target: &Target, replicas: i32) -> Result<(), DriveError> {
        let (api, name, watched) = self.resolve(target)?;
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let answer = api.patch_scale(&name, &PatchParams::default(), &patch).await?;
        let mut object =
            DynamicObject::new(&name, &ApiResource::erase::<k8s_openapi::api::autoscaling::v1::Scale>(&()));
        object.metadata.resource_version = answer.metadata.resource_version;
        self.note(watched, &object);
        Ok(())
    }

    /// A strategic merge patch of a Deployment.
    pub(super) async fn strategic(&self, deployment: &str, patch: Value) -> Result<(), DriveError> {
        self.provide_images(&patch).await?;
        let answer = self.deployments().patch(deployment, &PatchParams::default(), &Patch::Strategic(patch)).await?;
        self.wrote(Kind::Deployment, &answer);
        Ok(())
    }

    /// The API and the real name behind a target; `replicaset/rs2` is the second ReplicaSet to appear, and `pod/rs2.1` the first
    /// of its pods that is alive.
    fn resolve(&self, target: &Target) -> Result<(Api<DynamicObject>, String, Option<Kind>), DriveError> {
        let (group, version, kind) = match target.kind.as_str() {
            "deployment" => ("apps", "v1", "Deployment"),
            "replicaset" => ("apps", "v1", "ReplicaSet"),
            "statefulset" => ("apps", "v1", "StatefulSet"),
            "daemonset" => ("apps", "v1", "DaemonSet"),
            "cronjob" => ("batch", "v1", "CronJob"),
            "job" => ("batch", "v1", "Job"),
            "rollout" => ("argoproj.io", "v1alpha1", "Rollout"),
            "pod" => ("", "v1", "Pod"),
            "configmap" => ("", "v1", "ConfigMap"),
            "secret" => ("", "v1", "Secret"),
            other => {
                return Err(DriveError::Refused(format!("the driver does not know the kind {other}")));
            }
        };
        let name = match kind {
            "ReplicaSet" => self.nth_replica_set(&target.name)?.map(|rs| rs.name),
            "Pod" => match self.named().remove(&target.name) {
                Some(real) => Some(real),
                None => self.nth_pod(&target.name)?,
            },
            _ => None,
        };
        let name = name.unwrap_or_else(|| target.name.clone());
        Ok((self.api(group, version, kind), name, self.watched(kind)))
    }

    /// The ReplicaSet behind `rs2`; `None` for a name of another form.
    fn nth_replica_set(&self, name: &str) -> Result<Option<Object>, DriveError> {
        if name.strip_prefix("rs").is_none_or(|number| number.parse::<usize>().is_err()) {
            return Ok(None);
        }
        let found = nth(&self.world.list(Kind::ReplicaSet, &self.namespace), name);
        found.map(Some).ok_or_else(|| DriveError::Impossible(format!("there is not a ReplicaSet {name}")))
    }

    /// The name of the pod behind `rs2.1`; `None` for a name of another form.
    fn nth_pod(&self, name: &str) -> Result<Option<String>, DriveError> {
        let parts = name.split_once('.').and_then(|(set, number)| Some((set, number.parse::<usize>().ok()?)));
        let Some((set, number)) = parts else { return Ok(None) };
        let Some(set) = self.nth_replica_set(set)? else { return Ok(None) };
        let mut pods = self.world.list(Kind::Pod, &self.namespace);
        pods.retain(|pod| pod.alive() && pod.owner() == Some(set.text("/metadata/uid")));
        pods.sort_by_key(|pod| pod.first);
        let found = pods.get(number.wrapping_sub(1)).map(|pod| pod.name.clone());
        found.map(Some).ok_or_else(|| DriveError::Impossible(format!("there is no pod {name}")))
    }

    /// Owners in manifests are written by name; the server wants UIDs.
    async fn resolve_owners(&self, manifest: &mut Value) -> Result<(), DriveError> {
        let references = manifest.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        for reference in references.into_iter().flatten().filter(|reference| reference["uid"].is_null()) {
            let text = |key: &str| reference[key].as_str().unwrap_or_default().to_owned();
            let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            if let Some(owner) = self.api(group, version, &kind).get_opt(&name).await? {
                reference["uid"] = json!(owner.metadata.uid);
            }
        }
        Ok(())
    }

    /// The kind of this name, if its watch will show what is written.
    fn watched(&self, kind: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|known| known.to_string() == kind).filter(|kind| self.world.watches(*kind))
    }

    fn note(&self, kind: Option<Kind>, object: &DynamicObject) {
        if let Some(kind) = kind {
            self.wrote(kind, object);
        }
    }
}
