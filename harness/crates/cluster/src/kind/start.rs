//! Start: creates the requested cluster, or uses the existing one of that name.

use std::path::Path;
use std::sync::Arc;

use super::config::KindConfig;
use super::tool::KindTool;
use super::{DEFAULT_NAME, KindCluster, KindError, KindNode, KindOptions, connect, prove};
use crate::engine::Engine;
use crate::facts::ClusterFacts;
use crate::lock::lock;
use crate::supervise::{ProcessId, Supervisor};
use crate::supervisor_handle::SupervisorHandle;
use crate::user_dir::make_private_dir;
use crate::{ClusterError, ClusterPlan, programs};

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
    let client = connect::client(&kubeconfig)?;
    if supervisor.is_none() {
        prove::check_origin(&client, name, fingerprint).await?;
    }
    connect::write_kubeconfig(dir, &kubeconfig)?;
    let node = prove::prove(&client, &plan.without).await?;
    if supervisor.is_some() {
        prove::write_fingerprint(&client, fingerprint).await?;
    }
    let facts = connect::connect(&client, &kubeconfig, dir, &plan.without).await?;
    Ok((facts, KindNode { name: node, engine: tool.engine().to_owned() }))
}
