//! File locks, so that one subject at a time acts on a cluster.
//!
//! Two subjects on one cluster would both act on every Deployment. A file lock separates trials, in
//! threads or in processes; the kernel releases it when its holder dies.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::ClusterError;
use super::user_dir::user_temp_dir;

/// An exclusive lock on a file, released when it is dropped.
#[derive(Debug)]
#[must_use = "dropping it releases the lock"]
pub struct FileLock {
    /// Closing the file releases the lock.
    _file: File,
}

/// Locks a file, which is created if needed, without blocking the runtime.
pub(crate) async fn lock(path: PathBuf) -> Result<FileLock, ClusterError> {
    tokio::task::spawn_blocking(move || lock_blocking(&path).map_err(ClusterError::file(path))).await?
}

/// Like [`lock`], with a file of this name in this user's private temporary folder.
pub async fn lock_in_user_dir(name: &str) -> Result<FileLock, ClusterError> {
    lock(user_temp_dir()?.join(name)).await
}

/// The last holder may have removed the file with its folder. A lock on a removed file excludes no
/// other process, so it is taken again.
fn lock_blocking(path: &Path) -> io::Result<FileLock> {
    loop {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.lock()?;
        let locked = file.metadata()?;
        if path.metadata().is_ok_and(|found| (found.dev(), found.ino()) == (locked.dev(), locked.ino())) {
            return Ok(FileLock { _file: file });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_on_removed_file_is_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = lock_blocking(&path).unwrap();
        let second = std::thread::spawn({
            let path = path.clone();
            move || lock_blocking(&path).unwrap()
        });
        std::fs::remove_file(&path).unwrap();
        drop(first);
        let second = second.join().unwrap();
        let third = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(third.try_lock().is_err(), "the second holder has the file that is there now");
        drop(second);
        third.try_lock().unwrap();
    }
}
