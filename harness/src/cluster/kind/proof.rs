//! Whether a kind cluster is what it was to be: the controllers under test are off, and its node is ready.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};

use super::{ClusterError, KindError};
use crate::clock;
use crate::cluster::stock::{self, Stock};
use crate::controllers::Controllers;

/// kind is done before the kubelet has told the server about the control plane's own pods.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);

/// Read the controller manager's command line: no controller under test may be on.
pub(super) async fn controllers_off(client: &kube::Client, without: &Controllers) -> Result<(), ClusterError> {
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
pub(super) async fn node_ready(client: &kube::Client) -> Result<String, ClusterError> {
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
