//! A user's cluster from the first request to the last: whether its controllers under test are off,
//! if its controller manager is visible, and a tenancy, which ends with its last clone. The cluster
//! itself stays.
//!
//! The harness has the user's credentials, the subject an account that can write in the harness's
//! namespaces only. That the subject cannot change the user's objects is proved when the tenancy
//! begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use lockstep_support::fingerprint::fingerprint;

use super::kubeconfig::{self, ServerEndpoint};
use super::lease::ClusterLease;
use super::tenancy::{self, Tenancy, TenancyOptions};
use super::{KubeconfigOptions, ResolvedContext, SweepReport, TenancyError, pod_guard};
use crate::access::CONNECT_TIMEOUT;
use crate::backend::{ClusterFacts, Connect, Prove, Teardown};
use crate::builtin_controllers::{self, BuiltinControllerStatus};
use crate::error_chain::chain_once;
use crate::proxy::ForwardProxy;
use crate::user_dir::{FileLock, lock, make_private_dir, random_token, user_temp_dir, write_private_file};
use crate::{ClusterAccess, ClusterError, ClusterPlan, Credential, SiteName, programs};

/// A user's cluster, while the harness uses it.
#[derive(Debug, Clone)]
pub struct ExistingCluster {
    facts: ClusterFacts,
    occupancy: Arc<Occupancy>,
}

/// What only the process that uses the cluster holds.
#[derive(Debug)]
struct Occupancy {
    tenancy: Tenancy,
    /// The next harness on this machine waits for it.
    lock: FileLock,
}

impl ExistingCluster {
    /// Begins a tenancy: no other harness uses the cluster, nothing of an earlier run is left, and
    /// the subject has an account.
    ///
    /// # Errors
    /// No objects of the harness are left on the cluster in that case, as far as the cluster can be
    /// reached.
    pub(crate) async fn start(
        parent: &Path,
        plan: &ClusterPlan,
        options: &KubeconfigOptions,
    ) -> Result<Self, ClusterError> {
        let connection = ClusterConnection::open(parent, options).await?;
        let version = connect(&connection.client, options).await?;
        let controllers_confirmed_off = prove(&connection.client, &plan.without).await?;
        pod_guard::warn_about_daemon_sets(&connection.client).await;
        let lease = ClusterLease::acquire(&connection.client, &connection.holder_id).await?;
        let stay = TenancyOptions {
            under_test: &plan.without,
            controllers_confirmed_off,
            accept_unguarded_pods: options.accept_unguarded_pods,
        };
        let tenancy =
            Tenancy::begin(&connection.client, lease, &stay, &|token| connection.access(options, token)).await?;
        let facts = ClusterFacts {
            identity: Identity::new(SiteName::Kubeconfig, programs::APISERVER, version),
            access: connection.access(options, tenancy.subject_token().to_owned()),
            dir: connection.dir,
            programs: BTreeMap::new(),
            without: plan.without.clone(),
        };
        Ok(Self { facts, occupancy: Arc::new(Occupancy { tenancy, lock: connection.lock }) })
    }
}

/// Whether the controller manager's command line turns every controller under test off; false if it
/// is not visible.
///
/// # Errors
/// When one is on.
async fn prove(client: &kube::Client, without: &ControllerSet) -> Result<bool, ClusterError> {
    match builtin_controllers::inspect(client, without).await? {
        BuiltinControllerStatus::Off => Ok(true),
        BuiltinControllerStatus::Unseen => Ok(false),
        BuiltinControllerStatus::On { controller, pod, controllers } => {
            let controller = controller.to_string();
            Err(TenancyError::StockController { controller, pod, controllers }.into())
        }
    }
}

impl Prove for ExistingCluster {
    fn watches_nodes(&self) -> bool {
        true
    }

    /// If the controller manager's command line is not visible, it may be slow, or just changing
    /// its leader.
    fn quiet_period(&self) -> Duration {
        if self.occupancy.tenancy.controllers_confirmed_off() {
            Duration::from_millis(400)
        } else {
            Duration::from_secs(20)
        }
    }
}

