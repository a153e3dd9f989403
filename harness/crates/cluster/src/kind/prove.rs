//! Prove: the cluster has the required configuration, the controllers under test are off, and its
//! node is ready.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, ListParams, PostParams};
use lockstep_recording::controllers::ControllerSet;
use lockstep_support::clock;

use super::{KindCluster, KindError};
use crate::ClusterError;
use crate::backend::Prove;
use crate::builtin_controllers::{self, BuiltinControllerStatus};

/// kind finishes before the kubelet has reported the control plane's pods to the server.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The ConfigMap in kube-system that stores the cluster's fingerprint.
const FINGERPRINT_CONFIG_MAP: &str = "lockstep";

/// Checks that the controllers under test are off, and waits for a ready node; returns its name.
pub(super) async fn prove(client: &kube::Client, without: &ControllerSet) -> Result<String, ClusterError> {
    check_controllers_off(client, without).await?;
    wait_until_node_ready(client).await
}

/// Checks that lockstep created an existing cluster, from this configuration and image.
pub(super) async fn check_origin(client: &kube::Client, name: &str, fingerprint: &str) -> Result<(), ClusterError> {
    let why = match read_fingerprint(client).await? {
        Some(found) if found == fingerprint => return Ok(()),
        Some(_) => "was made from another configuration or node image",
        None => "was not made by lockstep",
    };
    Err(KindError::NameTaken { name: name.to_owned(), why }.into())
}

/// Checks in the controller manager's command line that no controller under test is on.
async fn check_controllers_off(client: &kube::Client, without: &ControllerSet) -> Result<(), ClusterError> {
    let since = clock::instant();
    loop {
        match builtin_controllers::inspect(client, without).await? {
            BuiltinControllerStatus::Off => return Ok(()),
            BuiltinControllerStatus::On { controller, pod, controllers } => {
                return Err(KindError::StockController { on: controller.to_string(), pod, controllers }.into());
            }
            BuiltinControllerStatus::Unseen if since.elapsed() > TIMEOUT => {
                let (pod, controllers) = ("no kube-controller-manager".to_owned(), "?".to_owned());
                return Err(KindError::StockController { on: without.to_string(), pod, controllers }.into());
            }
            BuiltinControllerStatus::Unseen => clock::pause(POLL_INTERVAL).await,
        }
    }
}

/// Waits until the node that pods can run on is ready; returns its name.
async fn wait_until_node_ready(client: &kube::Client) -> Result<String, ClusterError> {
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
        if since.elapsed() > TIMEOUT {
            let why = ready.and_then(|ready| ready.message.clone());
            let node = node.and_then(|node| node.metadata.name).unwrap_or_default();
            let why = why.unwrap_or_else(|| "it says nothing".to_owned());
            return Err(KindError::Node { node, seconds: TIMEOUT.as_secs(), why }.into());
        }
        clock::pause(POLL_INTERVAL).await;
    }
}

/// Reads the cluster's fingerprint.
pub(super) async fn read_fingerprint(client: &kube::Client) -> Result<Option<String>, ClusterError> {
    let marks: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let mark =
        marks.get_opt(FINGERPRINT_CONFIG_MAP).await.map_err(ClusterError::request("reading the cluster's mark"))?;
    Ok(mark.and_then(|mark| mark.data?.remove("fingerprint")))
}

/// Stores the cluster's fingerprint.
pub(super) async fn write_fingerprint(client: &kube::Client, fingerprint: &str) -> Result<(), ClusterError> {
    let mark = serde_json::json!({"metadata": {"name": FINGERPRINT_CONFIG_MAP}, "data": {"fingerprint": fingerprint}});
    let mark = serde_json::from_value(mark).expect("a literal of the right shape");
    let marks: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    marks.create(&PostParams::default(), &mark).await.map_err(ClusterError::request("marking the cluster"))?;
    Ok(())
}

impl Prove for KindCluster {
    fn is_alive(&self) -> bool {
        self.supervisor.as_ref().is_none_or(|supervisor| supervisor.is_alive(&self.facts))
    }

    fn watches_nodes(&self) -> bool {
        true
    }
}
