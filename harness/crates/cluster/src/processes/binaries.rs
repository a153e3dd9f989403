//! The programs of a control plane, which `scripts/control-plane` finds, downloads or builds. The
//! script is embedded in this executable.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ClusterError;
use crate::supervise::interrupt;

const SCRIPT: &str = include_str!("../../control-plane");

/// The programs of a control plane.
const PROGRAMS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "etcd"];

/// A folder with kube-apiserver, kube-controller-manager and etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The folder.
    pub folder: PathBuf,
    /// The version of Kubernetes' two programs, such as `v1.36.3`.
    pub version: String,
}

impl Binaries {
    /// The path of one of the programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Finds the programs of this version, or builds them, which may take minutes the first time.
/// Progress is printed on standard error.
pub fn obtain_binaries(version: &str) -> Result<Binaries, ClusterError> {
    let folder = programs_dir(&[version], version)?;
    Ok(Binaries { folder, version: version.to_owned() })
}

/// Like [`obtain_binaries`], for the controller manager only: many versions need only that, and of
/// old versions only that is available.
pub fn obtain_controller_manager(version: &str) -> Result<PathBuf, ClusterError> {
    Ok(programs_dir(&["--controller-manager", version], version)?.join("kube-controller-manager"))
}

fn programs_dir(arguments: &[&str], version: &str) -> Result<PathBuf, ClusterError> {
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

/// Whether [`obtain_binaries`] can succeed, as far as known without running anything; if not, what
/// is missing.
///
/// A `LOCKSTEP_BIN` without all programs does not count as missing: the user who set it should see
/// the failure.
pub fn available(version: &str) -> Result<(), String> {
    match availability(version) {
        Err(_) if variable("LOCKSTEP_BIN").is_some() => Ok(()),
        found => found.map(drop),
    }
}

/// What [`obtain_binaries`] would find, in words.
pub(crate) fn availability(version: &str) -> Result<&'static str, String> {
    let programs = format!("kube-apiserver, kube-controller-manager and etcd of {version}");
    if let Some(folder) = variable("LOCKSTEP_BIN") {
        let lacks =
            || format!("LOCKSTEP_BIN={} has not all of {programs}; put them there or unset it", folder.display());
        return has_programs(&folder).then_some("ready").ok_or_else(lacks);
    }
    if cache_dir().is_some_and(|cache| cache.join("control-plane").join(version).join(".complete").is_file()) {
        return Ok("ready");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |test: &dyn Fn(&Path) -> bool| std::env::split_paths(&path).any(|folder| test(&folder));
    if has(&|folder| has_programs(folder)) {
        return Ok("ready");
    }
    if has(&|folder| folder.join("go").is_file()) {
        return Ok("ready, once upstream's programs are fetched or built, which takes minutes the first time");
    }
    Err(format!("neither {programs}, nor Go to build them"))
}

/// The cache of the programs that the scripts have downloaded or built.
pub fn cache_dir() -> Option<PathBuf> {
    variable("LOCKSTEP_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("lockstep")))
        .or_else(|| std::env::home_dir().map(|folder| folder.join(".cache/lockstep")))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn has_programs(folder: &Path) -> bool {
    PROGRAMS.iter().all(|program| folder.join(program).is_file())
}
