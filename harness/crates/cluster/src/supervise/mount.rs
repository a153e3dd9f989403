//! Runs a program that sees a folder at a path where an unprivileged process cannot create files.
//!
//! The program is started through this executable, in the role [`ROLE`]: it enters its own mount
//! namespace (as root, else inside a user namespace in which it keeps its user id), mounts the
//! folder, and executes the program. No other process sees the mount, and it disappears with the
//! last process of the namespace.
//!
//! If parents of the path are missing, the deepest existing one is replaced by a mirror: a tmpfs
//! with a bind mount of each of its entries, in which the missing folders can be created.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::client::own_executable;
use super::{ProcessSpec, ROLE_VARIABLE, SuperviseError};

/// The value of [`ROLE_VARIABLE`] for this role.
pub(super) const ROLE: &str = "mounted";

/// The same program, with `folder` mounted at `at`. See [`can_mount`].
#[must_use]
pub fn with_mount(spec: ProcessSpec, folder: &Path, at: &Path) -> ProcessSpec {
    let mut args: Vec<String> = [folder, at, &spec.program].map(|path| path.display().to_string()).into();
    args.extend(spec.args);
    let mut env = spec.env;
    env.insert(ROLE_VARIABLE.to_owned(), ROLE.to_owned());
    // The supervisor starts it, where this path is the supervisor's executable, which is the same
    // as this one.
    let program = own_executable().unwrap_or_else(|_| spec.program.clone());
    ProcessSpec { program, args, env, ..spec }
}

/// Whether this machine permits a process a private mount at `at`.
///
/// # Errors
/// [`SuperviseError::Mount`], with the system's error.
pub fn can_mount(at: &Path) -> Result<(), SuperviseError> {
    let refused = |why: String| SuperviseError::Mount { at: at.to_owned(), why };
    let tried = || -> std::io::Result<std::process::Output> {
        let temporary = tempfile::tempdir()?;
        let folder = temporary.path().join("folder");
        std::fs::create_dir(&folder)?;
        let mut program = Command::new(own_executable()?);
        program.args([folder.as_path(), at, Path::new("true")]).env(ROLE_VARIABLE, ROLE).stdin(Stdio::null()).output()
    };
    let output = tried().map_err(|error| refused(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(refused(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Mounts the folder and executes the program; returns only on error. The arguments are the folder,
/// the path, and the program with its arguments.
pub(super) fn exec_with_mount() -> String {
    let mut words = std::env::args_os().skip(1);
    let (Some(folder), Some(at), Some(program)) = (words.next(), words.next(), words.next()) else {
        return "a folder, a path and a program are wanted".to_owned();
    };
    if let Err(why) = enter(&PathBuf::from(folder), &PathBuf::from(at)) {
        return why;
    }
    let arguments: Vec<OsString> = words.collect();
    let error = Command::new(&program).args(arguments).env_remove(ROLE_VARIABLE).exec();
    format!("{}: {error}", program.display())
}

#[cfg(not(target_os = "linux"))]
fn enter(_folder: &Path, _at: &Path) -> Result<(), String> {
    Err("this system has no mount namespaces".to_owned())
}

#[cfg(target_os = "linux")]
fn enter(folder: &Path, at: &Path) -> Result<(), String> {
    use rustix::mount::{MountPropagationFlags as Propagation, mount_bind_recursive, mount_change};
    let failed = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    namespace().map_err(failed("cannot make a mount namespace"))?;
    let private = mount_change("/", Propagation::REC | Propagation::PRIVATE).map_err(Into::into);
    private.map_err(failed("cannot keep mounts private"))?;
    let Some(there) = at.ancestors().find(|folder| folder.is_dir()) else {
        return Err(format!("{} is not absolute", at.display()));
    };
    let missing = at.strip_prefix(there).expect("one of its ancestors");
    // The kernel requires the real mount point, and `/var/run` is usually a link to `/run`.
    let there = there.canonicalize().map_err(failed("cannot resolve the mount point"))?;
    if missing.as_os_str().is_empty() {
        return mount_bind_recursive(folder, &there).map_err(Into::into).map_err(failed("cannot mount the folder"));
    }
    mirror(folder, &there, missing).map_err(failed("cannot mount a folder with the missing parents"))
}

/// Enters a new mount namespace: as root, or in a user namespace in which every user keeps its id.
#[cfg(target_os = "linux")]
fn namespace() -> std::io::Result<()> {
    use rustix::io::Errno;
    use rustix::thread::UnshareFlags as Flags;
    #[expect(deprecated, reason = "the other one is unsafe because of `FILES`, which is not asked for")]
    let unshare = rustix::thread::unshare;
    match unshare(Flags::NEWNS) {
        Err(Errno::PERM) => {}
        done => return Ok(done?),
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(Flags::NEWUSER | Flags::NEWNS)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Replaces `mount_point` by a tmpfs with the same entries and, below `missing`, the folder.
#[cfg(target_os = "linux")]
fn mirror(folder: &Path, mount_point: &Path, missing: &Path) -> std::io::Result<()> {
    use rustix::mount::{MountFlags, mount, mount_bind_recursive};
    let staging = folder.with_extension("mirror");
    std::fs::create_dir_all(&staging)?;
    mount("tmpfs", &staging, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=0755"))?;
    for entry in std::fs::read_dir(mount_point)? {
        let entry = entry?;
        let (from, to) = (entry.path(), staging.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(from)?, to)?;
            continue;
        }
        if kind.is_dir() {
            std::fs::create_dir(&to)?;
        } else {
            drop(std::fs::File::create(&to)?);
        }
        // An entry that disappears, or cannot be mounted, is missing in the mirror; controllers do
        // not need it.
        mount_bind_recursive(from, to).ok();
    }
    let place = staging.join(missing);
    std::fs::create_dir_all(&place)?;
    mount_bind_recursive(folder, place)?;
    Ok(mount_bind_recursive(&staging, mount_point)?)
}
