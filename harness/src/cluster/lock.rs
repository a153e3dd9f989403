//! One subject at a time.
//!
//! Two subjects on one cluster would both run every Deployment. A lock on a file keeps trials
//! apart, be they threads or processes; the kernel lets it go when its holder dies.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::ClusterError;
use super::place::of_user;

/// The right to let a subject act on a cluster; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "dropping it lets the next subject in"]
pub struct Guard {
    /// Locked: closing it lets go.
    _file: File,
}

/// Lock a file of this user's, made if need be, without holding up the runtime.
pub(crate) async fn lock(path: PathBuf) -> Result<Guard, ClusterError> {
    tokio::task::spawn_blocking(move || lock_blocking(&path).map_err(ClusterError::file(path))).await?
}

/// The same with a file of this name in the folder of this user's that is closed to others.
pub(crate) async fn lock_of_user(name: &str) -> Result<Guard, ClusterError> {
    lock(of_user()?.join(name)).await
}

/// The last holder may have removed the file, with its folder: then the lock on it keeps nobody
/// out, and counts for nothing.
fn lock_blocking(path: &Path) -> io::Result<Guard> {
    loop {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.lock()?;
        let held = file.metadata()?;
        if path.metadata().is_ok_and(|found| (found.dev(), found.ino()) == (held.dev(), held.ino())) {
            return Ok(Guard { _file: file });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_on_a_removed_file_is_none() {
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
