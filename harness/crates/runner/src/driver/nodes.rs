//! The harness's own nodes: objects without a kubelet. Pods are bound to them so that only the case
//! changes the pods.
//!
//! By default there is one for each pod of a case (so that crowding on nodes decides nothing), else
//! those that the case names. Where a node lifecycle controller runs, they are kept alive as a
//! kubelet would: Ready in their status, and a lease that is renewed every ten seconds. A taint
//! keeps the pods of other schedulers away, and as they lack the label `kubernetes.io/os`, no
//! DaemonSet of the cluster selects them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use lockstep_case::model::DriveError;
use lockstep_cluster::{INSTALLATION_LABEL, MANAGED_BY, MANAGER, installation, own_objects, repeat_while_unreachable};
use lockstep_support::clock;
use serde_json::json;
use tokio::task::AbortHandle;

use super::error::drive_error;

/// Where kubelets keep their leases.
const LEASES: &str = "kube-node-lease";
/// The same as a kubelet's: forty seconds, renewed after a quarter of them.
const LEASE: Duration = Duration::from_secs(40);

/// The nodes that the harness has created on one cluster.
pub struct HarnessNodes {
    pub(super) client: kube::Client,
    names: Mutex<BTreeSet<String>>,
    /// Whether a node lifecycle controller runs.
    watched: bool,
    renewal: Mutex<Option<AbortHandle>>,
}

impl HarnessNodes {
    /// No nodes yet. `watched`: a node lifecycle controller runs, so that nodes must be kept alive.
    pub fn new(client: kube::Client, watched: bool) -> Arc<Self> {
        Arc::new(Self { client, names: Mutex::default(), watched, renewal: Mutex::default() })
    }

    /// Create a node unless it exists.
    ///
    /// # Errors
    /// The server refuses, or a node of this name exists that is not the harness's own: pods bound
    /// to it would run.
    pub(super) async fn ensure(self: &Arc<Self>, name: &str) -> Result<(), DriveError> {
        if self.names().contains(name) {
            return Ok(());
        }
        let nodes = self.nodes();
        let mut labels = json!({MANAGED_BY: MANAGER});
        if self.watched {
            labels[INSTALLATION_LABEL] = installation().into();
        }
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": "lockstep/held", "effect": "NoSchedule"}]},
        });
        let node: DynamicObject = serde_json::from_value(node).expect("a literal of the right shape");
        if !is_created(nodes.create(&PostParams::default(), &node).await).map_err(drive_error)? {
            let there = nodes.get(name).await.map_err(drive_error)?.metadata.labels.unwrap_or_default();
            let ours = there.get(MANAGED_BY).is_some_and(|by| by == MANAGER);
            if !ours || self.watched && there.get(INSTALLATION_LABEL).is_none_or(|by| by != installation()) {
                return Err(DriveError::Environment(format!("node {name} is there and not the harness's own")));
            }
        }
        if self.watched {
            let now = clock::rfc3339();
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Held",
                "message": "this node has no kubelet: a case moves its pods", "lastHeartbeatTime": now, "lastTransitionTime": now}]}});
            nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await.map_err(drive_error)?;
            is_created(self.leases().create(&PostParams::default(), &lease(name)).await).map_err(drive_error)?;
            self.keep_alive();
        }
        self.names().insert(name.to_owned());
        Ok(())
    }

    /// Renew every lease from now on, until this is dropped.
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
        let names: Vec<_> = self.names().iter().cloned().collect();
        for name in names {
            let renewed = json!({"spec": {"renewTime": clock::rfc3339_micros()}});
            let renewed = self.leases().patch(&name, &PatchParams::default(), &Patch::Merge(renewed)).await;
            if let Err(error) = renewed {
                tracing::warn!(node = name, %error, "a held node's lease could not be renewed");
            }
        }
    }

    /// Delete all nodes of the harness's own and their leases, including those of a killed harness.
    pub(crate) async fn remove(&self) {
        if !self.watched {
            return; // the cluster goes as a whole, or stays for the next run
        }
        self.names().clear();
        let nodes = self.nodes();
        let (now, own) = (DeleteParams::default(), own_objects(true));
        if let Err(error) = repeat_while_unreachable(async || nodes.delete_collection(&now, &own).await).await {
            tracing::warn!(%error, "the harness's nodes could not be removed");
        }
        let leases = self.leases();
        if let Err(error) = repeat_while_unreachable(async || leases.delete_collection(&now, &own).await).await {
            tracing::warn!(%error, "the leases of the harness's nodes could not be removed");
        }
    }

    fn nodes(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &ApiResource::erase::<Node>(&()))
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), LEASES)
    }

    fn names(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HarnessNodes {
    fn drop(&mut self) {
        self.renewal.get_mut().unwrap_or_else(PoisonError::into_inner).iter().for_each(AbortHandle::abort);
    }
}

fn lease(node: &str) -> Lease {
    let labels = json!({MANAGED_BY: MANAGER, INSTALLATION_LABEL: installation()});
    let lease = json!({"metadata": {"name": node, "labels": labels}, "spec": {"holderIdentity": node,
        "leaseDurationSeconds": LEASE.as_secs(), "renewTime": clock::rfc3339_micros()}});
    serde_json::from_value(lease).expect("a literal of the right shape")
}

/// Whether the object was created; one that exists already is accepted.
fn is_created<T>(created: kube::Result<T>) -> Result<bool, kube::Error> {
    match created {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}
