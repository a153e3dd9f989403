//! Files and folders that only this user can access: recordings, output of subjects, kubeconfigs,
//! and the folder for state between runs.
//!
//! Files and folders are created without access for others, whatever the umask. An existing folder
//! keeps its mode: it may be a folder of the user with other content.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The mode of a file.
const FILE: u32 = 0o600;
/// The mode of a folder.
const FOLDER: u32 = 0o700;

/// Creates a folder and its missing parents.
pub fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Creates or truncates a file, and creates its missing parents.
pub fn create(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().write(true).truncate(true))
}

/// Opens a file for appending, creating it and its missing parents.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().append(true))
}

/// Writes a file.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut create(path)?, content)
}

/// A sentence that says so if the disk of a folder is full: a file of one block cannot be written.
pub fn describe_full_disk(folder: &Path) -> Option<String> {
    let path = folder.join(format!("space-{}", std::process::id()));
    let written = write(&path, &[0; 4096]);
    // Without the file there is nothing to remove.
    let _ = std::fs::remove_file(&path);
    let is_full = |error: &io::Error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    let folder = folder.display();
    written
        .is_err_and(|error| is_full(&error))
        .then(|| format!("the disk of {folder} is full; free some space, or set TMPDIR to a folder of another disk"))
}

fn open(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_dir(parent)?;
    }
    let file = how.create(true).mode(FILE).open(path)?;
    // An existing file may have been readable by others. Anything but a regular file, such as
    // /dev/stdout, keeps its mode.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(file)
}

/// The folder for state between runs, such as the id of this installation and the cases that
/// failed: `$XDG_STATE_HOME/lockstep`, or `~/.local/state/lockstep`; `None` if neither variable nor
/// home exists.
pub fn state_dir() -> Option<PathBuf> {
    resolve_state_dir(std::env::var_os("XDG_STATE_HOME").map(PathBuf::from), std::env::home_dir())
}

/// A relative path counts as unset, as the XDG base directory specification requires.
fn resolve_state_dir(state_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let state_home = state_home.filter(|path| path.is_absolute());
    let home = || home.filter(|path| path.is_absolute()).map(|home| home.join(".local/state"));
    state_home.or_else(home).map(|folder| folder.join("lockstep"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn created_files_and_folders_are_private() {
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

    #[test]
    fn disk_with_space_is_not_full_and_nothing_is_left_in_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(describe_full_disk(folder.path()), None);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn state_dir_follows_xdg_specification() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(resolve_state_dir(path("/state"), path("/home/me")), path("/state/lockstep"));
        assert_eq!(resolve_state_dir(None, path("/home/me")), path("/home/me/.local/state/lockstep"));
        assert_eq!(resolve_state_dir(path("state"), path("/home/me")), path("/home/me/.local/state/lockstep"));
        assert_eq!(resolve_state_dir(path(""), None), None);
    }
}
