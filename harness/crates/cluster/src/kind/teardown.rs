//! Teardown: the supervisor deletes a cluster that was created for this run. On any other, the
//! accounts are deleted and the cluster stays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::tool::KindTool;
use super::{DEFAULT_NAME, KindCluster, KindError, KindNode, connect, prove};
use crate::backend::Teardown;
use crate::lock::lock;
use crate::supervise::{DetachOptions, ProcessId};
use crate::supervisor_handle::SupervisorHandle;
use crate::user_dir::{make_private_dir, user_temp_dir};
use crate::{ClusterError, accounts};

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
    let client = connect::client(&tool.kubeconfig(name).await?)?;
    if prove::read_fingerprint(&client).await?.is_none() {
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
