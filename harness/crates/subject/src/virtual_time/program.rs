//! Finds `kube-controller-manager-virtual` in the folder `LOCKSTEP_BIN`, in the cache that
//! `scripts/fetch virtual` builds into, or on `PATH`; each only if it has the requested version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use lockstep_cluster as cluster;
use lockstep_cluster::supervise::interrupt;

use crate::{SubjectError, SubjectSpec, command, upstream};

/// The program's name.
pub const PROGRAM: &str = "kube-controller-manager-virtual";

/// An installed program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VirtualProgram {
    pub(super) name: String,
    /// The subject that it runs, as on the command line.
    subject: String,
    pub(super) path: PathBuf,
    /// `None` for any version.
    pub(super) version: Option<String>,
}

/// Whether upstream of this version, or of the default one, can run in virtual time: its program
/// exists.
///
/// # Errors
/// [`SubjectError::NotBuilt`], or an error if the path is not this program's.
pub fn available(selector: Option<&str>) -> Result<(), SubjectError> {
    find(selector).map(drop)
}

/// The versions whose programs `scripts/fetch virtual` has built, in no particular order.
#[must_use]
pub fn built() -> Vec<String> {
    let folder = cluster::cache_dir().map(|cache| cache.join("virtual"));
    let entries = folder.and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| cluster::is_version(name) && available(Some(name)).is_ok()).collect()
}

/// Finds the program of a version, or at a path.
pub(super) fn find(selector: Option<&str>) -> Result<VirtualProgram, SubjectError> {
    if let Some(path) = selector.filter(|selector| upstream::is_path(selector)) {
        let path = Path::new(path);
        upstream::check(path)?;
        return match path.file_name().is_some_and(|name| name == PROGRAM) {
            true => Ok(VirtualProgram::upstream(std::path::absolute(path)?, None)),
            false => Err(SubjectError::Outside(format!("upstream:{}", path.display()))),
        };
    }
    let version = selector.unwrap_or(upstream::VERSION);
    let found = || places(version).find(|(path, trusted)| path.is_file() && (*trusted || is_of(path, version)));
    match found() {
        Some((path, _)) => Ok(VirtualProgram::upstream(path, Some(version.to_owned()))),
        None => Err(SubjectError::NotBuilt(version.to_owned())),
    }
}

impl VirtualProgram {
    /// A user's program, at a path.
    pub(super) fn custom(path: &Path) -> Result<Self, SubjectError> {
        let path = command::find(&std::path::absolute(path)?.to_string_lossy())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let subject = SubjectSpec::Virtual(path.clone()).to_string();
        Ok(Self { name, subject, path, version: None })
    }

    /// Upstream's controllers, of the version if it is known.
    fn upstream(path: PathBuf, version: Option<String>) -> Self {
        let selector = version.clone().unwrap_or_else(|| path.display().to_string());
        Self { name: PROGRAM.to_owned(), subject: format!("upstream:{selector}"), path, version }
    }

    /// Its name in messages.
    pub(super) fn display(&self) -> String {
        self.subject.clone()
    }
}

/// The candidate paths, and whether the path itself determines the version.
fn places(version: &str) -> impl Iterator<Item = (PathBuf, bool)> {
    let custom = std::env::var_os("LOCKSTEP_BIN").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cached = cluster::cache_dir().map(|cache| cache.join("virtual").join(version));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<_> = std::env::split_paths(&path).collect();
    let custom = custom.into_iter().map(|folder| (folder, false));
    let rest = on_path.into_iter().map(|folder| (folder, false));
    custom
        .chain(cached.map(|folder| (folder, true)))
        .chain(rest)
        .map(|(folder, trusted)| (folder.join(PROGRAM), trusted))
}

/// Whether a program reports this version. Each program is run once.
fn is_of(path: &Path, version: &str) -> bool {
    static VERSION_OUTPUTS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let mut outputs = VERSION_OUTPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    let output = outputs.entry(path.to_owned()).or_insert_with(|| {
        let mut ask = Command::new(path);
        ask.arg("--version").env_clear().stdin(Stdio::null()).stderr(Stdio::null());
        let output = interrupt::output(&mut ask);
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    });
    output.split_whitespace().any(|word| word == version)
}
