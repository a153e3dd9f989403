//! A kind cluster from start to end.
//!
//! * Start: creates the requested cluster, or uses the existing one of that name.
//! * Prove: it has the required configuration, the controllers under test are off, and its node is
//!   ready.
//! * Connect: with two service accounts, which are created with kind's kubeconfig.
//! * Teardown: the supervisor deletes a cluster that was created for this run. On any other, the
//!   accounts are deleted and the cluster stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams};
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use lockstep_support::clock;

use super::config::KindConfig;
use super::tool::KindTool;
use super::{KindError, KindNode, KindOptions};
use crate::access::client_from_kubeconfig;
use crate::backend::{ClusterFacts, Connect, Prove, Teardown};
use crate::builtin_controllers::{self, BuiltinControllerStatus};
use crate::engine::Engine;
use crate::supervise::{DetachOptions, ProcessId, Supervisor};
use crate::supervised_cluster::SupervisorHandle;
use crate::user_dir::{FileLock, lock, make_private_dir, user_temp_dir, write_private_file};
use crate::{ClusterError, ClusterPlan, SiteName, accounts, programs};

/// The name of a cluster if the user gives none.
const DEFAULT_NAME: &str = "lockstep";
/// kind finishes before the kubelet has reported the control plane's pods to the server.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The ConfigMap in kube-system that stores the cluster's fingerprint.
const FINGERPRINT_CONFIG_MAP: &str = "lockstep";

/// A kind cluster.
#[derive(Debug, Clone)]
pub struct KindCluster {
    facts: ClusterFacts,
    node: KindNode,
    /// `None` if the cluster existed before, or is to be kept.
    supervisor: Option<SupervisorHandle>,
    /// Held by the process that uses the cluster, so that others wait; not by processes that attach
    /// to it.
    lock: Option<Arc<FileLock>>,
}

/// Whether the programs are installed and the engine runs.
///
/// # Errors
/// What is missing, with a remedy.
pub(crate) fn available() -> Result<(), String> {
    let (_, engine) = KindTool::find_on_path().map_err(|error| error.to_string())?;
    Engine::locate(&engine).map(drop).map_err(|error| error.to_string())
}

impl KindCluster {
    /// Creates the requested cluster, or uses the existing one of that name.
    ///
    /// # Errors
    /// [`ClusterError::Kind`]; a partly created cluster is removed in that case, and its logs are
    /// kept.
    pub(crate) async fn start(parent: &Path, plan: &ClusterPlan, options: &KindOptions) -> Result<Self, ClusterError> {
        let name = options.name.as_deref().unwrap_or(DEFAULT_NAME);
        let config = KindConfig::merge(options.config.as_deref(), &plan.without)?;
        let image = options.image.clone().unwrap_or_else(|| format!("kindest/node:{}", plan.version));
        let fingerprint = config.fingerprint(&image);
        let tool = KindTool::find().await?;
        let dir = parent.join(format!("kind-{name}"));
        make_private_dir(&dir)?;
        // Runs that use the same cluster take turns: the second one must not find it half created,
        // or lose it in between.
        let lock = lock(dir.join("lock")).await?;
        let found = tool.clusters().await?.iter().any(|found| found == name);
        let supervisor = if found { None } else { Some(tool.create(&dir, name, &image, &config).await?) };
        match (prepare(&tool, &dir, plan, name, &fingerprint, supervisor.as_ref()).await, supervisor) {
            (Ok((facts, node)), supervisor) => {
                // A cluster that is to be kept has no supervisor, and its folder with the
                // kubeconfig stays.
                let supervisor = match supervisor {
                    Some(supervisor) if options.keep => supervisor.keep().map(|()| None)?,
                    supervisor => supervisor,
                };
                Ok(Self {
                    facts,
                    node,
                    supervisor: supervisor.map(SupervisorHandle::owned),
                    lock: Some(Arc::new(lock)),
                })
            }
            (Err(error), Some(supervisor)) => {
                let logs = tool.keep_logs(name).await;
                supervisor.shutdown().await;
                Err(KindError::Unusable { name: name.to_owned(), why: error.to_string(), logs }.into())
            }
            (Err(error), None) => {
                if !programs::admin_kubeconfig(&dir).exists() {
                    // The folder was never used and has only the lock. If removing it fails, it
                    // does no harm.
                    std::fs::remove_dir_all(&dir).ok();
                }
                Err(error)
            }
        }
    }

    /// A cluster that another process created or used.
    pub(crate) fn attach(facts: ClusterFacts, node: KindNode, supervisor: Option<ProcessId>) -> Self {
        Self { facts, node, supervisor: supervisor.map(SupervisorHandle::remote), lock: None }
    }
}

/// Checks the cluster, and connects to it.
async fn prepare(
    tool: &KindTool,
    dir: &Path,
    plan: &ClusterPlan,
    name: &str,
    fingerprint: &str,
    supervisor: Option<&Supervisor>,
) -> Result<(ClusterFacts, KindNode), ClusterError> {
    let kubeconfig = tool.kubeconfig(name).await?;
    let client = client_from_kubeconfig(&kubeconfig)?;
    if supervisor.is_none() {
        check_origin(&client, name, fingerprint).await?;
    }
    write_kubeconfig(dir, &kubeconfig)?;
    let node = prove(&client, &plan.without).await?;
    if supervisor.is_some() {
        write_fingerprint(&client, fingerprint).await?;
    }
    let facts = connect(&client, &kubeconfig, dir, &plan.without).await?;
    Ok((facts, KindNode { name: node, engine: tool.engine().to_owned() }))
}

