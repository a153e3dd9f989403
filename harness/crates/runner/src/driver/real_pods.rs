//! Pods that run for real: containers on a kubelet, whose readiness the case still decides.
//!
//! The driver adds a readiness gate to every pod template. Such a pod is Ready only when its
//! containers run *and* the condition [`GATE`] is True, which only the case sets. The kubelet alone
//! decides when containers start and deletions finish; settling waits for both.

use lockstep_cluster::kind::NodeImages;
use serde_json::{Value, json};

use super::{DriveError, Driver, PodOperation, drive_error};
use crate::observe::{CachedObject, REAL_GATE as GATE, WatchedKind};

/// Who runs the pods.
#[derive(Debug, Clone, Default)]
pub enum PodBackend {
    /// The case alone: nodes without a kubelet, and the case writes the pods' status.
    #[default]
    Held,
    /// A kubelet, with a readiness gate for the case.
    Real(std::sync::Arc<NodeImages>),
}

impl Driver {
    /// Before an object is sent: add the readiness gate to its pod template, and load its images on
    /// the node.
    pub(super) async fn make_real(&self, manifest: &mut Value) -> Result<(), DriveError> {
        let PodBackend::Real(_) = &self.pod_backend else { return Ok(()) };
        if let Some(spec) = manifest.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
            let gates = spec.entry("readinessGates").or_insert_with(|| json!([]));
            if let Some(gates) = gates.as_array_mut() {
                gates.push(json!({"conditionType": GATE}));
            }
        }
        self.provide_images(manifest).await
    }

    /// Before a patch is sent: load the images that it names on the node.
    pub(super) async fn provide_images(&self, patch: &Value) -> Result<(), DriveError> {
        let PodBackend::Real(images) = &self.pod_backend else { return Ok(()) };
        for image in names(patch) {
            images.provide(&self.client, &image).await.map_err(|error| DriveError::Environment(error.to_string()))?;
        }
        Ok(())
    }

    /// Open or close the readiness gate of a pod; the kubelet updates its readiness.
    pub(super) async fn open_gate(
        &self,
        operation: PodOperation,
        pod: &CachedObject,
        now: &str,
    ) -> Result<(), DriveError> {
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
        let answer =
            api.patch_status(&pod.name, &kube::api::PatchParams::default(), &patch).await.map_err(drive_error)?;
        self.record_write(WatchedKind::Pod, &answer);
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
    fn finds_images_at_any_depth() {
        let patch = json!({"spec": {"template": {"spec": {"initContainers": [{"image": "init:1"}],
            "containers": [{"name": "a", "image": "app:1"}, {"name": "b"}]}}}});
        assert_eq!(names(&patch), ["app:1", "init:1"]);
        assert_eq!(names(&json!([{"op": "replace", "path": "/x", "value": {"image": "app:2"}}])), ["app:2"]);
    }
}
