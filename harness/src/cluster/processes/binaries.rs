//! The programs of a control plane: found, downloaded or built by `scripts/control-plane`, which
//! lies inside of this executable.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cluster::ClusterError;
use crate::supervise::interrupt;

const SCRIPT: &str = include_str!("../../../control-plane");

/// What a control plane consists of.
const PROGRAMS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "etcd"];

/// A folder with kube-apiserver, kube-controller-manager and etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The folder.
    pub folder: PathBuf,
    /// Of Kubernetes' own two, as in `v1.36.3`.
    pub version: String,
}

impl Binaries {
    /// The path of one of them.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Find the programs of this version, or make them, which may take minutes the first time. What
/// goes on is told on standard error.
pub fn binaries(version: &str) -> Result<Binaries, ClusterError> {
    let folder = folder(&[version], version)?;
    Ok(Binaries { folder, version: version.to_owned() })
}

/// The same for a controller manager alone: of many versions nothing else is wanted, and of old
/// ones nothing else is to be had.
pub fn controller_manager(version: &str) -> Result<PathBuf, ClusterError> {
    Ok(folder(&["--controller-manager", version], version)?.join("kube-controller-manager"))
}

fn folder(arguments: &[&str], version: &str) -> Result<PathBuf, ClusterError> {
    let failed = |why: String| ClusterError::Binaries { version: version.to_owned(), why };
    let mut script = Command::new("bash");
    script.args(["-c", SCRIPT, "control-plane"]).args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = interrupt::output(&mut script)
        .map_err(|error| failed(format!("bash, which looks for them, does not start ({error})")))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    match output.status.code() {
        Some(0) if folder.is_absolute() => Ok(folder),
        Some(64) => Err(failed("that is not a version such as v1.36.3".to_owned())),
        _ => Err(failed("they were not found and could not be made, as said above".to_owned())),
    }
}

/// Whether [`binaries`] can succeed, as far as one can tell without running anything; if not, what
/// is missing.
///
/// A `LOCKSTEP_BIN` that lacks something is no reason here: who set it is to see it fail.
pub fn available(version: &str) -> Result<(), String> {
    match found(version) {
        Err(_) if variable("LOCKSTEP_BIN").is_some() => Ok(()),
        found => found.map(drop),
    }
}

/// What [`binaries`] would find, in words.
pub fn found(version: &str) -> Result<&'static str, String> {
    let wanted = format!("kube-apiserver, kube-controller-manager and etcd of {version}");
    if let Some(folder) = variable("LOCKSTEP_BIN") {
        let lacks = || format!("LOCKSTEP_BIN={} has not all of {wanted}; put them there or unset it", folder.display());
        return holds(&folder).then_some("ready").ok_or_else(lacks);
    }
    if cache().is_some_and(|cache| cache.join("control-plane").join(version).join(".complete").is_file()) {
        return Ok("ready");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |test: &dyn Fn(&Path) -> bool| std::env::split_paths(&path).any(|folder| test(&folder));
    if has(&|folder| holds(folder)) {
        return Ok("ready");
    }
    if has(&|folder| folder.join("go").is_file()) {
        return Ok("ready, once upstream's programs are fetched or built, which takes minutes the first time");
    }
    Err(format!("neither {wanted}, nor Go to build them"))
}

/// Where the scripts keep the programs that they have fetched or built.
pub fn cache() -> Option<PathBuf> {
    variable("LOCKSTEP_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("lockstep")))
        .or_else(|| std::env::home_dir().map(|folder| folder.join(".cache/lockstep")))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn holds(folder: &Path) -> bool {
    PROGRAMS.iter().all(|program| folder.join(program).is_file())
}
