//! `control-plane`: etcd, kube-apiserver and kube-controller-manager as processes of this machine.
//!
//! They are supervised processes on free ports of loopback, with their files in the cluster's
//! folder and the harness's tokens; they end with their supervisor. `supervised_cluster` implements
//! the running cluster. Which controllers the controller manager runs is known, as the harness
//! wrote its command line.
//!
//! `scripts/fetch` finds, downloads or builds the programs. The script is embedded in this
//! executable.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;

use crate::backend::ClusterFacts;
use crate::programs::{self, APISERVER, Layout};
use crate::ready::{CONTROLLER_MANAGER, ControlPlaneSecrets, Launcher, wait_until_ready};
use crate::supervise::{Child, Exit, ProcessId, ProcessSpec, Supervisor, interrupt};
use crate::supervised_cluster::{self, SupervisedCluster};
use crate::user_dir::write_private_file;
use crate::{ClusterAccess, ClusterError, ClusterPlan, SiteName};

/// How many boots may lose a port to another process before the program binds it.
const ATTEMPTS: u32 = 5;

/// A control plane with its files in a new folder in `parent`.
pub(crate) async fn start(parent: &Path, plan: &ClusterPlan) -> Result<SupervisedCluster, ClusterError> {
    let version = plan.version.clone();
    let binaries = tokio::task::spawn_blocking(move || obtain_binaries(&version)).await??;
    let (dir, supervisor) = supervised_cluster::start_supervisor(parent)?;
    let mut attempt = 1;
    loop {
        let mut starting = ProcessLauncher::new(&supervisor, &binaries, &dir, &plan.without)?;
        match starting.run().await {
            Ok(facts) => return Ok(SupervisedCluster::owned(facts, supervisor)),
            Err(_) if attempt < ATTEMPTS && starting.lost_port() => attempt += 1,
            Err(error) => {
                supervisor.shutdown().await;
                return Err(error);
            }
        }
        starting.clean_up().await;
    }
}

/// One attempt to start the programs.
struct ProcessLauncher<'a> {
    supervisor: &'a Supervisor,
    binaries: &'a Binaries,
    dir: &'a Path,
    without: &'a ControllerSet,
    layout: Layout,
    children: Vec<Child>,
}

impl<'a> ProcessLauncher<'a> {
    fn new(
        supervisor: &'a Supervisor,
        binaries: &'a Binaries,
        dir: &'a Path,
        without: &'a ControllerSet,
    ) -> Result<Self, ClusterError> {
        let [api, etcd, peer] = free_ports()?;
        let layout = Layout {
            pki: dir.join("pki"),
            tokens: dir.join("tokens.csv"),
            kubeconfig: programs::admin_kubeconfig(dir),
            data: dir.join("etcd"),
            listen: Ipv4Addr::LOCALHOST,
            etcd_host: Ipv4Addr::LOCALHOST.to_string(),
            etcd,
            peer,
            api,
        };
        Ok(Self { supervisor, binaries, dir, without, layout, children: Vec::new() })
    }

    async fn run(&mut self) -> Result<ClusterFacts, ClusterError> {
        let access = connect(&self.layout)?;
        self.start("etcd", programs::etcd(&self.layout))?;
        self.start("kube-apiserver", programs::kube_apiserver(&self.layout))?;
        wait_until_ready(access.admin_client().await?, self).await?;
        Ok(ClusterFacts {
            identity: Identity::new(SiteName::ControlPlane, APISERVER, &self.binaries.version),
            access,
            dir: self.dir.to_owned(),
            programs: self.children.iter().map(|child| (child.name.clone(), ProcessId::of(child.pid))).collect(),
            without: self.without.clone(),
        })
    }

    fn start(&mut self, name: &str, args: Vec<String>) -> Result<(), ClusterError> {
        self.children.push(self.supervisor.spawn(ProcessSpec {
            name: name.to_owned(),
            program: self.binaries.program(name),
            args,
            env: BTreeMap::new(),
            log: programs::log(self.dir, name),
        })?);
        Ok(())
    }

    /// Whether another process took a port before the program's `bind`.
    fn lost_port(&self) -> bool {
        self.children.iter().any(|child| {
            std::fs::read(programs::log(self.dir, &child.name))
                .is_ok_and(|log| String::from_utf8_lossy(&log).contains("address already in use"))
        })
    }

    /// Ends the programs of this attempt, and removes their logs and data, before the next attempt.
    async fn clean_up(self) {
        for child in &self.children {
            child.kill();
            child.wait_exit().await;
            // The log may be missing.
            let _ = std::fs::remove_file(programs::log(self.dir, &child.name));
        }
        let _ = std::fs::remove_dir_all(&self.layout.data);
    }
}

