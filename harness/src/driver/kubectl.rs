//! The user's half: what kubectl sends, by the same verbs, patch types and bodies.
//!
//! `set` and `rollout restart|pause|resume` are strategic merge patches, `scale` is a merge patch of the scale subresource,
//! `rollout undo` a JSON patch that replaces the template and the annotations. Where kubectl itself refuses before it asks
//! the server (undo of an unknown revision, pause of what is paused), so does the driver, with kubectl's meaning.

use std::collections::BTreeMap;

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, PropagationPolicy};
use serde_json::{Map, Value, json};

use super::node::nth;
use super::{DriveError, Driver, namespace};
use crate::case::model::{Cascade, PatchKind, Target};
use crate::clock;
use crate::observe::{Kind, Object};
use crate::pointer::At;

const REVISION: &str = "deployment.kubernetes.io/revision";
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// Annotations of a Deployment that an undo keeps as they are; all others come from the ReplicaSet.
const KEPT_BY_UNDO: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

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
        if let Some(kind) = watched(&kind) {
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

    pub(super) async fn set(
        &self,
        deployment: &str,
        container: Option<&str>,
        image: Option<&str>,
        env: &BTreeMap<String, String>,
    ) -> Result<(), DriveError> {
        let container = match container {
            Some(name) => name.to_owned(),
            None => {
                let found = self.deployments().get(deployment).await?;
                let name = found.data.at("/spec/template/spec/containers/0/name").and_then(Value::as_str);
                name.unwrap_or_default().to_owned()
            }
        };
        let mut change = Map::from_iter([("name".to_owned(), json!(container))]);
        if let Some(image) = image {
            change.insert("image".into(), json!(image));
        }
        if !env.is_empty() {
            let env = env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            change.insert("env".into(), Value::Array(env));
        }
        let patch = json!({"spec": {"template": {"spec": {"containers": [change]}}}});
        self.provide_images(&patch).await?;
        self.strategic(deployment, patch).await
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

    pub(super) async fn pause(&self, deployment: &str, paused: bool) -> Result<(), DriveError> {
        let found = self.deployments().get(deployment).await?;
        let is = found.data.at("/spec/paused").and_then(Value::as_bool).unwrap_or(false);
        if is == paused {
            let not = if paused { "already" } else { "not" };
            return Err(DriveError::Refused(format!("deployment \"{deployment}\" is {not} paused")));
        }
        self.strategic(deployment, json!({"spec": {"paused": paused}})).await
    }

    pub(super) async fn restart(&self, deployment: &str) -> Result<(), DriveError> {
        let found = self.deployments().get(deployment).await?;
        if found.data.at("/spec/paused") == Some(&Value::Bool(true)) {
            return Err(DriveError::Refused(format!(
                "can't restart paused deployment \"{deployment}\"; resume it first"
            )));
        }
        let stamp = json!({RESTARTED_AT: clock::rfc3339()});
        self.strategic(deployment, json!({"spec": {"template": {"metadata": {"annotations": stamp}}}})).await
    }

    pub(super) async fn undo(&self, deployment: &str, to_revision: i64) -> Result<(), DriveError> {
        let found = self.deployments().get(deployment).await?;
        if found.data.at("/spec/paused") == Some(&Value::Bool(true)) {
            return Err(DriveError::Refused(format!(
                "cannot undo the paused deployment \"{deployment}\"; resume it first"
            )));
        }
        let mut revisions = BTreeMap::new();
        for rs in self.world.list(Kind::ReplicaSet, &self.namespace) {
            let revision = rs.text(&format!("/metadata/annotations/{}", REVISION.replace('/', "~1"))).parse::<i64>();
            if let (Ok(revision), true) = (revision, rs.owner() == found.metadata.uid.as_deref()) {
                revisions.insert(revision, rs);
            }
        }
        let target = match to_revision {
            0 => revisions.iter().rev().nth(1).map(|(_, rs)| rs).ok_or_else(|| {
                DriveError::Impossible(format!("no rollout history found for deployment \"{deployment}\""))
            })?,
            wanted => revisions.get(&wanted).ok_or_else(|| {
                DriveError::Impossible(format!("unable to find specified revision {wanted} in history"))
            })?,
        };
        let mut template = target.value["spec"]["template"].clone();
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove("pod-template-hash");
        }
        if found.data.at("/spec/template") == Some(&template) {
            return Err(DriveError::Refused(format!(
                "skipped rollback (current template already matches revision {to_revision})"
            )));
        }
        let mut annotations = found.metadata.annotations.unwrap_or_default();
        annotations.retain(|key, _| KEPT_BY_UNDO.contains(&key.as_str()));
        let theirs = target.value["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        for (key, value) in theirs.into_iter().filter(|(key, _)| !KEPT_BY_UNDO.contains(&key.as_str())) {
            annotations.insert(key, value.as_str().unwrap_or_default().to_owned());
        }
        let patch = json!([
            {"op": "replace", "path": "/spec/template", "value": template},
            {"op": "replace", "path": "/metadata/annotations", "value": annotations},
        ]);
        self.patch(&Target { kind: "deployment".into(), name: deployment.into() }, PatchKind::Json, &patch).await
    }

    async fn strategic(&self, deployment: &str, patch: Value) -> Result<(), DriveError> {
        let answer = self.deployments().patch(deployment, &PatchParams::default(), &Patch::Strategic(patch)).await?;
        self.wrote(Kind::Deployment, &answer);
        Ok(())
    }

    /// The API and the real name behind a target; `replicaset/rs2` is the second ReplicaSet to appear, and `pod/rs2.1` the first
    /// of its pods that is alive.
    fn resolve(&self, target: &Target) -> Result<(Api<DynamicObject>, String, Option<Kind>), DriveError> {
        let (group, kind) = match target.kind.as_str() {
            "deployment" => ("apps", "Deployment"),
            "replicaset" => ("apps", "ReplicaSet"),
            "statefulset" => ("apps", "StatefulSet"),
            "daemonset" => ("apps", "DaemonSet"),
            "pod" => ("", "Pod"),
            "configmap" => ("", "ConfigMap"),
            "secret" => ("", "Secret"),
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
        Ok((self.api(group, "v1", kind), name, watched(kind)))
    }

    /// The ReplicaSet behind `rs2`; `None` for a name of another form.
    fn nth_replica_set(&self, name: &str) -> Result<Option<Object>, DriveError> {
        if name.strip_prefix("rs").is_none_or(|number| number.parse::<usize>().is_err()) {
            return Ok(None);
        }
        let found = nth(&self.world.list(Kind::ReplicaSet, &self.namespace), name);
        found.map(Some).ok_or_else(|| DriveError::Impossible(format!("there is no ReplicaSet {name}")))
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

    fn note(&self, kind: Option<Kind>, object: &DynamicObject) {
        if let Some(kind) = kind {
            self.wrote(kind, object);
        }
    }
}

fn watched(kind: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|known| known.to_string() == kind)
}
