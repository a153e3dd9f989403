//! Pods that run for real: containers on a kubelet, and yet nothing that moves but by the case.
//!
//! The driver adds a readiness gate to every pod template. A pod of it is Ready only when its
//! containers run *and* the condition
//! [`GATE`] is True, and that condition is the case's to set. What the case cannot hold is the kubelet's own: containers start,
//! and deletions finish, when they do; settling waits for both.

use serde_json::{Value, json};

use super::{DriveError, Driver, PodOperation};
use crate::cluster::kind::Images;
use crate::observe::{Kind, Object, REAL_GATE as GATE};

/// Who moves the pods.
#[derive(Debug, Clone, Default)]
pub enum Stillness {
    /// The case alone: nodes without a kubelet.
    #[default]
    Held,
    /// A kubelet, as far as the case lets it.
    Real(std::sync::Arc<Images>),
}

impl Driver {
    /// Before an object is sent: its pod template gets the readiness gate, and its images are there
    /// on the node.
    pub(super) async fn make_real(&self, manifest: &mut Value) -> Result<(), DriveError> {
        let Stillness::Real(_) = &self.stillness else { return Ok(()) };
        if let Some(spec) = manifest.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
            let gates = spec.entry("readinessGates").or_insert_with(|| json!([]));
            if let Some(gates) = gates.as_array_mut() {
                gates.push(json!({"conditionType": GATE}));
            }
        }
        self.provide_images(manifest).await
    }

    /// Before a patch is sent: the images that it names are there on the node.
    pub(super) async fn provide_images(&self, patch: &Value) -> Result<(), DriveError> {
        let Stillness::Real(images) = &self.stillness else { return Ok(()) };
        for image in names(patch) {
            images.provide(&self.client, &image).await.map_err(|error| DriveError::Environment(error.to_string()))?;
        }
        Ok(())
    }

    /// Open or shut a real pod's gate; the kubelet does the rest.
    pub(super) async fn open_gate(&self, operation: PodOperation, pod: &Object, now: &str) -> Result<(), DriveError> {
        let open = match operation {
            PodOperation::Ready => "True",
            PodOperation::Unready => "False",
            PodOperation::Fail | PodOperation::Succeed | PodOperation::Terminate | PodOperation::Name => {
                return Err(DriveError::Impossible(format!("`{}` is for held pods; these are real", operation.word())));
            }
        };
        let status = json!({"status": {"conditions": [{"type": GATE, "status": open, "lastTransitionTime": now}]}});
        let api = self.api("v1", "Pod");
        let patch = kube::api::Patch::Strategic(status);
        let answer = api.patch_status(&pod.name, &kube::api::PatchParams::default(), &patch).await?;
        self.wrote(Kind::Pod, &answer);
        Ok(())
    }
}

/// Every image that an object or a patch names.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("image").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(names)).collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_wherever_they_stand() {
        let patch = json!({"spec": {"template": {"spec": {"initContainers": [{"image": "init:1"}],
            "containers": [{"name": "a", "image": "app:1"}, {"name": "b"}]}}}});
        assert_eq!(names(&patch), ["app:1", "init:1"]);
        assert_eq!(names(&json!([{"op": "replace", "path": "/x", "value": {"image": "app:2"}}])), ["app:2"]);
    }
}
