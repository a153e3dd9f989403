//! One subject at a time.
//!
//! Two subjects on one cluster would both run every Deployment. A lock on a file keeps trials apart,
//! be they threads or processes; the kernel lets it go when its holder dies.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::{Cluster, ClusterError};

/// The right to let a subject act on a cluster; it ends when this is dropped.
#[derive(Debug)]
pub struct Guard {
    /// Locked: closing it lets go.
    _file: File,
}

impl Cluster {
    /// Wait until no other subject acts on this cluster.
    pub async fn exclusive(&self) -> Result<Guard, ClusterError> {
        lock(self.dir.join("subject.lock")).await
    }
}

/// Lock a file of this user's, made if need be, without holding up the runtime.
pub(super) async fn lock(path: PathBuf) -> Result<Guard, ClusterError> {
    tokio::task::spawn_blocking(move || {
        let open = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let locked = open.and_then(|file| file.lock().map(|()| file));
        locked.map(|_file| Guard { _file }).map_err(ClusterError::file(path))
    })
    .await?
}
