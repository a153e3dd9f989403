//! The programs as containers, made by testcontainers, on a network that only they are on.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use testcontainers::bollard::models::{HostConfig, HostConfigLogConfig, PortBinding};
use testcontainers::core::IntoContainerPort;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt, TestcontainersError};

use super::images::{Images, split};
use super::names::{API_PORT, ENVIRONMENT_KUBECONFIG, INSIDE, Names, PKI, TOKENS, files};
use super::socket::{local_engine, pull_missing};
use super::{ContainersError, Wish, connect, prove};
use crate::cluster::engine::Engine;
use crate::cluster::facts::Facts;
use crate::cluster::place::{self, make_private, write_private};
use crate::cluster::programs::{self, APISERVER};
use crate::cluster::ready::{Crew, ENVIRONMENT, Secrets};
use crate::cluster::{ClusterError, Plan, SiteName};
use crate::controllers::Controllers;
use crate::recording::Identity;
use crate::supervise::{Child, Exit, ProcessId, Spec, SuperviseError, Supervisor};

/// Start all three with their folder inside of `parent`; they are the supervisor's to end.
pub(super) async fn start(parent: &Path, plan: &Plan, wish: &Wish) -> Result<(Facts, Supervisor), ClusterError> {
    let engine = local_engine().await?;
    let images = Images::new(&plan.version, wish);
    pull_missing(&images).await?;
    let names = Names::new(&place::token()?);
    let dir = place::fresh(parent)?;
    let supervisor = Supervisor::start(&dir, true).inspect_err(|_| {
        // Nobody is left to do it; and what remains is an empty folder for temporary files.
        let _ = std::fs::remove_dir_all(&dir);
    })?;
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

/// A program in its container.
struct Running {
    name: String,
    /// Dropping it would remove the container; that is the supervisor's to do, maybe long after this process.
    container: ManuallyDrop<ContainerAsync<GenericImage>>,
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
        self.running.extend([etcd?, server?]);
        let access = connect::connect(self.dir, &secrets, self.published().await?)?;
        let version = prove::prove(&access, self).await?;
        Ok(Facts {
            identity: Identity::new(SiteName::Containers, APISERVER, version),
            access,
            dir: self.dir.to_owned(),
            programs: self.running.iter().map(|it| (it.name.clone(), ProcessId::of(it.log.pid))).collect(),
            without: self.without.clone(),
        })
    }

    /// Have everything removed that is about to be made. The containers twice: one that the engine was just making when this
    /// process was killed may not be there yet the first time.
    fn remove_in_the_end(&self) -> Result<(), SuperviseError> {
        let containers =
            || ["rm", "--force", "--volumes"].map(str::to_owned).into_iter().chain(self.names.containers());
        let network = ["network", "rm", &self.names.network].map(str::to_owned);
        // The last told is the first done.
        self.supervisor.finally(self.command("removing the network", network.into(), "supervisor"))?;
        self.supervisor.finally(self.command("looking for more containers", containers().collect(), "supervisor"))?;
        self.supervisor.finally(self.command("removing the containers", containers().collect(), "supervisor"))
    }

    /// Make a container and start it. The network is made with the first.
    async fn start(&self, name: &str, args: Vec<String>) -> Result<Running, ClusterError> {
        let (repository, tag) = split(self.images.of(name));
        // The images' own entry points differ, and not all of them name the program.
        let image = GenericImage::new(repository, tag).with_entrypoint(&format!("/usr/local/bin/{name}"));
        let request = match name {
            "kube-apiserver" => image.with_exposed_port(API_PORT.tcp()).with_host_config_modifier(published),
            _ => image.with_host_config_modifier(unpublished),
        };
        let request = request
            .with_cmd(args)
            .with_container_name(self.names.container(name))
            .with_network(&self.names.network)
            .with_label("lockstep.folder", self.dir.display().to_string())
            .with_copy_to(INSIDE, self.pack(name)?);
        let failed = |error: TestcontainersError| ContainersError::Start {
            program: name.to_owned(),
            image: self.images.of(name).to_owned(),
            why: error.to_string(),
        };
        let container = ManuallyDrop::new(request.start().await.map_err(failed)?);
        let follow = ["logs", "--follow", &self.names.container(name)].map(str::to_owned);
        let log = self.supervisor.spawn(self.command(name, follow.into(), name))?;
        Ok(Running { name: name.to_owned(), container, log })
    }

    /// Put what a program reads, and nothing else, into a folder that is copied to it in one piece, with the modes that it has.
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

    /// The port on 127.0.0.1 that leads to the API server.
    async fn published(&self) -> Result<u16, ClusterError> {
        let server = self.running.iter().find(|running| running.name == "kube-apiserver");
        let server = &server.expect("it was just started").container;
        match server.get_host_port_ipv4(API_PORT).await {
            Ok(port) => Ok(port),
            // One that has ended has no port any more, and the wait for it will tell why.
            Err(_) if !server.is_running().await.unwrap_or_default() => Ok(0),
            Err(error) => Err(ContainersError::Socket { why: error.to_string() }.into()),
        }
    }

    /// The engine's command under supervision.
    fn command(&self, name: &str, args: Vec<String>, log: &str) -> Spec {
        Spec {
            name: name.to_owned(),
            program: self.engine.program().to_owned(),
            args,
            env: std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
            log: programs::log(self.dir, log),
        }
    }
}

impl Crew for Starting<'_> {
    fn dir(&self) -> &Path {
        self.dir
    }

    async fn start_lab(&mut self) -> Result<(), ClusterError> {
        let environment =
            self.start(ENVIRONMENT, programs::kube_controller_manager(&self.names.layout(), self.without)).await?;
        self.running.push(environment);
        Ok(())
    }

    async fn ended(&self) -> Option<(String, Exit)> {
        let (running, exit) = self.running.iter().find_map(|running| Some((running, running.log.exited()?)))?;
        let code = running.container.exit_code().await.ok().flatten().and_then(|code| i32::try_from(code).ok());
        Some((running.name.clone(), code.map_or(exit, Exit::Code)))
    }

    /// The next one wants its name.
    async fn forget_lab(&mut self) -> Result<(), ClusterError> {
        for environment in self.running.extract_if(.., |running| running.name == ENVIRONMENT) {
            let removed = ManuallyDrop::into_inner(environment.container).rm().await;
            removed.map_err(|error| ContainersError::Socket { why: error.to_string() })?;
        }
        Ok(())
    }
}

/// Nothing is published, and the log can be read, whatever the engine does by default.
fn unpublished(host: &mut HostConfig) {
    host.publish_all_ports = Some(false);
    host.log_config = Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: None });
}

/// The API server's port is published, on loopback alone and wherever there is room.
fn published(host: &mut HostConfig) {
    unpublished(host);
    let anywhere = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(String::new()) };
    host.port_bindings = Some([(API_PORT.tcp().to_string(), Some(vec![anywhere]))].into());
}
