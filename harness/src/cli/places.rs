//! Whether what a command is to write can be written, before it does anything: a path that is wrong
//! is found in no time, not after an hour of plays. Nothing is made.

use std::path::Path;

use rustix::fs::{Access, access};

use super::CliError;

/// A file that a flag names can be written.
pub(super) fn file(flag: &str, path: Option<&Path>) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    if path.is_dir() {
        return wrong(flag, path, "is a folder; name a file in it");
    }
    if path.exists() { may(flag, path, Access::WRITE_OK) } else { parent(flag, path) }
}

/// Files can be written into a folder that a flag names.
pub(super) fn folder(flag: &str, path: Option<&Path>) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    if path.is_dir() {
        return may(flag, path, Access::WRITE_OK | Access::EXEC_OK);
    }
    if path.exists() { wrong(flag, path, "is a file; name a folder") } else { parent(flag, path) }
}

/// What is not there yet can be made, with the folders that lead to it.
fn parent(flag: &str, path: &Path) -> Result<(), CliError> {
    if path.is_symlink() {
        return wrong(flag, path, "is a symbolic link to something that does not exist; fix the link");
    }
    let above = path.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.exists());
    let above = above.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !above.is_dir() {
        let why = format!("cannot be made, as {} is a file; name a path in a folder", above.display());
        return wrong(flag, path, &why);
    }
    may(flag, above, Access::WRITE_OK | Access::EXEC_OK)
}

fn may(flag: &str, path: &Path, what: Access) -> Result<(), CliError> {
    match access(path, what) {
        Ok(()) => Ok(()),
        Err(error) => wrong(flag, path, &format!("cannot be written to: {error}")),
    }
}

fn wrong(flag: &str, path: &Path, why: &str) -> Result<(), CliError> {
    Err(CliError::Usage(format!("{flag}: {} {why}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_found_without_writing() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("link")).unwrap();
        let said = |checked: Result<(), CliError>| checked.err().map(|error| error.to_string()).unwrap_or_default();
        let one = |name: &str| said(file("--junit", Some(&at(name))));
        let all = |name: &str| said(folder("--evidence", Some(&at(name))));
        for good in [one("new"), one("new/x/y.xml"), one("file"), all("new/x"), all("folder"), said(file("-", None))] {
            assert_eq!(good, "");
        }
        assert!(one("folder").contains("is a folder; name a file in it"), "{}", one("folder"));
        assert!(one("file/x.xml").contains("cannot be made, as"), "{}", one("file/x.xml"));
        assert!(one("link").contains("symbolic link"), "{}", one("link"));
        assert!(all("file").contains("is a file; name a folder"), "{}", all("file"));
        assert!(one("file/x.xml").starts_with("--junit: "));
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 3, "something was made");
    }
}
