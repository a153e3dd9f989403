//! End: by the supervisor where the cluster was made for this run; else its accounts, and the
//! cluster stays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::tool::Tool;
use super::{Kind, KindError, NAME, Node, connect, prove};
use crate::cluster::keeper::Keeper;
use crate::cluster::lock::lock;
use crate::cluster::place::{make_private, of_user};
use crate::cluster::questions::End;
use crate::cluster::{ClusterError, accounts};
use crate::supervise::{ProcessId, Until};

impl End for Kind {
    fn belongs_here(&self) -> bool {
        self.keeper.as_ref().is_some_and(Keeper::is_own)
    }

    fn supervisor(&self) -> Option<ProcessId> {
        self.keeper.as_ref().map(Keeper::process)
    }

    fn detach(self, until: Until) -> Result<Self, ClusterError> {
        let keeper = self.keeper.map(|keeper| keeper.detach(until)).transpose()?;
        Ok(Self { keeper, ..self })
    }

    async fn end(self) {
        let Self { facts, keeper, alone, .. } = self;
        match (keeper, alone.and_then(Arc::into_inner)) {
            (Some(keeper), _alone) => keeper.end(&facts).await,
            // A cluster that stays keeps no account of this run's; the next makes its own.
            (None, Some(_alone)) => {
                if let Err(error) = accounts::dismiss(&facts.access).await {
                    tracing::warn!(
                        "the subject's account could not be removed, so its token ends by itself in a day: {error}"
                    );
                }
            }
            (None, None) => {}
        }
    }

    fn abandon(&self, patience: Duration) {
        if let Some(keeper) = &self.keeper {
            keeper.abandon(&self.facts, patience);
        }
    }
}

/// Delete the cluster of this name if it is one of ours. Says whether there was one.
///
/// # Errors
/// [`KindError::NameTaken`] for somebody else's.
pub async fn down(name: Option<&str>) -> Result<bool, ClusterError> {
    let name = name.unwrap_or(NAME);
    let tool = Tool::find().await?;
    if !tool.clusters().await?.iter().any(|found| found == name) {
        return Ok(false);
    }
    let client = connect::client(&tool.kubeconfig(name).await?)?;
    if prove::mark(&client).await?.is_none() {
        return Err(KindError::NameTaken { name: name.to_owned(), why: "was not made by lockstep" }.into());
    }
    let dir = of_user()?.join(format!("kind-{name}"));
    make_private(&dir)?;
    let _alone = lock(dir.join("lock")).await?;
    tool.delete(name).await?;
    std::fs::remove_dir_all(&dir).map_err(ClusterError::file(dir))?;
    Ok(true)
}

/// Keep the logs of a cluster's node; returns the folder, if that worked.
pub async fn keep_logs(node: &Node) -> Option<PathBuf> {
    Tool::find().await.ok()?.keep_logs(node.name.strip_suffix("-control-plane")?).await
}
