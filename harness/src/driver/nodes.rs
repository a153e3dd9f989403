//! Nodes of the harness's own: objects without a kubelet, which pods are bound to so that nothing
//! moves them but the case.
//!
//! One for each pod of a case by default (so that crowding on nodes decides nothing), or those that
//! the case names. Where a node lifecycle controller watches, they are kept alive as a kubelet
//! would: Ready in their status, and a lease renewed every ten seconds. A taint keeps every
//! scheduler's pods away, and without the label `kubernetes.io/os` no DaemonSet of a cluster's own
//! wants to be there.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::task::AbortHandle;

use super::DriveError;
use crate::clock;
use crate::cluster::{INSTALLATION, MANAGER, OURS, installation, ours};

/// Where kubelets keep their leases.
const LEASES: &str = "kube-node-lease";
/// As a kubelet's: forty seconds, renewed after a quarter of them.
const LEASE: Duration = Duration::from_secs(40);

/// The nodes that the harness has made on one cluster.
pub struct Nodes {
    pub(super) client: kube::Client,
    made: Mutex<BTreeSet<String>>,
    /// Whether somebody watches for dead nodes.
    watched: bool,
    renewal: Mutex<Option<AbortHandle>>,
}

impl Nodes {
    /// None yet. `watched`: a node lifecycle controller runs, so that nodes must show signs of
    /// life.
    pub fn new(client: kube::Client, watched: bool) -> Arc<Self> {
        Arc::new(Self { client, made: Mutex::default(), watched, renewal: Mutex::default() })
    }

    /// Make a node unless it is there.
    ///
    /// # Errors
    /// When the server refuses, or somebody else's node has this name: pods bound to that would
    /// run.
    pub(super) async fn ensure(self: &Arc<Self>, name: &str) -> Result<(), DriveError> {
        if self.made().contains(name) {
            return Ok(());
        }
        let nodes: Api<Node> = Api::all(self.client.clone());
        let mut labels = json!({OURS: MANAGER});
        if self.watched {
            labels[INSTALLATION] = installation().into();
        }
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": "lockstep/held", "effect": "NoSchedule"}]},
        });
        let node: Node = serde_json::from_value(node).expect("a literal of the right shape");
        if !there(nodes.create(&PostParams::default(), &node).await)? {
            let there = nodes.get(name).await?.metadata.labels.unwrap_or_default();
            let ours = there.get(OURS).is_some_and(|by| by == MANAGER);
            if !ours || self.watched && there.get(INSTALLATION).is_none_or(|by| by != installation()) {
                return Err(DriveError::Environment(format!("node {name} is there and not the harness's own")));
            }
        }
        if self.watched {
            let now = clock::rfc3339();
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Held",
                "message": "this node has no kubelet: a case moves its pods", "lastHeartbeatTime": now, "lastTransitionTime": now}]}});
            nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await?;
            there(self.leases().create(&PostParams::default(), &lease(name)).await)?;
            self.keep_alive();
        }
        self.made().insert(name.to_owned());
        Ok(())
    }

    /// Renew every lease from now on, for as long as anybody holds this.
    fn keep_alive(self: &Arc<Self>) {
        let mut renewal = self.renewal.lock().unwrap_or_else(PoisonError::into_inner);
        if renewal.is_some() {
            return;
        }
        let weak = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            loop {
                clock::pause(LEASE / 4).await;
                let Some(nodes) = weak.upgrade() else { return };
                nodes.renew().await;
            }
        });
        *renewal = Some(task.abort_handle());
    }

    async fn renew(&self) {
        let names: Vec<_> = self.made().iter().cloned().collect();
        for name in names {
            let renewed = json!({"spec": {"renewTime": clock::rfc3339_micros()}});
            let renewed = self.leases().patch(&name, &PatchParams::default(), &Patch::Merge(renewed)).await;
            if let Err(error) = renewed {
                tracing::warn!(node = name, %error, "a held node's lease could not be renewed");
            }
        }
    }

    /// Remove every node of the harness's, those of one that was killed too, and their leases.
    pub async fn remove(&self) {
        if !self.watched {
            return; // the cluster goes as a whole, or stays for the next run
        }
        self.made().clear();
        let nodes: Api<Node> = Api::all(self.client.clone());
        if let Err(error) = nodes.delete_collection(&DeleteParams::default(), &ours(true)).await {
            tracing::warn!(%error, "the harness's nodes could not be removed");
        }
        if let Err(error) = self.leases().delete_collection(&DeleteParams::default(), &ours(true)).await {
            tracing::warn!(%error, "the leases of the harness's nodes could not be removed");
        }
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), LEASES)
    }

    fn made(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.renewal.get_mut().unwrap_or_else(PoisonError::into_inner).iter().for_each(AbortHandle::abort);
    }
}

fn lease(node: &str) -> Lease {
    let labels = json!({OURS: MANAGER, INSTALLATION: installation()});
    let lease = json!({"metadata": {"name": node, "labels": labels}, "spec": {"holderIdentity": node,
        "leaseDurationSeconds": LEASE.as_secs(), "renewTime": clock::rfc3339_micros()}});
    serde_json::from_value(lease).expect("a literal of the right shape")
}

/// Whether it was made now; one that is there already may do.
fn there<T>(created: kube::Result<T>) -> Result<bool, kube::Error> {
    match created {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}
