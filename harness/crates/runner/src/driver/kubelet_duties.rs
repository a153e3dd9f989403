//! What kubelets do unasked: start new pods and, where terminations are automatic, finish
//! deletions.
//!
//! Runs beside a case. Unless the case binds its pods, held pods are bound to nodes of the
//! harness's own in turn, and real ones to the cluster's own node, whose kubelet also finishes
//! their deletions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, PostParams};
use lockstep_case::model::{Bindings, Terminations};
use serde_json::json;

use super::nodes::HarnessNodes;
use super::{DriveError, PodBackend, drive_error, pod_operations};
use crate::observe::{CachedObject, WatchCache};

/// What to do for the pods of a namespace.
pub(crate) struct KubeletDuties {
    /// The case's namespace.
    pub namespace: String,
    /// The names of the case's nodes; empty: a node for each pod.
    pub nodes: Vec<String>,
    /// Who binds pods to nodes.
    pub bindings: Bindings,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Whether a kubelet runs the pods.
    pub pod_backend: PodBackend,
}

/// Bind and finish the namespace's pods until dropped.
pub(crate) async fn act_as_kubelet(cache: Arc<WatchCache>, nodes: Arc<HarnessNodes>, duties: KubeletDuties) {
    let KubeletDuties { namespace, nodes: names, bindings, terminations, pod_backend } = duties;
    let real = match &pod_backend {
        PodBackend::Held => None,
        PodBackend::Real(images) => Some(images.node()),
    };
    let pods: Api<Pod> = Api::namespaced(nodes.client.clone(), &namespace);
    let resource = kube::api::ApiResource::erase::<Pod>(&());
    let dynamic: Api<DynamicObject> = Api::namespaced_with(nodes.client.clone(), &namespace, &resource);
    let (mut bound, mut finished) = (BTreeSet::new(), BTreeSet::new());
    let mut changes = cache.listen();
    loop {
        for pod in &cache.pods_awaiting_kubelet(&namespace) {
            let uid = pod.text("/metadata/uid").to_owned();
            let waits = pod.alive() && pod.text("/spec/nodeName").is_empty();
            if waits && bindings == Bindings::Auto && !bound.contains(&uid) {
                let done = match (real, names.len()) {
                    (Some(node), _) => bind(&pods, pod, node).await,
                    (None, 0) => bind_held(&nodes, &pods, pod, &format!("lockstep-{}", bound.len() + 1)).await,
                    (None, some) => {
                        let name = format!("lockstep-{}", names[bound.len() % some]);
                        bind_held(&nodes, &pods, pod, &name).await
                    }
                };
                match done {
                    Ok(()) => {
                        bound.insert(uid);
                    }
                    Err(error) => tracing::debug!(pod = pod.name, %error, "pod not bound; trying again"),
                }
            } else if pod.deleting()
                && real.is_none()
                && terminations == Terminations::Auto
                && !finished.contains(&uid)
                && pod_operations::finish_deletion(&dynamic, pod).await.is_ok()
            {
                finished.insert(uid);
            }
        }
        // A failed attempt is repeated, even without another change.
        tokio::time::timeout(Duration::from_millis(500), changes.changed()).await.ok();
    }
}

/// Bind a pod to a node of the harness's own, which is created if necessary.
pub(super) async fn bind_held(
    nodes: &Arc<HarnessNodes>,
    pods: &Api<Pod>,
    pod: &CachedObject,
    node: &str,
) -> Result<(), DriveError> {
    nodes.ensure(node).await?;
    bind(pods, pod, node).await
}

async fn bind(pods: &Api<Pod>, pod: &CachedObject, node: &str) -> Result<(), DriveError> {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
    let none = PostParams::default();
    match pods.create_subresource::<_, serde_json::Value>("binding", &pod.name, &none, &binding).await {
        Ok(_) => Ok(()),
        // The pod was deleted or bound in the meantime.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(drive_error(error)),
    }
}
