//! What nodes do unasked: take new pods and, where terminations are automatic, let deleted ones go.
//!
//! Runs beside a case. Nodes are objects that the harness makes as it needs them: one for each pod of the case by default
//! (so that crowding on nodes decides nothing), or those that the case names, in turn. They have no kubelet and no lease, and
//! say so by their name.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::json;

use super::node::finish;
use crate::case::model::Terminations;
use crate::observe::{Kind, Object, World};

/// The nodes that the harness has made on one cluster.
pub struct Nodes {
    client: kube::Client,
    made: Mutex<BTreeSet<String>>,
}

impl Nodes {
    /// None yet.
    pub fn new(client: kube::Client) -> Arc<Self> {
        Arc::new(Self { client, made: Mutex::default() })
    }

    /// Make a node unless it is there.
    async fn ensure(&self, name: &str) -> Result<(), kube::Error> {
        let made = || self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if made().contains(name) {
            return Ok(());
        }
        let node = json!({"metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "lockstep"}}});
        let node: Node = serde_json::from_value(node).expect("a literal of the right shape");
        match Api::all(self.client.clone()).create(&PostParams::default(), &node).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
        }
        made().insert(name.to_owned());
        Ok(())
    }
}

/// Attend to the namespace's pods until dropped.
pub async fn attend(
    world: Arc<World>,
    nodes: Arc<Nodes>,
    namespace: String,
    names: Vec<String>,
    terminations: Terminations,
) {
    let pods: Api<Pod> = Api::namespaced(nodes.client.clone(), &namespace);
    let resource = kube::api::ApiResource::erase::<Pod>(&());
    let dynamic: Api<DynamicObject> = Api::namespaced_with(nodes.client.clone(), &namespace, &resource);
    let (mut bound, mut finished) = (BTreeSet::new(), BTreeSet::new());
    let mut news = world.subscribe();
    loop {
        let mut list = world.list(Kind::Pod, &namespace);
        list.sort_by_key(|pod| pod.first);
        for pod in &list {
            let uid = pod.text("/metadata/uid").to_owned();
            if pod.alive() && pod.text("/spec/nodeName").is_empty() && !bound.contains(&uid) {
                let node = match names.len() {
                    0 => format!("lockstep-{}", bound.len() + 1),
                    some => format!("lockstep-{}", names[bound.len() % some]),
                };
                if bind(&nodes, &pods, pod, &node).await {
                    bound.insert(uid);
                }
            } else if pod.deleting()
                && terminations == Terminations::Auto
                && !finished.contains(&uid)
                && finish(&dynamic, pod).await.is_ok()
            {
                finished.insert(uid);
            }
        }
        // An attempt that failed is made again, with news or without.
        tokio::time::timeout(Duration::from_millis(500), news.changed()).await.ok();
    }
}

async fn bind(nodes: &Nodes, pods: &Api<Pod>, pod: &Object, node: &str) -> bool {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
    let done = async {
        nodes.ensure(node).await?;
        pods.create_subresource::<_, serde_json::Value>("binding", &pod.name, &PostParams::default(), &binding).await
    };
    match done.await {
        Ok(_) => true,
        // Deleted or bound in the meantime.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => true,
        Err(error) => {
            tracing::debug!(pod = pod.name, %error, "pod not bound; trying again");
            false
        }
    }
}
