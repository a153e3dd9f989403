//! Start: make the cluster that is wished for, or take the one of that name that is there.

use std::path::Path;
use std::sync::Arc;

use super::config::Config;
use super::tool::Tool;
use super::{Kind, KindError, NAME, Node, Wish, connect, prove};
use crate::cluster::engine::Engine;
use crate::cluster::facts::Facts;
use crate::cluster::keeper::Keeper;
use crate::cluster::lock::lock;
use crate::cluster::place::make_private;
use crate::cluster::{ClusterError, Plan, programs};
use crate::supervise::{ProcessId, Supervisor};

/// Whether the programs are there and the engine runs; if not, what is missing.
///
/// # Errors
/// What is missing, and what to do.
pub fn available() -> Result<(), String> {
    let (_, engine) = Tool::on_path().map_err(|error| error.to_string())?;
    Engine::locate(&engine).map(drop).map_err(|error| error.to_string())
}

impl Kind {
    /// Make the cluster that is wished for, or take the one that is there.
    ///
    /// # Errors
    /// [`ClusterError::Kind`]; a cluster that was being made is gone then, and its logs are kept.
    pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan, wish: &Wish) -> Result<Self, ClusterError> {
        let name = wish.name.as_deref().unwrap_or(NAME);
        let config = Config::merge(wish.config.as_deref(), &plan.without)?;
        let image = wish.image.clone().unwrap_or_else(|| format!("kindest/node:{}", plan.version));
        let fingerprint = config.fingerprint(&image);
        let tool = Tool::find().await?;
        let dir = parent.join(format!("kind-{name}"));
        make_private(&dir)?;
        // Two runs that use one cluster by turns: the second must not find it half made, or lose it
        // on the way.
        let alone = lock(dir.join("lock")).await?;
        let found = tool.clusters().await?.iter().any(|found| found == name);
        let supervisor = if found { None } else { Some(tool.create(&dir, name, &image, &config).await?) };
        match (take(&tool, &dir, plan, name, &fingerprint, supervisor.as_ref()).await, supervisor) {
            (Ok((facts, node)), supervisor) => {
                // One that is to stay is nobody's to end, and the folder with its kubeconfig stays
                // with it.
                let supervisor = match supervisor {
                    Some(supervisor) if wish.keep => supervisor.keep().map(|()| None)?,
                    supervisor => supervisor,
                };
                Ok(Self { facts, node, keeper: supervisor.map(Keeper::own), alone: Some(Arc::new(alone)) })
            }
            (Err(error), Some(supervisor)) => {
                let logs = tool.keep_logs(name).await;
                supervisor.shutdown().await;
                Err(KindError::NotRight { name: name.to_owned(), why: error.to_string(), logs }.into())
            }
            (Err(error), None) => {
                if !programs::admin_kubeconfig(&dir).exists() {
                    // Never used: it holds nothing but the lock. Should it stay, it does no harm.
                    std::fs::remove_dir_all(&dir).ok();
                }
                Err(error)
            }
        }
    }

    /// One that another process started, or took.
    pub(in crate::cluster) fn attach(facts: Facts, node: Node, supervisor: Option<ProcessId>) -> Self {
        Self { facts, node, keeper: supervisor.map(Keeper::elsewhere), alone: None }
    }
}

/// Prove that the cluster is what it should be, and get ready to talk to it.
async fn take(
    tool: &Tool,
    dir: &Path,
    plan: &Plan,
    name: &str,
    fingerprint: &str,
    made_here: Option<&Supervisor>,
) -> Result<(Facts, Node), ClusterError> {
    let kubeconfig = tool.kubeconfig(name).await?;
    let client = connect::client(&kubeconfig)?;
    if made_here.is_none() {
        prove::origin(&client, name, fingerprint).await?;
    }
    connect::write_kubeconfig(dir, &kubeconfig)?;
    let node = prove::prove(&client, &plan.without).await?;
    if made_here.is_some() {
        prove::leave_mark(&client, fingerprint).await?;
    }
    let facts = connect::connect(&client, &kubeconfig, dir, &plan.without).await?;
    Ok((facts, Node { name: node, engine: tool.engine().to_owned() }))
}
