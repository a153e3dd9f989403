//! The programs as containers, made by the engine's command, on a network that only they are on.

use std::path::{Path, PathBuf};

use super::images::{Images, pull_missing};
use super::local::local_engine;
use super::names::{API_PORT, ENVIRONMENT_KUBECONFIG, INSIDE, Names, PKI, TOKENS, files};
use super::{ContainersError, Wish, connect, prove};
use crate::cluster::engine::{Engine, EngineError};
use crate::cluster::facts::Facts;
use crate::cluster::keeper;
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
    pull_missing(&engine, &images).await?;
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
    /// Follows the log, and ends with the container.
    log: Child,
}

impl Starting<'_> {
    async fn run(&mut self) -> Result<Facts, ClusterError> {
        let secrets = Secrets::write(&self.dir.join(PKI), &self.dir.join(TOKENS), &self.names.containers())?;
        write_private(&self.dir.join(ENVIRONMENT_KUBECONFIG), secrets.kubeconfig(&self.names.server()).as_bytes())?;
        self.remove_in_the_end()?;
        self.engine.ask(["network", "create", &self.names.network]).await?;
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

    /// Make a container and start it.
    async fn start(&self, name: &str, args: Vec<String>) -> Result<Running, ClusterError> {
        let image = self.images.of(name);
        let failed = |error: EngineError| ContainersError::Start {
            program: name.to_owned(),
            image: image.to_owned(),
            why: error.why().to_owned(),
        };
        let (container, files) = (self.names.container(name), self.pack(name)?);
        let label = format!("lockstep.folder={}", self.dir.display());
        // The images' own entry points differ, and not all of them name the program.
        let program = format!("/usr/local/bin/{name}");
        let (files, inside) = (files.display().to_string(), format!("{container}:{INSIDE}"));
        // The log can be read, whatever the engine does with logs by default.
        let mut create = vec!["create", "--pull", "never", "--name", &container, "--network", &self.names.network];
        create.extend(["--label", &label, "--log-driver", "json-file", "--entrypoint", &program]);
        // On loopback alone, wherever there is room. Nothing of the others is published.
        let published = format!("127.0.0.1::{API_PORT}");
        if name == APISERVER {
            create.extend(["--publish", &published]);
        }
        create.push(image);
        create.extend(args.iter().map(String::as_str));
        self.engine.ask(create).await.map_err(failed)?;
        self.engine.ask(["cp", "--quiet", &files, &inside]).await.map_err(failed)?;
        self.engine.ask(["start", &container]).await.map_err(failed)?;
        let follow = ["logs", "--follow", &container].map(str::to_owned);
        let log = self.supervisor.spawn(self.command(name, follow.into(), name))?;
        Ok(Running { name: name.to_owned(), log })
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
        let server = self.names.container(APISERVER);
        let format = "{{range .NetworkSettings.Ports}}{{range .}}{{.HostPort}}{{end}}{{end}}";
        let port = self.engine.ask(["inspect", "--format", format, &server]).await?;
        // One that has ended has no port any more, and the wait for it will tell why.
        Ok(port.parse().unwrap_or_default())
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

    async fn start_environment(&mut self) -> Result<(), ClusterError> {
        let environment =
            self.start(ENVIRONMENT, programs::kube_controller_manager(&self.names.layout(), self.without)).await?;
        self.running.push(environment);
        Ok(())
    }

    async fn ended(&self) -> Option<(String, Exit)> {
        let (running, exit) = self.running.iter().find_map(|running| Some((running, running.log.exited()?)))?;
        let code = ["inspect", "--format", "{{.State.ExitCode}}", &self.names.container(&running.name)];
        let code = self.engine.ask(code).await.ok().and_then(|code| code.parse().ok());
        Some((running.name.clone(), code.map_or(exit, Exit::Code)))
    }

    /// The next one wants its name.
    async fn forget_environment(&mut self) -> Result<(), ClusterError> {
        self.running.retain(|running| running.name != ENVIRONMENT);
        self.engine.ask(["rm", "--force", "--volumes", &self.names.container(ENVIRONMENT)]).await?;
        Ok(())
    }
}