/// The server's version, if the server answers this user.
async fn connect(client: &kube::Client, options: &KubeconfigOptions) -> Result<String, ClusterError> {
    let version = client.apiserver_version().await;
    Ok(version.map_err(|error| unreachable(options, &error))?.git_version)
}

fn unreachable(options: &KubeconfigOptions, error: &dyn std::error::Error) -> ClusterError {
    TenancyError::Unreachable { context: options.context.clone(), why: chain_once(error) }.into()
}

impl Connect for ExistingCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    async fn grant_namespace_access(&self, namespace: &str) -> Result<(), ClusterError> {
        self.occupancy.tenancy.grant_namespace_access(namespace).await
    }
}

impl Teardown for ExistingCluster {
    fn is_owned(&self) -> bool {
        false
    }

    fn removes_own_objects(&self) -> bool {
        true
    }

    async fn wait_until_lost(&self) -> String {
        let mut changes = self.occupancy.tenancy.loss();
        match changes.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    async fn end(self) {
        if let Some(Occupancy { tenancy, lock }) = Arc::into_inner(self.occupancy) {
            tenancy.end().await;
            // Only now: the next harness on this machine takes over this folder's lease at once.
            drop(lock);
        }
    }
}

/// Removes all objects of the harness from the cluster, and waits until they are gone.
///
/// # Errors
/// When another harness uses the cluster, or the cluster refuses a request.
pub async fn down(options: &KubeconfigOptions) -> Result<SweepReport, ClusterError> {
    let connection = ClusterConnection::open(&user_temp_dir()?, options).await?;
    let lease = ClusterLease::acquire(&connection.client, &connection.holder_id).await?;
    tenancy::release(&connection.client, lease).await
}

/// What is needed before the first request; another harness on this machine waits for the lock.
struct ClusterConnection {
    target: ServerEndpoint,
    ca_pem: String,
    proxy: Option<ForwardProxy>,
    client: kube::Client,
    dir: PathBuf,
    holder_id: String,
    lock: FileLock,
}

impl ClusterConnection {
    async fn open(parent: &Path, options: &KubeconfigOptions) -> Result<Self, ClusterError> {
        let config = kubeconfig::read(&options.files)?;
        let target = kubeconfig::resolve(&config, Some(&options.context))?;
        let ca_pem = target.authorities(&options.context)?;
        let connection = ResolvedContext::new(&config, Some(&options.context))?;
        let (client, proxy) = (connection.client(CONNECT_TIMEOUT)?, connection.proxy);
        let dir = parent.join(format!("own-{}", fingerprint(target.server.bytes())));
        make_private_dir(&dir)?;
        let lock = lock(dir.join("lock")).await?;
        let holder_id = holder_id(&dir.join("place"))?;
        Ok(Self { target, ca_pem, proxy, client, dir, holder_id, lock })
    }

    /// The access: the harness with the user's credentials, the subject with its token.
    fn access(&self, options: &KubeconfigOptions, subject_token: String) -> ClusterAccess {
        ClusterAccess {
            server: self.target.server.clone(),
            server_name: self.target.server_name.clone(),
            ca_pem: self.ca_pem.clone(),
            proxy: self.proxy.clone(),
            admin: Credential::Kubeconfig { files: options.files.clone(), context: options.context.clone() },
            subject_token,
        }
    }
}

/// The id of this folder in the lease. If we hold the folder's lock and the lease names this
/// folder, the previous holder has died.
fn holder_id(path: &Path) -> Result<String, ClusterError> {
    if let Some(id) = std::fs::read_to_string(path).ok().filter(|id| !id.is_empty()) {
        return Ok(id);
    }
    let mut name = random_token()?;
    name.truncate(16);
    write_private_file(path, name.as_bytes())?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_keeps_its_holder_id() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let name = holder_id(&one).unwrap();
        assert_eq!((holder_id(&one).unwrap(), name.len()), (name.clone(), 16));
        assert_ne!(holder_id(&two).unwrap(), name);
    }
}
