//! What nodes do unasked: take new pods, unless the case gives them their nodes, and, where
//! terminations are automatic, let deleted ones go.
//!
//! Runs beside a case. Held pods go to nodes of the harness's own, by turns; real ones to the
//! cluster's own node, whose kubelet also lets them go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::json;

use super::nodes::Nodes;
use super::{DriveError, Stillness, node};
use crate::case::model::{Bindings, Terminations};
use crate::observe::{Object, World};

/// Whose pods to attend to, and how.
pub struct Charge {
    /// The case's namespace.
    pub namespace: String,
    /// The names that the case gives its nodes; empty: a node for each pod.
    pub nodes: Vec<String>,
    /// Who gives pods their nodes.
    pub bindings: Bindings,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Who moves the pods.
    pub stillness: Stillness,
}

/// Attend to the namespace's pods until dropped.
pub async fn attend(world: Arc<World>, nodes: Arc<Nodes>, charge: Charge) {
    let Charge { namespace, nodes: names, bindings, terminations, stillness } = charge;
    let real = match &stillness {
        Stillness::Held => None,
        Stillness::Real(images) => Some(images.node()),
    };
    let pods: Api<Pod> = Api::namespaced(nodes.client.clone(), &namespace);
    let resource = kube::api::ApiResource::erase::<Pod>(&());
    let dynamic: Api<DynamicObject> = Api::namespaced_with(nodes.client.clone(), &namespace, &resource);
    let (mut bound, mut finished) = (BTreeSet::new(), BTreeSet::new());
    let mut changes = world.listen();
    loop {
        for pod in &world.restless_pods(&namespace) {
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
                && node::finish(&dynamic, pod).await.is_ok()
            {
                finished.insert(uid);
            }
        }
        // An attempt that failed is made again, with news or without.
        tokio::time::timeout(Duration::from_millis(500), changes.changed()).await.ok();
    }
}

/// Bind a pod to a node of the harness's, made if need be.
pub(super) async fn bind_held(nodes: &Arc<Nodes>, pods: &Api<Pod>, pod: &Object, node: &str) -> Result<(), DriveError> {
    nodes.ensure(node).await?;
    bind(pods, pod, node).await
}

async fn bind(pods: &Api<Pod>, pod: &Object, node: &str) -> Result<(), DriveError> {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
    let none = PostParams::default();
    match pods.create_subresource::<_, serde_json::Value>("binding", &pod.name, &none, &binding).await {
        Ok(_) => Ok(()),
        // Deleted or bound in the meantime.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