impl Launcher for ProcessLauncher<'_> {
    fn dir(&self) -> &Path {
        self.dir
    }

    async fn start_controllers(&mut self) -> Result<(), ClusterError> {
        self.start(CONTROLLER_MANAGER, programs::kube_controller_manager(&self.layout, self.without))
    }

    async fn find_exited(&self) -> Option<(String, Exit)> {
        self.children.iter().find_map(|child| Some((child.name.clone(), child.exited()?)))
    }

    async fn forget_controllers(&mut self) -> Result<(), ClusterError> {
        self.children.retain(|child| child.name != CONTROLLER_MANAGER);
        Ok(())
    }
}

/// Creates certificates and tokens, and writes the kubeconfig that the harness and the test
/// environment's controllers share.
fn connect(layout: &Layout) -> Result<ClusterAccess, ClusterError> {
    let secrets = ControlPlaneSecrets::write(&layout.pki, &layout.tokens, &[])?;
    let access = secrets.access(format!("https://{}:{}", layout.listen, layout.api));
    write_private_file(&layout.kubeconfig, secrets.kubeconfig(&access.server).as_bytes())?;
    Ok(access)
}

/// `N` different ports that are free at the moment.
///
/// Another process may take one before the program binds it: then the program reports that, and the
/// boot is repeated.
fn free_ports<const N: usize>() -> Result<[u16; N], ClusterError> {
    let mut ports = [0; N];
    let mut listeners = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ClusterError::Port)?;
        *port = listener.local_addr().map_err(ClusterError::Port)?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

const SCRIPT: &str = include_str!("../fetch");

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
    let folder = programs_dir("control-plane", version)?;
    Ok(Binaries { folder, version: version.to_owned() })
}

/// Like [`obtain_binaries`], for the controller manager only: many versions need only that, and of
/// old versions only that is available.
pub fn obtain_controller_manager(version: &str) -> Result<PathBuf, ClusterError> {
    Ok(programs_dir("controller-manager", version)?.join("kube-controller-manager"))
}

/// Whether [`obtain_controller_manager`] finds the program without downloading or building it.
/// Programs that the script has not made are asked for their version, as it does.
pub fn has_controller_manager(version: &str) -> bool {
    let made: &[&str] =
        if version == crate::DEFAULT_VERSION { &["control-plane"] } else { &["control-plane", "controller-manager"] };
    let path = std::env::var_os("PATH").unwrap_or_default();
    made.iter().any(|programs| is_made(programs, version))
        || variable("LOCKSTEP_BIN").is_some_and(|folder| has_controller_manager_of(&folder, version))
        || std::env::split_paths(&path).any(|folder| has_controller_manager_of(&folder, version))
}

fn has_controller_manager_of(folder: &Path, version: &str) -> bool {
    let program = folder.join("kube-controller-manager");
    let said = program.is_file().then(|| Command::new(&program).arg("--version").output());
    let said = said.and_then(Result::ok).map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let said = said.as_deref().and_then(|text| text.trim().strip_prefix("Kubernetes "));
    said.is_some_and(|said| said == version || said.starts_with(&format!("{version}+")))
}

fn programs_dir(programs: &str, version: &str) -> Result<PathBuf, ClusterError> {
    let failed = |why: String| ClusterError::Binaries { version: version.to_owned(), why };
    let mut script = Command::new("bash");
    script.args(["-c", SCRIPT, "fetch", programs, version]).stdin(Stdio::null()).stderr(Stdio::inherit());
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

/// Whether [`obtain_binaries`] would find all programs, as far as known without running anything.
pub fn is_fetched(version: &str) -> bool {
    availability(version) == Ok(READY)
}

/// The programs are there.
const READY: &str = "ready";

/// What [`obtain_binaries`] would find, in words.
pub(crate) fn availability(version: &str) -> Result<&'static str, String> {
    let programs = format!("kube-apiserver, kube-controller-manager and etcd of {version}");
    if let Some(folder) = variable("LOCKSTEP_BIN") {
        let lacks =
            || format!("LOCKSTEP_BIN={} has not all of {programs}; put them there or unset it", folder.display());
        return has_programs(&folder).then_some(READY).ok_or_else(lacks);
    }
    if is_made("control-plane", version) {
        return Ok(READY);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |test: &dyn Fn(&Path) -> bool| std::env::split_paths(&path).any(|folder| test(&folder));
    if has(&|folder| has_programs(folder)) {
        return Ok(READY);
    }
    if has(&|folder| folder.join("go").is_file()) {
        return Ok("ready, once upstream's programs are fetched or built, which takes minutes the first time");
    }
    Err(format!("neither {programs}, nor Go to build them"))
}

/// Whether the script has made these programs.
fn is_made(programs: &str, version: &str) -> bool {
    cache_dir().is_some_and(|cache| cache.join(programs).join(version).join(".complete").is_file())
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ports_differ() {
        let ports = free_ports::<8>().unwrap();
        assert_eq!(BTreeSet::from(ports).len(), 8);
    }
}