/// Checks that the controllers under test are off, and waits for a ready node; returns its name.
async fn prove(client: &kube::Client, without: &ControllerSet) -> Result<String, ClusterError> {
    check_controllers_off(client, without).await?;
    wait_until_node_ready(client).await
}

/// Checks that lockstep created an existing cluster, from this configuration and image.
async fn check_origin(client: &kube::Client, name: &str, fingerprint: &str) -> Result<(), ClusterError> {
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
    let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<Node>(&()));
    let since = clock::instant();
    loop {
        let list = nodes.list(&ListParams::default().labels("node-role.kubernetes.io/control-plane")).await;
        let list = list.map_err(ClusterError::request("listing the nodes"))?;
        let node = list.items.into_iter().next();
        let conditions = node.as_ref().and_then(|node| node.data.pointer("/status/conditions")?.as_array());
        let ready = conditions.and_then(|list| list.iter().find(|condition| condition["type"] == "Ready"));
        if ready.is_some_and(|ready| ready["status"] == "True") {
            return Ok(node.and_then(|node| node.metadata.name).unwrap_or_default());
        }
        if since.elapsed() > TIMEOUT {
            let why = ready.and_then(|ready| ready["message"].as_str()).unwrap_or("it says nothing").to_owned();
            let node = node.and_then(|node| node.metadata.name).unwrap_or_default();
            return Err(KindError::Node { node, seconds: TIMEOUT.as_secs(), why }.into());
        }
        clock::pause(POLL_INTERVAL).await;
    }
}

async fn read_fingerprint(client: &kube::Client) -> Result<Option<String>, ClusterError> {
    let marks: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let mark =
        marks.get_opt(FINGERPRINT_CONFIG_MAP).await.map_err(ClusterError::request("reading the cluster's mark"))?;
    Ok(mark.and_then(|mark| mark.data?.remove("fingerprint")))
}

/// Stores the cluster's fingerprint.
async fn write_fingerprint(client: &kube::Client, fingerprint: &str) -> Result<(), ClusterError> {
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

/// Writes the kubeconfig into the cluster's folder, for kubectl.
fn write_kubeconfig(dir: &Path, kubeconfig: &str) -> Result<(), ClusterError> {
    write_private_file(&programs::admin_kubeconfig(dir), kubeconfig.as_bytes())
}

/// Asks for the server's version and creates the accounts.
async fn connect(
    client: &kube::Client,
    kubeconfig: &str,
    dir: &Path,
    without: &ControllerSet,
) -> Result<ClusterFacts, ClusterError> {
    let version = client.apiserver_version().await.map_err(ClusterError::request("asking for the version"))?;
    Ok(ClusterFacts {
        identity: Identity::new(SiteName::Kind, programs::APISERVER, version.git_version),
        access: accounts::create_accounts(client, kubeconfig).await?,
        dir: dir.to_owned(),
        programs: BTreeMap::new(),
        without: without.clone(),
    })
}

impl Connect for KindCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    fn node(&self) -> Option<&KindNode> {
        Some(&self.node)
    }
}

impl Teardown for KindCluster {
    fn is_owned(&self) -> bool {
        self.supervisor.as_ref().is_some_and(SupervisorHandle::is_owned)
    }

    fn supervisor(&self) -> Option<ProcessId> {
        self.supervisor.as_ref().map(SupervisorHandle::process)
    }

    fn detach(self, until: DetachOptions) -> Result<Self, ClusterError> {
        let supervisor = self.supervisor.map(|supervisor| supervisor.detach(until)).transpose()?;
        Ok(Self { supervisor, ..self })
    }

    async fn end(self) {
        let Self { facts, supervisor, lock, .. } = self;
        match (supervisor, lock.and_then(Arc::into_inner)) {
            (Some(supervisor), _lock) => supervisor.end(&facts).await,
            // A cluster that stays keeps no account of this run; the next run creates its own.
            (None, Some(_lock)) => {
                if let Err(error) = accounts::delete_accounts(&facts.access).await {
                    tracing::warn!(
                        "the subject's account could not be removed, so its token ends by itself in a day: {error}"
                    );
                }
            }
            (None, None) => {}
        }
    }

    fn abandon(&self, timeout: Duration) {
        if let Some(supervisor) = &self.supervisor {
            supervisor.abandon(&self.facts, timeout);
        }
    }
}

/// Deletes the cluster of this name if lockstep created it. Returns whether it existed.
///
/// # Errors
/// [`KindError::NameTaken`] if lockstep did not create the cluster.
pub async fn down(name: Option<&str>) -> Result<bool, ClusterError> {
    let name = name.unwrap_or(DEFAULT_NAME);
    let tool = KindTool::find().await?;
    if !tool.clusters().await?.iter().any(|found| found == name) {
        return Ok(false);
    }
    let client = client_from_kubeconfig(&tool.kubeconfig(name).await?)?;
    if read_fingerprint(&client).await?.is_none() {
        return Err(KindError::NameTaken { name: name.to_owned(), why: "was not made by lockstep" }.into());
    }
    let dir = user_temp_dir()?.join(format!("kind-{name}"));
    make_private_dir(&dir)?;
    let _lock = lock(dir.join("lock")).await?;
    tool.delete(name).await?;
    std::fs::remove_dir_all(&dir).map_err(ClusterError::file(dir))?;
    Ok(true)
}

/// Saves the logs of a cluster's node; returns their folder, if that worked.
pub(crate) async fn keep_logs(node: &KindNode) -> Option<PathBuf> {
    KindTool::find().await.ok()?.keep_logs(node.name.strip_suffix("-control-plane")?).await
}
