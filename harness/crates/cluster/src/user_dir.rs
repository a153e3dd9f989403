//! Folders and files that only this user can access, and locks on files.
//!
//! Two subjects on one cluster would both act on every Deployment. A file lock separates trials, in
//! threads or in processes; the kernel releases it when its holder dies.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::ClusterError;

/// The harness's folder for this user, in the system's temporary folder; created if needed.
///
/// Other users can write to the temporary folder, so it is used only if it is a real folder of this
/// user, inaccessible to others.
pub(super) fn user_temp_dir() -> Result<PathBuf, ClusterError> {
    user_dir_in(&std::env::temp_dir())
}

fn user_dir_in(parent: &Path) -> Result<PathBuf, ClusterError> {
    let user = rustix::process::getuid().as_raw();
    let folder = parent.join(format!("lockstep-{user}"));
    make_private_dir(&folder).map_err(|error| match error {
        ClusterError::File { path, source } => ClusterError::TempDir { path, source },
        error => error,
    })?;
    Ok(folder)
}

/// Creates a folder that other users cannot access, or checks that an existing one is such a
/// folder.
pub(super) fn make_private_dir(folder: &Path) -> Result<(), ClusterError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(ClusterError::file(folder)(error)),
        _ => {}
    }
    let found = folder.symlink_metadata().map_err(ClusterError::file(folder))?;
    let is_owner = found.uid() == rustix::process::getuid().as_raw();
    if found.is_dir() && is_owner && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(ClusterError::NotPrivate(folder.to_owned()))
    }
}

/// Creates a folder in `parent` that other users cannot access.
pub(super) fn create_cluster_dir(parent: &Path) -> Result<PathBuf, ClusterError> {
    let folder = tempfile::Builder::new()
        .prefix("plane-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .map_err(ClusterError::file(parent))?;
    Ok(folder.keep())
}

/// Writes a file that other users cannot access, atomically: readers see the old content or the
/// new, never a part.
pub(super) fn write_private_file(path: &Path, content: &[u8]) -> Result<(), ClusterError> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(content)?;
        std::fs::rename(&part, path)
    };
    write().map_err(ClusterError::file(path))
}

/// 32 random bytes from the system, in hexadecimal.
pub(super) fn random_token() -> Result<String, ClusterError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 32];
    let mut read = || File::open(source)?.read_exact(&mut bytes);
    read().map_err(ClusterError::file(source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

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

/// Like `lock`, with a file of this name in this user's private temporary folder.
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
    fn missing_folder_for_temporary_files_is_reported_with_its_variable() {
        let folder = tempfile::tempdir().unwrap();
        let error = user_dir_in(&folder.path().join("missing")).unwrap_err().to_string();
        assert!(
            error.contains("/missing/lockstep-") && error.ends_with("set TMPDIR to a folder that can be written to")
        );
        user_dir_in(folder.path()).unwrap();
    }

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
