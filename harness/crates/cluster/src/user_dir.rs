//! Folders and files that only this user can access.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::ClusterError;

/// The harness's folder for this user, in the system's temporary folder; created if needed.
///
/// Other users can write to the temporary folder, so it is used only if it is a real folder of this
/// user, inaccessible to others.
pub(super) fn user_temp_dir() -> Result<PathBuf, ClusterError> {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("lockstep-{user}"));
    make_private_dir(&folder)?;
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
    let mut read = || std::fs::File::open(source)?.read_exact(&mut bytes);
    read().map_err(ClusterError::file(source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
