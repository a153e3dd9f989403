//! The files that a command writes. They are checked before it starts, so that a wrong path fails
//! at once, not after an hour of plays. A check creates nothing.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lockstep_runner::run::FileError;
use rustix::fs::{Access, access};
use rustix::process::{Uid, geteuid};

use super::CliError;

/// Fails unless the file that a flag names can be written.
pub(super) fn check_file(flag: &str, path: Option<&Path>) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    if path.is_dir() {
        return usage_error(flag, path, "is a folder; name a file in it");
    }
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return usage_error(flag, path, "ends as a folder does; name a file");
    }
    if !path.exists() {
        return check_parent(flag, path);
    }
    check_access(flag, path, Access::WRITE_OK)?;
    // The rights do not show that a program that runs, or another user's file in /tmp, cannot be
    // written to. Opened for appending, a file stays as it is. A pipe would wait for its reader.
    if path.is_file()
        && let Err(error) = OpenOptions::new().append(true).create(true).open(path)
    {
        return usage_error(flag, path, &format!("cannot be written to: {error}"));
    }
    Ok(())
}

/// Fails unless the file that a flag names can be written, and kept from other users.
pub(super) fn check_private_file(flag: &str, path: &Path) -> Result<(), CliError> {
    check_file(flag, Some(path))?;
    check_owner(flag, path, geteuid())
}

/// Fails if the file is one that this user cannot keep from others, because it is not theirs.
fn check_owner(flag: &str, path: &Path, user: Uid) -> Result<(), CliError> {
    match path.metadata() {
        Ok(it) if it.is_file() && !user.is_root() && it.uid() != user.as_raw() => {
            usage_error(flag, path, "is another user's file, who could read the recording; name another file")
        }
        _ => Ok(()),
    }
}

/// Fails unless files can be written into the folder that a flag names.
pub(super) fn check_folder(flag: &str, path: Option<&Path>) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    if path.is_dir() {
        return check_access(flag, path, Access::WRITE_OK | Access::EXEC_OK);
    }
    if path.exists() { usage_error(flag, path, "is a file; name a folder") } else { check_parent(flag, path) }
}

/// Fails if the file that a flag names is one that the command reads, under any path.
pub(super) fn check_not_input(flag: &str, path: Option<&Path>, inputs: &[&Path]) -> Result<(), CliError> {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let Some((path, output)) = path.and_then(|path| Some((path, identity(path)?))) else { return Ok(()) };
    match inputs.iter().any(|input| identity(input) == Some(output)) {
        true => usage_error(flag, path, "is a file that this command reads; name another file"),
        false => Ok(()),
    }
}

/// Write a file, and create the folders above it.
pub(super) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let failed = |source| FileError::File { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

/// Fails unless a missing path and the folders above it can be created.
fn check_parent(flag: &str, path: &Path) -> Result<(), CliError> {
    if path.is_symlink() {
        return usage_error(flag, path, "is a symbolic link to something that does not exist; fix the link");
    }
    let above = path.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.exists());
    let above = above.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !above.is_dir() {
        let why = format!("cannot be made, as {} is a file; name a path in a folder", above.display());
        return usage_error(flag, path, &why);
    }
    check_access(flag, above, Access::WRITE_OK | Access::EXEC_OK)?;
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::InvalidFilename => {
            usage_error(flag, path, &format!("cannot be made: {error}"))
        }
        _ => Ok(()),
    }
}

fn check_access(flag: &str, path: &Path, mode: Access) -> Result<(), CliError> {
    match access(path, mode) {
        Ok(()) => Ok(()),
        Err(error) => usage_error(flag, path, &format!("cannot be written to: {error}")),
    }
}

fn usage_error(flag: &str, path: &Path, why: &str) -> Result<(), CliError> {
    Err(CliError::Usage(format!("{flag}: {} {why}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_an_input_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        for name in ["input", "other"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(at("input"), at("link")).unwrap();
        let (missing, input) = (at("nothing"), at("input"));
        let check = |name: &str| check_not_input("--html", Some(&at(name)), &[&missing, &input]);
        for bad in ["input", "link", "./input"] {
            let message = check(bad).unwrap_err().to_string();
            assert!(message.ends_with("is a file that this command reads; name another file"), "{message}");
        }
        assert!(check("other").is_ok() && check("new").is_ok() && check("nothing").is_ok());
    }

    #[test]
    fn file_that_cannot_be_opened_is_refused_and_stays_as_it_is() {
        let temporary = tempfile::tempdir().unwrap();
        let (program, file) = (temporary.path().join("program"), temporary.path().join("file"));
        std::fs::copy("/bin/sleep", &program).unwrap();
        std::fs::write(&file, "before").unwrap();
        let mut running = std::process::Command::new(&program).arg("60").spawn().unwrap();
        let refused = check_file("--html", Some(&program)).err().map(|error| error.to_string());
        running.kill().unwrap();
        running.wait().unwrap();
        assert!(
            refused.as_ref().is_some_and(|why| why.contains("cannot be written to: Text file busy")),
            "{refused:?}"
        );
        check_file("--html", Some(&file)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "before");
    }

    #[test]
    fn unwritable_paths_are_reported_without_writing() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("link")).unwrap();
        let message = |checked: Result<(), CliError>| checked.err().map(|error| error.to_string()).unwrap_or_default();
        let one = |name: &str| message(check_file("--junit", Some(&at(name))));
        let all = |name: &str| message(check_folder("--evidence", Some(&at(name))));
        for good in
            [one("new"), one("new/x/y.xml"), one("file"), all("new/x"), all("folder"), message(check_file("-", None))]
        {
            assert_eq!(good, "");
        }
        assert!(one("folder").contains("is a folder; name a file in it"), "{}", one("folder"));
        assert!(one("file/x.xml").contains("cannot be made, as"), "{}", one("file/x.xml"));
        assert!(one("link").contains("symbolic link"), "{}", one("link"));
        assert!(one("new/").ends_with("new/ ends as a folder does; name a file"), "{}", one("new/"));
        assert!(one(&"x".repeat(300)).contains("cannot be made: File name too long"), "{}", one(&"x".repeat(300)));
        assert!(all("file").contains("is a file; name a folder"), "{}", all("file"));
        assert!(one("file/x.xml").starts_with("--junit: "));
        let user = Uid::from_raw(at("file").metadata().unwrap().uid().max(1));
        let other = Uid::from_raw(user.as_raw() + 1);
        let owned = |name: &str, user| message(check_owner("--out", &at(name), user));
        assert_eq!([owned("file", Uid::ROOT), owned("new", other), owned("folder", other)], ["", "", ""]);
        assert!(owned("file", other).contains("is another user's file"), "{}", owned("file", other));
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 3, "something was made");
    }
}
