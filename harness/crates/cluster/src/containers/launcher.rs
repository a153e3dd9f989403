//! Starts the programs as containers on a network of their own, with the harness's tokens, and
//! waits until the server is ready. Which controllers the controller manager runs is known, as the
//! harness wrote its command line.

use std::path::{Path, PathBuf};

use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;

use super::container::{ContainerSpec, ProgramContainer, check_engine, pull_missing};
use super::names::{ContainerNames, ControlPlaneImages, ENVIRONMENT_KUBECONFIG, PKI, TOKENS, program_files};
use super::{ContainersError, ImageOptions};
use crate::backend::ClusterFacts;
use crate::engine::Engine;
use crate::programs::{self, APISERVER};
use crate::ready::{CONTROLLER_MANAGER, ControlPlaneSecrets, Launcher, wait_until_ready};
use crate::supervise::{self, Child, Exit, ProcessId, ProcessSpec, SuperviseError, Supervisor};
use crate::user_dir::{self, make_private_dir, write_private_file};
use crate::{ClusterAccess, ClusterError, ClusterPlan, SiteName, supervised_cluster};

/// Starts all three, with their folder in `parent`; the supervisor ends them.
pub(super) async fn start(
    parent: &Path,
    plan: &ClusterPlan,
    options: &ImageOptions,
) -> Result<(ClusterFacts, Supervisor), ClusterError> {
    let engine = Engine::find(Path::new("docker")).await?;
    ContainersError::check_local(&engine)?;
    check_engine(&engine).await?;
    let images = ControlPlaneImages::new(&plan.version, options);
    pull_missing(&images).await?;
    let names = ContainerNames::new(&user_dir::random_token()?);
    let (dir, supervisor) = supervised_cluster::start_supervisor(parent)?;
    let mut starting = ContainerLauncher {
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

struct ContainerLauncher<'a> {
    supervisor: &'a Supervisor,
    engine: &'a Engine,
    images: &'a ControlPlaneImages,
    names: ContainerNames,
    dir: &'a Path,
    without: &'a ControllerSet,
    running: Vec<RunningContainer>,
}

/// A program in its container. The supervisor removes the container, possibly long after this
/// process has ended.
struct RunningContainer {
    name: String,
    container: ProgramContainer,
    /// Follows the log, and exits with the container.
    log: Child,
}

impl ContainerLauncher<'_> {
    async fn run(&mut self) -> Result<ClusterFacts, ClusterError> {
        let secrets =
            ControlPlaneSecrets::write(&self.dir.join(PKI), &self.dir.join(TOKENS), &self.names.containers())?;
        write_private_file(
            &self.dir.join(ENVIRONMENT_KUBECONFIG),
            secrets.kubeconfig(&self.names.server()).as_bytes(),
        )?;
        self.schedule_removal()?;
        let layout = self.names.layout();
        // Wait for both even if one fails: no container may be half created during cleanup.
        let (etcd, server) = futures::join!(
            self.start("etcd", programs::etcd(&layout)),
            self.start("kube-apiserver", programs::kube_apiserver(&layout)),
        );
        let (etcd, server) = (etcd?, server?);
        // The port of an exited container is 0; waiting for readiness then reports why it exited.
        let port = server.container.port().await?;
        self.running.extend([etcd, server]);
        let access = connect(self.dir, &secrets, port)?;
        let version = prove(&access, self).await?;
        Ok(ClusterFacts {
            identity: Identity::new(SiteName::Containers, APISERVER, version),
            access,
            dir: self.dir.to_owned(),
            programs: self
                .running
                .iter()
                .map(|running| (running.name.clone(), ProcessId::of(running.log.pid)))
                .collect(),
            without: self.without.clone(),
        })
    }

    /// Registers the removal of everything that is about to be created. The containers are removed
    /// twice: one that the engine was creating when this process was killed may not exist yet the
    /// first time.
    fn schedule_removal(&self) -> Result<(), SuperviseError> {
        let containers =
            || ["rm", "--force", "--volumes"].map(str::to_owned).into_iter().chain(self.names.containers());
        let network = ["network", "rm", &self.names.network].map(str::to_owned);
        // The last one registered runs first.
        self.supervisor.finally(self.command("removing the network", network.into(), "supervisor"))?;
        self.supervisor.finally(self.command("looking for more containers", containers().collect(), "supervisor"))?;
        self.supervisor.finally(self.command("removing the containers", containers().collect(), "supervisor"))
    }

    /// Creates and starts a container.
    async fn start(&self, name: &str, args: Vec<String>) -> Result<RunningContainer, ClusterError> {
        let container = ProgramContainer::start(ContainerSpec {
            program: name,
            image: self.images.image_for(name),
            args,
            name: self.names.container(name),
            network: &self.names.network,
            label: self.dir.display().to_string(),
            files: self.collect_files(name)?,
            publish_api_port: name == APISERVER,
        });
        let container = container.await?;
        let follow = ["logs", "--follow", &self.names.container(name)].map(str::to_owned);
        let log = self.supervisor.spawn(self.command(name, follow.into(), name))?;
        Ok(RunningContainer { name: name.to_owned(), container, log })
    }

    /// Collects the files that a program reads in a folder, which is copied into its container as a
    /// whole, with file modes.
    fn collect_files(&self, program: &str) -> Result<PathBuf, ClusterError> {
        let folder = self.dir.join(format!("for-{program}"));
        make_private_dir(&folder)?;
        make_private_dir(&folder.join(PKI))?;
        for file in program_files(program) {
            let (from, to) = (self.dir.join(file), folder.join(file));
            std::fs::copy(from, &to).map_err(ClusterError::file(to))?;
        }
        Ok(folder)
    }

    /// The container engine's command, run under supervision.
    fn command(&self, name: &str, args: Vec<String>, log: &str) -> ProcessSpec {
        ProcessSpec {
            name: name.to_owned(),
            program: self.engine.program().to_owned(),
            args,
            env: supervise::own_environment().collect(),
            log: programs::log(self.dir, log),
        }
    }
}

