//! The interface of a running cluster that every backend implements: whether it is as required
//! (prove), how to reach it (connect), and how it ends (teardown). `start` is a function of each
//! backend, because its arguments differ.
//!
//! The defaults of the three traits suit a disposable cluster of the harness.
//!
//! [`ClusterFacts`] is the data that every backend has: plain data, identical in every process that
//! uses the cluster, and its file in the cluster's folder, by which another process attaches to the
//! cluster. It has no fields for what cannot be shared: a server in this process, a lock or a
//! supervisor that this process holds, the tenancy of a user's cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube_apiserver_sim::ApiServer;
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use serde::{Deserialize, Serialize};

use crate::kind::KindNode;
use crate::supervise::{DetachOptions, ProcessId};
use crate::user_dir::write_private_file;
use crate::{ClusterAccess, ClusterError};

/// Checks on the cluster's state.
pub(super) trait Prove {
    /// Whether all its processes still run.
    fn is_alive(&self) -> bool {
        true
    }

    /// Whether the cluster has a controller that watches for dead nodes.
    fn watches_nodes(&self) -> bool {
        false
    }

    /// How long the probe must see no other controller act before it concludes that there is none.
    fn quiet_period(&self) -> Duration {
        Duration::from_millis(400)
    }
}

/// Access to the cluster.
pub(super) trait Connect {
    /// Address, credentials, identity.
    fn facts(&self) -> &ClusterFacts;

    /// A client for the harness.
    async fn client(&self) -> Result<kube::Client, ClusterError> {
        self.facts().access.admin_client().await
    }

    /// The simulated server, if it runs in this process in virtual time.
    fn virtual_time_server(&self) -> Option<&ApiServer> {
        None
    }

    /// The node whose kubelet runs pods, if there is one.
    fn node(&self) -> Option<&KindNode> {
        None
    }

    /// Lets the subject write in one of the harness's namespaces.
    async fn grant_namespace_access(&self, _namespace: &str) -> Result<(), ClusterError> {
        Ok(())
    }
}

/// The end of the cluster, or of the harness's use of it.
pub(super) trait Teardown: Sized {
    /// Whether this process owns the cluster, which then ends with it.
    fn is_owned(&self) -> bool;

    /// The supervisor that ends it, if there is one.
    fn supervisor(&self) -> Option<ProcessId> {
        None
    }

    /// Whether [`Teardown::end`] removes all objects that the harness created on it.
    fn removes_own_objects(&self) -> bool {
        false
    }

    /// Returns the reason once the harness may not use the cluster any longer.
    async fn wait_until_lost(&self) -> String {
        std::future::pending().await
    }

    /// Lets it outlive this process, if it can.
    fn detach(self, _until: DetachOptions) -> Result<Self, ClusterError> {
        Ok(self)
    }

    /// Ends it if this process owns it, and waits until nothing is left.
    async fn end(self);

    /// Ends what another process has left of it. Blocks for at most `timeout`.
    fn abandon(&self, _timeout: Duration) {}
}

/// The data of a cluster. Its serialised form is a secret, as [`ClusterAccess`] is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterFacts {
    /// The name of the site, and the server's version.
    pub(super) identity: Identity,
    /// The server's address and credentials.
    pub(super) access: ClusterAccess,
    /// The cluster's folder: logs, kubeconfig, locks, data.
    pub(super) dir: PathBuf,
    /// Its processes on this machine by name: `etcd`, `kube-apiserver`, `kube-controller-manager`.
    /// For containers these are the processes that follow the logs and exit with the containers.
    pub(super) programs: BTreeMap<String, ProcessId>,
    /// The controllers that the cluster does not run, because the subject brings them.
    pub(super) without: ControllerSet,
}

impl ClusterFacts {
    /// Kills its programs. Their data is deleted, so a graceful end would only cost a second.
    pub(super) fn kill_programs(&self) {
        self.programs.values().for_each(ProcessId::kill_group);
    }
}

/// What another process needs to attach to a cluster. Its serialised form is a secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    pub(super) facts: ClusterFacts,
    pub(super) at: HandoverBackend,
}

/// The backends that another process can attach to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HandoverBackend {
    /// A simulated server in its own process.
    #[serde(rename = "served")]
    SimulatedProcess { supervisor: ProcessId },
    /// Local processes.
    Processes { supervisor: ProcessId },
    /// Containers.
    Containers { supervisor: ProcessId },
    /// A kind node; without a supervisor if the cluster existed before or is to be kept.
    Kind { node: KindNode, supervisor: Option<ProcessId> },
}

impl Handover {
    /// Writes the description to a file.
    pub(crate) fn save(&self, path: &Path) -> Result<(), ClusterError> {
        write_private_file(path, &serde_json::to_vec_pretty(self).expect("a handover is plain data"))
    }

    /// Reads a description; `None` if the file has no usable one.
    pub(crate) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}
