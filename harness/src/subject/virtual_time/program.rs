//! Where `kube-controller-manager-virtual` is: the folder `LOCKSTEP_BIN`, the cache that
//! `scripts/upstream-virtual` builds into, or `PATH`; each is taken only where it is of the version
//! that is asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::super::{Spec, SubjectError, command, upstream};
use crate::cluster;
use crate::supervise::interrupt;

/// The program's name.
pub const PROGRAM: &str = "kube-controller-manager-virtual";

/// A program that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// What it is called.
    pub(super) name: String,
    /// The subject that it is, as on the command line.
    subject: String,
    pub(super) path: PathBuf,
    /// `None`: whichever it is.
    pub(super) version: Option<String>,
}

/// Whether upstream of this version, or the default one, can be played in virtual time: its program
/// is there.
///
/// # Errors
/// [`SubjectError::NotBuilt`], or the path is not this program's.
pub fn available(which: Option<&str>) -> Result<(), SubjectError> {
    find(which).map(drop)
}

/// The versions whose programs `scripts/upstream-virtual` has built, in no order.
#[must_use]
pub fn built() -> Vec<String> {
    let folder = cluster::cache().map(|cache| cache.join("virtual"));
    let entries = folder.and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| cluster::is_version(name) && available(Some(name)).is_ok()).collect()
}

/// The program of a version, or the one at a path.
pub(super) fn find(which: Option<&str>) -> Result<Program, SubjectError> {
    if let Some(path) = which.filter(|which| upstream::is_path(which)) {
        let path = Path::new(path);
        upstream::check(path)?;
        return match path.file_name().is_some_and(|name| name == PROGRAM) {
            true => Ok(Program::upstream(std::path::absolute(path)?, None)),
            false => Err(SubjectError::Outside(format!("upstream:{}", path.display()))),
        };
    }
    let version = which.unwrap_or(upstream::VERSION);
    let found = || places(version).find(|(path, trusted)| path.is_file() && (*trusted || is_of(path, version)));
    match found() {
        Some((path, _)) => Ok(Program::upstream(path, Some(version.to_owned()))),
        None => Err(SubjectError::NotBuilt(version.to_owned())),
    }
}

impl Program {
    /// Somebody's own, at a path.
    pub(super) fn own(path: &Path) -> Result<Self, SubjectError> {
        let path = command::find(&std::path::absolute(path)?.to_string_lossy())?;
        Ok(Self::of(&Spec::Virtual(path.clone()), path))
    }

    /// Upstream's controllers, of the version if it is known.
    fn upstream(path: PathBuf, version: Option<String>) -> Self {
        let which = version.clone().unwrap_or_else(|| path.display().to_string());
        Self { name: PROGRAM.to_owned(), subject: format!("upstream:{which}"), path, version }
    }

    /// The program of another subject.
    pub(super) fn of(subject: &Spec, path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, subject: subject.to_string(), path, version: None }
    }

    /// As it is called in a message.
    pub(super) fn display(&self) -> String {
        self.subject.clone()
    }
}

/// Where it may be, and whether the place itself says of which version it is.
fn places(version: &str) -> impl Iterator<Item = (PathBuf, bool)> {
    let own = std::env::var_os("LOCKSTEP_BIN").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cached = cluster::cache().map(|cache| cache.join("virtual").join(version));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<_> = std::env::split_paths(&path).collect();
    let own = own.into_iter().map(|folder| (folder, false));
    let rest = on_path.into_iter().map(|folder| (folder, false));
    own.chain(cached.map(|folder| (folder, true))).chain(rest).map(|(folder, trusted)| (folder.join(PROGRAM), trusted))
}

/// Whether a program says that it is of this version. Asked once.
fn is_of(path: &Path, version: &str) -> bool {
    static SAID: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let said = said.entry(path.to_owned()).or_insert_with(|| {
        let mut ask = Command::new(path);
        ask.arg("--version").env_clear().stdin(Stdio::null()).stderr(Stdio::null());
        let output = interrupt::output(&mut ask);
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    });
    said.split_whitespace().any(|word| word == version)
}
