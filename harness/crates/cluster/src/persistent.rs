//! The cluster that runs until it is stopped: `lockstep cluster up` and `down`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::backend::Handover;
use super::dispatch::boot_in;
use super::user_dir::{FileLock, lock, make_private_dir, user_temp_dir};
use super::{Cluster, ClusterError, ClusterPlan, SiteName};
use crate::supervise::DetachOptions;

/// The time limit for a supervisor to end everything: its grace period, plus a margin for a busy
/// machine.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The folder of a persistent cluster.
#[derive(Debug, Clone)]
pub struct PersistentCluster {
    folder: PathBuf,
}

/// The result of [`PersistentCluster::up`].
#[derive(Debug, Clone)]
pub struct StartedCluster {
    /// The running cluster.
    pub cluster: Cluster,
    /// Whether it was running before; its version may then differ from the requested one.
    pub was_running: bool,
}

impl PersistentCluster {
    /// This user's persistent cluster of this site on this machine.
    pub fn for_user(site: SiteName) -> Result<Self, ClusterError> {
        let folder = match site {
            SiteName::ControlPlane => "standing".to_owned(),
            site => format!("standing-{site}"),
        };
        Ok(Self::at(&user_temp_dir()?.join(folder)))
    }

    /// A persistent cluster in this folder, whose parent must exist.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Boots a cluster that outlives this process, unless one is running already.
    pub async fn up(&self, plan: &ClusterPlan) -> Result<StartedCluster, ClusterError> {
        loop {
            let _only_one = self.lock().await?;
            match self.load() {
                Some(cluster) if cluster.is_alive() => return Ok(StartedCluster { cluster, was_running: true }),
                // The sweep removes the lock file too, so start again.
                Some(stale) => self.sweep(Some(stale)).await?,
                None => {
                    let cluster = boot_in(&self.folder, plan).await?;
                    if let Some(handover) = cluster.handover() {
                        handover.save(&self.state())?;
                    }
                    let cluster = cluster.detach(DetachOptions { process: None, remove: self.folder.clone() })?;
                    return Ok(StartedCluster { cluster, was_running: false });
                }
            }
        }
    }

    /// Ends the cluster and removes everything. Returns whether there was one.
    pub async fn down(&self) -> Result<bool, ClusterError> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let _only_one = self.lock().await?;
        let found = self.load();
        let existed = found.is_some();
        self.sweep(found).await?;
        Ok(existed)
    }

    /// The cluster, if it is running; the remains of one that is not are removed.
    pub async fn running(&self) -> Result<Option<Cluster>, ClusterError> {
        if !self.folder.exists() {
            return Ok(None);
        }
        let _only_one = self.lock().await?;
        match self.load() {
            Some(cluster) if cluster.is_alive() => Ok(Some(cluster)),
            found => self.sweep(found).await.map(|()| None),
        }
    }

    /// Ends what is left of a cluster, through its supervisor if that still runs, and removes the
    /// folder with the lock file.
    async fn sweep(&self, cluster: Option<Cluster>) -> Result<(), ClusterError> {
        let folder = self.folder.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(cluster) = cluster {
                cluster.abandon(TIMEOUT);
            }
            match std::fs::remove_dir_all(&folder) {
                Err(error) if folder.exists() => Err(ClusterError::file(folder)(error)),
                _ => Ok(()),
            }
        })
        .await?
    }

    fn load(&self) -> Option<Cluster> {
        Handover::load(&self.state()).map(Cluster::from)
    }

    async fn lock(&self) -> Result<FileLock, ClusterError> {
        make_private_dir(&self.folder)?;
        lock(self.folder.join("lock")).await
    }

    fn state(&self) -> PathBuf {
        self.folder.join("cluster.json")
    }
}