impl Launcher for ContainerLauncher<'_> {
    fn dir(&self) -> &Path {
        self.dir
    }

    async fn start_controllers(&mut self) -> Result<(), ClusterError> {
        let environment = self
            .start(CONTROLLER_MANAGER, programs::kube_controller_manager(&self.names.layout(), self.without))
            .await?;
        self.running.push(environment);
        Ok(())
    }

    async fn find_exited(&self) -> Option<(String, Exit)> {
        let (running, exit) = self.running.iter().find_map(|running| Some((running, running.log.exited()?)))?;
        let code = running.container.exit_code().await;
        Some((running.name.clone(), code.map_or(exit, Exit::Code)))
    }

    /// The next container needs this name.
    async fn forget_controllers(&mut self) -> Result<(), ClusterError> {
        for environment in self.running.extract_if(.., |running| running.name == CONTROLLER_MANAGER) {
            environment.container.remove().await?;
        }
        Ok(())
    }
}

/// The access from this machine; also writes a kubeconfig for kubectl.
fn connect(dir: &Path, secrets: &ControlPlaneSecrets, port: u16) -> Result<ClusterAccess, ClusterError> {
    let access = secrets.access(format!("https://127.0.0.1:{port}"));
    write_private_file(&programs::admin_kubeconfig(dir), secrets.kubeconfig(&access.server).as_bytes())?;
    Ok(access)
}

/// Waits until the server is ready, grants the subject access, and asks for the version, which may
/// differ from the image's tag.
async fn prove(access: &ClusterAccess, launcher: &mut impl Launcher) -> Result<String, ClusterError> {
    let client = access.admin_client().await?;
    wait_until_ready(client.clone(), launcher).await?;
    let version = client.apiserver_version().await.map_err(ClusterError::request("asking for the version"))?;
    Ok(version.git_version)
}
