//! Start: the programs as processes under supervision, on free ports of loopback, with their files
//! in the cluster's folder.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

use super::{Binaries, binaries, connect, ports, prove};
use crate::cluster::facts::Facts;
use crate::cluster::keeper;
use crate::cluster::programs::{self, APISERVER, Layout};
use crate::cluster::ready::{Crew, ENVIRONMENT};
use crate::cluster::supervised::Supervised;
use crate::cluster::{ClusterError, Plan, SiteName};
use crate::controllers::Controllers;
use crate::recording::Identity;
use crate::supervise::{Child, Exit, ProcessId, Spec, Supervisor};

/// How often somebody may take a port away before the program binds it.
const ATTEMPTS: u32 = 5;

/// A control plane with its files in a new folder inside of `parent`.
pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan) -> Result<Supervised, ClusterError> {
    let version = plan.version.clone();
    let binaries = tokio::task::spawn_blocking(move || binaries(&version)).await??;
    let (dir, supervisor) = keeper::supervised(parent)?;
    let mut attempt = 1;
    loop {
        let mut starting = Starting::new(&supervisor, &binaries, &dir, &plan.without)?;
        match starting.run().await {
            Ok(facts) => return Ok(Supervised::own(facts, supervisor)),
            Err(_) if attempt < ATTEMPTS && starting.lost_a_port() => attempt += 1,
            Err(error) => {
                supervisor.shutdown().await;
                return Err(error);
            }
        }
        starting.clear().await;
    }
}

/// One attempt.
struct Starting<'a> {
    supervisor: &'a Supervisor,
    binaries: &'a Binaries,
    dir: &'a Path,
    without: &'a Controllers,
    layout: Layout,
    children: Vec<Child>,
}

impl<'a> Starting<'a> {
    fn new(
        supervisor: &'a Supervisor,
        binaries: &'a Binaries,
        dir: &'a Path,
        without: &'a Controllers,
    ) -> Result<Self, ClusterError> {
        let [api, etcd, peer] = ports::free()?;
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

    async fn run(&mut self) -> Result<Facts, ClusterError> {
        let access = connect::connect(&self.layout)?;
        self.start("etcd", programs::etcd(&self.layout))?;
        self.start("kube-apiserver", programs::kube_apiserver(&self.layout))?;
        prove::prove(&access, self).await?;
        Ok(Facts {
            identity: Identity::new(SiteName::ControlPlane, APISERVER, &self.binaries.version),
            access,
            dir: self.dir.to_owned(),
            programs: self.children.iter().map(|child| (child.name.clone(), ProcessId::of(child.pid))).collect(),
            without: self.without.clone(),
        })
    }

    fn start(&mut self, name: &str, args: Vec<String>) -> Result<(), ClusterError> {
        self.children.push(self.supervisor.spawn(Spec {
            name: name.to_owned(),
            program: self.binaries.program(name),
            args,
            env: BTreeMap::new(),
            log: programs::log(self.dir, name),
        })?);
        Ok(())
    }

    /// Whether somebody took a port between our look and the program's `bind`.
    fn lost_a_port(&self) -> bool {
        self.children.iter().any(|child| {
            std::fs::read(programs::log(self.dir, &child.name))
                .is_ok_and(|log| String::from_utf8_lossy(&log).contains("address already in use"))
        })
    }

    /// Before the next attempt: nothing of this one may run or lie about.
    async fn clear(self) {
        for child in &self.children {
            child.kill();
            child.wait_exit().await;
            // A file that is not there needs no removing.
            let _ = std::fs::remove_file(programs::log(self.dir, &child.name));
        }
        let _ = std::fs::remove_dir_all(&self.layout.data);
    }
}

impl Crew for Starting<'_> {
    fn dir(&self) -> &Path {
        self.dir
    }

    async fn start_environment(&mut self) -> Result<(), ClusterError> {
        self.start(ENVIRONMENT, programs::kube_controller_manager(&self.layout, self.without))
    }

    async fn ended(&self) -> Option<(String, Exit)> {
        self.children.iter().find_map(|child| Some((child.name.clone(), child.exited()?)))
    }

    async fn forget_environment(&mut self) -> Result<(), ClusterError> {
        self.children.retain(|child| child.name != ENVIRONMENT);
        Ok(())
    }
}
