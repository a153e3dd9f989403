//! The cluster that stands until it is told to go: `lockstep cluster up` and `down`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::boot::boot_in;
use super::handover::Handover;
use super::lock::{Guard, lock};
use super::place::{make_private, of_user};
use super::{Cluster, ClusterError, Plan, SiteName};
use crate::supervise::Until;

/// How long a supervisor may take to end everything: its grace, and what a busy machine adds.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where a standing cluster is kept.
#[derive(Debug, Clone)]
pub struct Standing {
    folder: PathBuf,
}

/// What [`Standing::up`] came to.
#[derive(Debug, Clone)]
pub struct Raised {
    /// The cluster that stands now.
    pub cluster: Cluster,
    /// Whether it stood before; it may then be of another version than was asked for.
    pub already: bool,
}

impl Standing {
    /// The one of this site that this user has on this machine.
    pub fn of_user(site: SiteName) -> Result<Self, ClusterError> {
        let folder = match site {
            SiteName::ControlPlane => "standing".to_owned(),
            site => format!("standing-{site}"),
        };
        Ok(Self::at(&of_user()?.join(folder)))
    }

    /// Another one, kept in this folder, which need not exist but whose parent must.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Boot a cluster that outlives this process, unless one stands already.
    pub async fn up(&self, plan: &Plan) -> Result<Raised, ClusterError> {
        loop {
            let _only_one = self.lock().await?;
            match self.found() {
                Some(cluster) if cluster.is_alive() => return Ok(Raised { cluster, already: true }),
                // That takes the lock's file with it: once more from the start.
                Some(stale) => self.sweep(Some(stale)).await?,
                None => {
                    let cluster = boot_in(&self.folder, plan).await?;
                    if let Some(handover) = cluster.hand_over() {
                        handover.save(&self.state())?;
                    }
                    let cluster = cluster.detach(Until { gone: None, remove: self.folder.clone() })?;
                    return Ok(Raised { cluster, already: false });
                }
            }
        }
    }

    /// End the cluster and leave nothing. Says whether there was one.
    pub async fn down(&self) -> Result<bool, ClusterError> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let _only_one = self.lock().await?;
        let found = self.found();
        let stood = found.is_some();
        self.sweep(found).await?;
        Ok(stood)
    }

    /// The cluster, if it is really there; what is left of one that is not is removed.
    pub async fn running(&self) -> Result<Option<Cluster>, ClusterError> {
        if !self.folder.exists() {
            return Ok(None);
        }
        let _only_one = self.lock().await?;
        match self.found() {
            Some(cluster) if cluster.is_alive() => Ok(Some(cluster)),
            found => self.sweep(found).await.map(|()| None),
        }
    }

    /// End what is left of a cluster, by its supervisor if that still lives, and remove the folder
    /// with the lock's file in it.
    async fn sweep(&self, found: Option<Cluster>) -> Result<(), ClusterError> {
        let folder = self.folder.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(cluster) = found {
                cluster.abandon(PATIENCE);
            }
            match std::fs::remove_dir_all(&folder) {
                Err(error) if folder.exists() => Err(ClusterError::file(folder)(error)),
                _ => Ok(()),
            }
        })
        .await?
    }

    fn found(&self) -> Option<Cluster> {
        Handover::load(&self.state()).map(Cluster::from)
    }

    async fn lock(&self) -> Result<Guard, ClusterError> {
        make_private(&self.folder)?;
        lock(self.folder.join("lock")).await
    }

    fn state(&self) -> PathBuf {
        self.folder.join("cluster.json")
    }
}
