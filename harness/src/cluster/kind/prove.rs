//! Prove: the cluster was made from the wanted configuration, the controllers under test are off,
//! and its node is ready.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, ListParams, PostParams};

use super::{Kind, KindError};
use crate::clock;
use crate::cluster::ClusterError;
use crate::cluster::questions::Prove;
use crate::cluster::stock::{self, Stock};
use crate::controllers::Controllers;

/// kind is done before the kubelet has told the server about the control plane's own pods.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);

/// The ConfigMap in kube-system that says what a cluster was made from.
const MARK: &str = "lockstep";

/// The controllers under test are off, and a node is ready: its name.
pub(super) async fn prove(client: &kube::Client, without: &Controllers) -> Result<String, ClusterError> {
    controllers_off(client, without).await?;
    node_ready(client).await
}

/// A cluster that was there before is one of ours, and from this configuration and image.
pub(super) async fn origin(client: &kube::Client, name: &str, fingerprint: &str) -> Result<(), ClusterError> {
    let why = match mark(client).await? {
        Some(found) if found == fingerprint => return Ok(()),
        Some(_) => "was made from another configuration or node image",
        None => "was not made by lockstep",
    };
    Err(KindError::NameTaken { name: name.to_owned(), why }.into())
}

/// Read the controller manager's command line: no controller under test may be on.
async fn controllers_off(client: &kube::Client, without: &Controllers) -> Result<(), ClusterError> {
    let since = clock::instant();
    loop {
        match stock::look(client, without).await? {
            Stock::Off => return Ok(()),
            Stock::On { controller, pod, controllers } => {
                return Err(KindError::StockController { on: controller.to_string(), pod, controllers }.into());
            }
            Stock::Unseen if since.elapsed() > PATIENCE => {
                let (pod, controllers) = ("no kube-controller-manager".to_owned(), "?".to_owned());
                return Err(KindError::StockController { on: without.to_string(), pod, controllers }.into());
            }
            Stock::Unseen => clock::pause(LOOK).await,
        }
    }
}

/// The name of the node that pods can run on, once it is ready.
async fn node_ready(client: &kube::Client) -> Result<String, ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let since = clock::instant();
    loop {
        let list = nodes.list(&ListParams::default().labels("node-role.kubernetes.io/control-plane")).await;
        let list = list.map_err(ClusterError::request("listing the nodes"))?;
        let node = list.items.into_iter().next();
        let conditions = node.as_ref().and_then(|node| node.status.as_ref()?.conditions.as_ref());
        let ready = conditions.and_then(|list| list.iter().find(|condition| condition.type_ == "Ready"));
        if ready.is_some_and(|ready| ready.status == "True") {
            return Ok(node.and_then(|node| node.metadata.name).unwrap_or_default());
        }
        if since.elapsed() > PATIENCE {
            let why = ready.and_then(|ready| ready.message.clone());
            let node = node.and_then(|node| node.metadata.name).unwrap_or_default();
            let why = why.unwrap_or_else(|| "it says nothing".to_owned());
            return Err(KindError::Node { node, seconds: PATIENCE.as_secs(), why }.into());
        }
        clock::pause(LOOK).await;
    }
}

/// What the cluster says that it was made from.
pub(super) async fn mark(client: &kube::Client) -> Result<Option<String>, ClusterError> {
    let marks: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let mark = marks.get_opt(MARK).await.map_err(ClusterError::request("reading the cluster's mark"))?;
    Ok(mark.and_then(|mark| mark.data?.remove("fingerprint")))
}

/// Say what the cluster was made from.
pub(super) async fn leave_mark(client: &kube::Client, fingerprint: &str) -> Result<(), ClusterError> {
    let mark = serde_json::json!({"metadata": {"name": MARK}, "data": {"fingerprint": fingerprint}});
    let mark = serde_json::from_value(mark).expect("a literal of the right shape");
    let marks: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    marks.create(&PostParams::default(), &mark).await.map_err(ClusterError::request("marking the cluster"))?;
    Ok(())
}

impl Prove for Kind {
    fn is_alive(&self) -> bool {
        self.keeper.as_ref().is_none_or(|keeper| keeper.is_alive(&self.facts))
    }

    fn watches_nodes(&self) -> bool {
        true
    }
}
