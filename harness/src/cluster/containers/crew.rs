//! The programs as containers on a network that only they are on.

use std::path::{Path, PathBuf};

use super::images::Images;
use super::launch::{Container, ContainerSpec, check_engine, pull_missing};
use super::names::{ENVIRONMENT_KUBECONFIG, Names, PKI, TOKENS, files};
use super::{ContainersError, Wish, connect, prove};
use crate::cluster::engine::Engine;
use crate::cluster::facts::Facts;
use crate::cluster::keeper;
use crate::cluster::place::{self, make_private, write_private};
use crate::cluster::programs::{self, APISERVER};
use crate::cluster::ready::{Crew, ENVIRONMENT, Secrets};
use crate::cluster::{ClusterError, Plan, SiteName};
use crate::controllers::Controllers;
use crate::recording::Identity;
use crate::supervise::{self, Child, Exit, ProcessId, Spec, SuperviseError, Supervisor};

/// Start all three with their folder inside of `parent`; they are the supervisor's to end.
pub(super) async fn start(parent: &Path, plan: &Plan, wish: &Wish) -> Result<(Facts, Supervisor), ClusterError> {
    let engine = Engine::find(Path::new("docker")).await?;
    ContainersError::unless_local(&engine)?;
    check_engine(&engine).await?;
    let images = Images::new(&plan.version, wish);
    pull_missing(&images).await?;
    let names = Names::new(&place::token()?);
    let (dir, supervisor) = keeper::supervised(parent)?;
    let mut starting = Starting {
        supervisor: &supervisor,
        engine: &engine,
        images: &images,
        names,
        dir: &dir,
        without: &plan.without,
        running: Vec::new(),
    };
    match starting.run().await {
        Ok(facts) => Ok((facts, supervisor)),
        Err(error) => {
            supervisor.shutdown().await;
            Err(error)
        }
    }
}

struct Starting<'a> {
    supervisor: &'a Supervisor,
    engine: &'a Engine,
    images: &'a Images,
    names: Names,
    dir: &'a Path,
    without: &'a Controllers,
    running: Vec<Running>,
}

/// A program in its container, which the supervisor removes, maybe long after this process.
struct Running {
    name: String,
    container: Container,
    /// Follows the log, and ends with the container.
    log: Child,
}

impl Starting<'_> {
    async fn run(&mut self) -> Result<Facts, ClusterError> {
        let secrets = Secrets::write(&self.dir.join(PKI), &self.dir.join(TOKENS), &self.names.containers())?;
        write_private(&self.dir.join(ENVIRONMENT_KUBECONFIG), secrets.kubeconfig(&self.names.server()).as_bytes())?;
        self.remove_in_the_end()?;
        let layout = self.names.layout();
        // Both to their ends, also if one fails: nothing may be half made when the rest is removed.
        let (etcd, server) = futures::join!(
            self.start("etcd", programs::etcd(&layout)),
            self.start("kube-apiserver", programs::kube_apiserver(&layout)),
        );
        let (etcd, server) = (etcd?, server?);
        // The port of a container that has ended is 0, and the wait for it says why it ended.
        let port = server.container.port().await?;
        self.running.extend([etcd, server]);
        let access = connect::connect(self.dir, &secrets, port)?;
        let version = prove::prove(&access, self).await?;
        Ok(Facts {
            identity: Identity::new(SiteName::Containers, APISERVER, version),
            access,
            dir: self.dir.to_owned(),
            programs: self.running.iter().map(|it| (it.name.clone(), ProcessId::of(it.log.pid))).collect(),
            without: self.without.clone(),
        })
    }

    /// Have everything removed that is about to be made. The containers twice: one that the engine
    /// was just making when this process was killed may not be there yet the first time.
    fn remove_in_the_end(&self) -> Result<(), SuperviseError> {
        let containers =
            || ["rm", "--force", "--volumes"].map(str::to_owned).into_iter().chain(self.names.containers());
        let network = ["network", "rm", &self.names.network].map(str::to_owned);
        // The last told is the first done.
        self.supervisor.finally(self.command("removing the network", network.into(), "supervisor"))?;
        self.supervisor.finally(self.command("looking for more containers", containers().collect(), "supervisor"))?;
        self.supervisor.finally(self.command("removing the containers", containers().collect(), "supervisor"))
    }

    /// Make a container and start it.
    async fn start(&self, name: &str, args: Vec<String>) -> Result<Running, ClusterError> {
        let container = Container::start(ContainerSpec {
            program: name,
            image: self.images.of(name),
            args,
            name: self.names.container(name),
            network: &self.names.network,
            label: self.dir.display().to_string(),
            files: self.pack(name)?,
            published: name == APISERVER,
        });
        let container = container.await?;
        let follow = ["logs", "--follow", &self.names.container(name)].map(str::to_owned);
        let log = self.supervisor.spawn(self.command(name, follow.into(), name))?;
        Ok(Running { name: name.to_owned(), container, log })
    }

    /// Put what a program reads, and nothing else, into a folder that is copied to it in one piece,
    /// with the modes that it has.
    fn pack(&self, program: &str) -> Result<PathBuf, ClusterError> {
        let folder = self.dir.join(format!("for-{program}"));
        make_private(&folder)?;
        make_private(&folder.join(PKI))?;
        for file in files(program) {
            let (from, to) = (self.dir.join(file), folder.join(file));
            std::fs::copy(from, &to).map_err(ClusterError::file(to))?;
        }
        Ok(folder)
    }

    /// The engine's command under supervision.
    fn command(&self, name: &str, args: Vec<String>, log: &str) -> Spec {
        Spec {
            name: name.to_owned(),
            program: self.engine.program().to_owned(),
            args,
            env: supervise::own_environment().collect(),
            log: programs::log(self.dir, log),
        }
    }
}

impl Crew for Starting<'_> {
    fn dir(&self) -> &Path {
        self.dir
    }

    async fn start_environment(&mut self) -> Result<(), ClusterError> {
        let environment =
            self.start(ENVIRONMENT, programs::kube_controller_manager(&self.names.layout(), self.without)).await?;
        self.running.push(environment);
        Ok(())
    }

    async fn ended(&self) -> Option<(String, Exit)> {
        let (running, exit) = self.running.iter().find_map(|running| Some((running, running.log.exited()?)))?;
        let code = running.container.exit_code().await;
        Some((running.name.clone(), code.map_or(exit, Exit::Code)))
    }

    /// The next one wants its name.
    async fn forget_environment(&mut self) -> Result<(), ClusterError> {
        for environment in self.running.extract_if(.., |running| running.name == ENVIRONMENT) {
            environment.container.remove().await?;
        }
        Ok(())
    }
}
