//! Folders and files that only this user can read.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::ClusterError;

/// The folder for everything of this user's, under the system's folder for temporary files. Made if
/// need be.
///
/// Others may write next to it, so it is used only if it is a real folder of this user's, closed to
/// everybody else.
pub(super) fn of_user() -> Result<PathBuf, ClusterError> {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("lockstep-{user}"));
    make_private(&folder)?;
    Ok(folder)
}

/// Make a folder that is closed to everybody else, or find that it is one already.
pub(super) fn make_private(folder: &Path) -> Result<(), ClusterError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(ClusterError::file(folder)(error)),
        _ => {}
    }
    let found = folder.symlink_metadata().map_err(ClusterError::file(folder))?;
    let own = found.uid() == rustix::process::getuid().as_raw();
    if found.is_dir() && own && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(ClusterError::NotPrivate(folder.to_owned()))
    }
}

/// A new folder inside of `parent`, closed to everybody else.
pub(super) fn fresh(parent: &Path) -> Result<PathBuf, ClusterError> {
    let folder = tempfile::Builder::new()
        .prefix("plane-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .map_err(ClusterError::file(parent))?;
    Ok(folder.keep())
}

/// Write a file that is closed to everybody else; readers see the old one or the new one, never a
/// part.
pub(super) fn write_private(path: &Path, content: &[u8]) -> Result<(), ClusterError> {
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

/// 32 random bytes from the system, as hexadecimal digits.
pub(super) fn token() -> Result<String, ClusterError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 32];
    let mut read = || std::fs::File::open(source)?.read_exact(&mut bytes);
    read().map_err(ClusterError::file(source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
