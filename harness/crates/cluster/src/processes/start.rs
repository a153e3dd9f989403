//! Start: runs the programs as supervised processes, on free ports of loopback, with their files in
//! the cluster's folder and the harness's tokens.
//!
//! It waits until the server is ready. Which controllers the controller manager runs is known, as
//! the harness wrote its command line.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;

use super::{Binaries, obtain_binaries};
use crate::facts::ClusterFacts;
use crate::programs::{self, APISERVER, Layout};
use crate::ready::{CONTROLLER_MANAGER, ControlPlaneSecrets, Launcher, wait_until_ready};
use crate::supervise::{Child, Exit, ProcessId, ProcessSpec, Supervisor};
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
