//! Files and folders that only this user can read: recordings, what subjects print, kubeconfigs.
//!
//! What is made here is closed to everybody else from the first byte on, whatever the umask. A
//! folder that is there already stays as open as somebody made it: it may be a folder of the user's
//! with other things in it.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode of a file of one's own.
const FILE: u32 = 0o600;
/// The mode of a folder of one's own.
const FOLDER: u32 = 0o700;

/// Make a folder and those above it, as far as they are not there.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Make a file, empty if it is there already, and the folders above it.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().write(true).truncate(true))
}

/// Open a file to write at its end, and make it and the folders above it if need be.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().append(true))
}

/// Write a whole file.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut create(path)?, content)
}

fn open(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder(parent)?;
    }
    let file = how.create(true).mode(FILE).open(path)?;
    // One that was there before may have been open to others. What is no file, such as /dev/stdout,
    // stays as it is.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_closed_to_others() {
        let top = tempfile::tempdir().unwrap();
        std::fs::set_permissions(top.path(), Permissions::from_mode(0o755)).unwrap();
        let file = top.path().join("a/b/c.ndjson");
        write(&file, b"one").unwrap();
        assert_eq!([mode(&file), mode(&top.path().join("a/b")), mode(&top.path().join("a"))], [0o600, 0o700, 0o700]);
        assert_eq!(mode(top.path()), 0o755);
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        write(&file, b"2").unwrap();
        io::Write::write_all(&mut append(&file).unwrap(), b"3").unwrap();
        assert_eq!((mode(&file), std::fs::read(&file).unwrap()), (0o600, b"23".to_vec()));
    }
}
