//! What is judged: a controller that is given a kubeconfig which leads to the interceptor, and
//! nothing else.
//!
//! A subject is named on the command line ([`Spec`]) and started ([`Spec::start`]). The harness
//! sees its requests at the interceptor and its process or pods, never its inside. Only `ours`
//! names this project's own controller. In virtual time two can run: `ours` as a task, and
//! upstream's controllers by a program that has its clock from the simulation ([`virtual_time`]).
//! On a simulated cluster the same two can be the subject's neighbours ([`ClusterControllers`]).

mod bank;
mod cluster_controllers;
mod command;
mod deployment;
mod error;
mod home;
mod log_source;
mod names;
mod ours;
mod reference;
mod upstream;
pub mod virtual_time;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use bank::{bank, with_mutant};
pub use cluster_controllers::{ClusterControllers, HEAD_START};
pub use deployment::ManifestError;
pub use error::SubjectError;
pub use home::{Listener, ServiceAccount};
pub use log_source::LogSource;
pub use ours::SUBJECT_TARGET;
pub use reference::Reference;

use crate::case::RestartOptions;
use crate::cluster::{self, kind};
use crate::controllers::{Controller, Controllers};
use crate::intercept::Interceptor;
use crate::recording::{Identity, SubjectKind, Trouble};
use crate::supervise::{Child, Supervisor};
use home::Home;
use virtual_time::Virtual;

/// How it is said that a subject no longer runs.
const ENDED: &str = "the subject ended";

/// Which controller to judge, as written on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// `ours`: this project's controller, as a task of this process.
    Ours,
    /// `ours:fixed`: the same, without those of upstream's defects that leave a Deployment stuck.
    OursFixed,
    /// `ours:process` or `ours:PATH`: the real binary as a child process.
    OursProcess(Option<PathBuf>),
    /// `upstream`, `upstream:v1.36.3` or `upstream:PATH`: kube-controller-manager with only the
    /// controllers under test; on the simulated cluster its controllers in virtual time, where
    /// their program is built.
    Upstream(Option<String>),
    /// `upstream:process` or `upstream:process:v1.36.3`: always as a process.
    UpstreamProcess(Option<String>),
    /// `xing`, `reloader`, `xing:process` or `xing:PATH`: another project's config-restart
    /// controller.
    Reference(Reference, Option<String>),
    /// `command:PROGRAM ARGUMENTS…`, quoted as in a shell: any program that reads KUBECONFIG or
    /// `$HOME/.kube/config`.
    Command(Vec<String>),
    /// `virtual:PROGRAM`: a controller that has its clock and its network from the simulation, by
    /// the turn protocol.
    Virtual(PathBuf),
    /// `deployment:MANIFEST`: a controller that runs as pods of the cluster, from a file of YAML
    /// documents or a folder of kustomize's.
    Deployment(PathBuf),
}

/// What a subject is started with. Not to be printed: a kubeconfig holds a token.
pub struct Stage<'a> {
    /// The kubeconfig that leads to the interceptor.
    pub kubeconfig: String,
    /// The way through the interceptor where the cluster is in this process; nobody else can go it.
    pub client: Option<kube::Client>,
    /// A folder of the harness's own for the subject's files; gone after the run.
    pub folder: &'a Path,
    /// What a program in virtual time needs, where that is the cluster's.
    pub virtual_time: Option<Virtual>,
    /// Who keeps child processes.
    pub supervisor: Option<&'a Supervisor>,
    /// Controllers that the subject brings; the cluster has left them out.
    pub controllers: &'a Controllers,
    /// How a config-restart controller is to run.
    pub restart: &'a RestartOptions,
    /// The cluster, where it can run a subject as pods, and the interceptor is in their reach.
    pub inside: Option<Inside<'a>>,
    /// What a process is to find as a pod does, on request.
    pub service_account: Option<ServiceAccount>,
    /// The variables of this process's environment that a process gets beside those that each
    /// needs.
    pub variables: &'a [String],
    /// Where the interceptor listens, if it does.
    pub interceptor: Listener,
}

/// What a subject that runs as pods needs to be put there.
pub struct Inside<'a> {
    /// The harness's own client.
    pub client: &'a kube::Client,
    /// The node that runs pods.
    pub node: &'a kind::Node,
    /// The interceptor.
    pub interceptor: &'a Interceptor,
}

/// A running subject.
#[derive(Debug)]
pub struct Running {
    /// What it was called, and what it calls itself.
    pub identity: Identity,
    life: Life,
    /// The right to run beside no other of its kind.
    _turn: Option<cluster::Guard>,
}

#[derive(Debug)]
enum Life {
    Task(ours::Task),
    Virtual(virtual_time::Task),
    /// `printed`: how much the log held when it was started.
    Process {
        child: Child,
        log: PathBuf,
        printed: u64,
    },
    Pods(Box<deployment::Running>),
}

impl Spec {
    /// Whether it runs as pods of the cluster, not as a process of this machine.
    pub fn is_inside(&self) -> bool {
        matches!(self, Self::Deployment(_))
    }

    /// Whether it can run in virtual time, which the simulated cluster has: in this process, or by
    /// a program that is there.
    pub fn is_simulable(&self) -> bool {
        match self {
            Self::Ours | Self::OursFixed | Self::Virtual(_) => true,
            Self::Upstream(which) => virtual_time::available(which.as_deref()).is_ok(),
            Self::Reference(one, which) => {
                !is_process(which.as_deref()) && one.virtual_program(which.as_deref()).is_ok()
            }
            _ => false,
        }
    }

    /// Why upstream's controllers do not run in virtual time, where they could if their program
    /// were built.
    pub fn not_built(&self) -> Option<SubjectError> {
        let Self::Upstream(which) = self else { return None };
        virtual_time::available(which.as_deref()).err().filter(|error| matches!(error, SubjectError::NotBuilt(_)))
    }

    /// Why another project's controller cannot be judged here, if its programs are not built.
    pub fn not_there(&self) -> Option<SubjectError> {
        let Self::Reference(one, which) = self else { return None };
        one.check(which.as_deref().filter(|which| !is_process(Some(which)))).err()
    }

    /// The other project's controller that it is.
    pub fn reference(&self) -> Option<Reference> {
        if let Self::Reference(one, _) = self { Some(*one) } else { None }
    }

    /// Whether one of its kind runs on a machine at a time.
    pub fn is_alone(&self) -> bool {
        matches!(self, Self::Reference(..)) && !self.is_simulable()
    }

    /// Whether it is somebody else's program: which controllers it brings only its user knows.
    pub fn is_strange(&self) -> bool {
        matches!(self, Self::Command(_) | Self::Virtual(_) | Self::Deployment(_))
    }

    /// Whether it may look after another kind than Deployments, as its user says with `--workload`.
    pub fn may_have_a_workload(&self) -> bool {
        matches!(self, Self::Command(_) | Self::Deployment(_))
    }

    /// Whether it is written in Go and runs in virtual time where it can: two runs of it may part
    /// by the order of a map.
    pub fn is_in_go(&self) -> bool {
        matches!(self, Self::Upstream(_) | Self::Virtual(_) | Self::Reference(..))
    }

    /// Whether it can be told how restarts are decided; any other decides them as it will.
    pub fn takes_restart_options(&self) -> bool {
        matches!(self, Self::Ours | Self::OursFixed | Self::Reference(..))
    }

    /// Why it cannot decide restarts with these options, if it can be told any.
    pub fn lacks_restart_options(&self, options: &RestartOptions) -> Option<String> {
        match self {
            Self::Reference(one, _) => one.lacks(options),
            Self::Ours | Self::OursFixed => ours::lacks(options),
            _ => None,
        }
    }

    /// Check what can be checked without a cluster: a program that is not there is bad usage, not a
    /// verdict.
    ///
    /// # Errors
    /// [`SubjectError::Missing`], [`SubjectError::Manifest`].
    pub fn check(&self) -> Result<(), SubjectError> {
        match self {
            Self::Command(words) => command::find(&words[0]).map(drop),
            Self::OursProcess(path) => ours::binary(path.as_deref()).map(drop),
            Self::Upstream(Some(path)) | Self::UpstreamProcess(Some(path)) if upstream::is_path(path) => {
                upstream::check(Path::new(path))
            }
            Self::Upstream(Some(version)) | Self::UpstreamProcess(Some(version)) if !cluster::is_version(version) => {
                Err(SubjectError::Unknown(self.to_string()))
            }
            Self::Virtual(path) => virtual_time::check_own(path),
            Self::Deployment(path) => deployment::check(path),
            Self::Reference(..) => self.not_there().map_or(Ok(()), Err),
            Self::Ours | Self::OursFixed | Self::Upstream(_) | Self::UpstreamProcess(_) => Ok(()),
        }
    }

    /// Whether it can bring these controllers, as far as anybody knows: what a command brings, its
    /// user says.
    ///
    /// # Errors
    /// [`SubjectError::Lacks`], [`SubjectError::ItsOwnMaker`].
    pub fn can_bring(&self, controllers: &Controllers) -> Result<(), SubjectError> {
        let lacking = match self {
            Self::Ours | Self::OursFixed | Self::OursProcess(_) => ours::controllers().lacks(controllers),
            Self::Deployment(path) if controllers.has(Controller::ReplicaSet) => {
                return Err(SubjectError::ItsOwnMaker(path.clone()));
            }
            Self::Upstream(_) | Self::UpstreamProcess(_) => {
                Controllers::from_iter(Controller::UPSTREAM).lacks(controllers)
            }
            Self::Reference(..) => Reference::controllers().lacks(controllers),
            Self::Command(_) | Self::Virtual(_) | Self::Deployment(_) => None,
        };
        match lacking {
            Some(controller) => Err(SubjectError::Lacks { subject: self.to_string(), controller }),
            None => Ok(()),
        }
    }

    /// Start it.
    ///
    /// # Errors
    /// See [`SubjectError`].
    pub async fn start(&self, stage: &Stage<'_>) -> Result<Running, SubjectError> {
        self.can_bring(stage.controllers)?;
        if stage.client.is_some() {
            let (client, virtual_time) = (stage.client.clone(), stage.virtual_time.as_ref());
            let controllers: Vec<_> = stage.controllers.iter().map(Controller::as_str).collect();
            let (life, version) = match self {
                Self::Ours | Self::OursFixed => {
                    let (task, version) = ours::start(stage, *self == Self::OursFixed).await?;
                    (Life::Task(task), version)
                }
                Self::Upstream(which) => {
                    let (task, version) = virtual_time::start(which.as_deref(), client, virtual_time, &controllers)?;
                    (Life::Virtual(task), version)
                }
                Self::Virtual(path) => {
                    let (task, version) = virtual_time::start_own(path, client, virtual_time, &controllers)?;
                    (Life::Virtual(task), version)
                }
                Self::Reference(one, which) if !is_process(which.as_deref()) => {
                    let path = one.virtual_program(which.as_deref())?;
                    let flags = one.virtual_flags(stage.restart);
                    let (task, version) = virtual_time::start_reference(self, path, client, virtual_time, flags)?;
                    (Life::Virtual(task), version)
                }
                _ => return Err(SubjectError::Outside(self.to_string())),
            };
            return Ok(Running { identity: self.identity(&version), life, _turn: None });
        }
        let home = Home::furnish(stage.folder, &stage.kubeconfig, std::env::home_dir().as_deref())?;
        match self {
            Self::Ours | Self::OursFixed => {
                let (task, version) = ours::start(stage, *self == Self::OursFixed).await?;
                Ok(Running { identity: self.identity(&version), life: Life::Task(task), _turn: None })
            }
            Self::OursProcess(path) => {
                let program = ours::binary(path.as_deref())?;
                let version = command::version(&program).await;
                let arguments = ours::arguments(stage)?;
                self.process(stage, &home, &program, (arguments, BTreeMap::new()), version).await
            }
            Self::Upstream(which) | Self::UpstreamProcess(which) => {
                let (program, version) = upstream::program(which.as_deref()).await?;
                let arguments = upstream::arguments(&home.kubeconfig, stage, &version);
                self.process(stage, &home, &program, (arguments, BTreeMap::new()), version).await
            }
            Self::Reference(one, which) => {
                let (program, version) = one.process(which.as_deref().filter(|which| !is_process(Some(which)))).await?;
                let turn = one.turn().await?;
                let options = one.process_options(stage)?;
                let running = self.process(stage, &home, &program, options, version).await?;
                Ok(Running { _turn: Some(turn), ..running })
            }
            Self::Command(words) => {
                let program = command::find(&words[0])?;
                let version = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.process(stage, &home, &program, (words[1..].to_vec(), BTreeMap::new()), version).await
            }
            Self::Virtual(_) => Err(SubjectError::OnlyVirtual(self.to_string())),
            Self::Deployment(path) => {
                let (pods, version) = deployment::start(path, stage).await?;
                Ok(Running { identity: self.identity(&version), life: Life::Pods(Box::new(pods)), _turn: None })
            }
        }
    }

    async fn process(
        &self,
        stage: &Stage<'_>,
        home: &Home,
        program: &Path,
        options: (Vec<String>, BTreeMap<String, String>),
        version: String,
    ) -> Result<Running, SubjectError> {
        let log = stage.folder.join("output.log");
        let supervisor = stage.supervisor.ok_or_else(|| SubjectError::Outside(self.to_string()))?;
        let printed = log.metadata().map_or(0, |file| file.len());
        let process = command::process(program, options, home, stage, &log)?;
        let child = supervisor.spawn(process)?;
        Ok(Running { identity: self.identity(&version), life: Life::Process { child, log, printed }, _turn: None })
    }

    /// What kind of subject it is.
    pub fn kind(&self) -> SubjectKind {
        match self {
            Self::Ours | Self::OursFixed | Self::OursProcess(_) => SubjectKind::Ours,
            Self::Upstream(_) | Self::UpstreamProcess(_) => SubjectKind::Upstream,
            Self::Reference(..) => SubjectKind::Reference,
            Self::Command(_) | Self::Virtual(_) => SubjectKind::Command,
            Self::Deployment(_) => SubjectKind::Deployment,
        }
    }

    /// The subject, whose program says of itself what `--version` prints: `kube-controller-manager
    /// v1.36.3`. A last word that is no version belongs to the program's name.
    fn identity(&self, said: &str) -> Identity {
        let is_version = |word: &str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
        match said.rsplit_once(' ').filter(|(_, word)| is_version(word)) {
            Some((program, version)) => Identity::new(self, program, version),
            None => Identity::new(self, said, ""),
        }
    }
}

impl Running {
    /// Why it no longer runs, with its last words, if it does not.
    pub fn exited(&self) -> Option<Trouble> {
        match &self.life {
            Life::Task(task) => task.ended().map(|why| Trouble::ended(format!("{ENDED}: {why}"))),
            Life::Virtual(task) => task.ended(),
            Life::Process { child, log, printed } => {
                let said = |status| format!("{ENDED} ({status}){}", command::last_words(log, *printed));
                child.exited().map(said).map(Trouble::ended)
            }
            Life::Pods(pods) => pods.ended().map(Trouble::ended),
        }
    }

    /// What it printed at its start and prints from now on, where that is to be had: as a task of
    /// this process it has no log of its own.
    pub fn log_source(&self) -> Option<LogSource> {
        match &self.life {
            Life::Task(_) => None,
            Life::Virtual(task) => Some(task.log_source()),
            Life::Process { log, printed, .. } => Some(LogSource::of_file(log, *printed)),
            Life::Pods(pods) => Some(pods.log_source()),
        }
    }

    /// Kill it, with no chance to finish anything, and wait until it is gone.
    pub async fn kill(self) {
        match self.life {
            Life::Task(task) => task.kill().await,
            Life::Virtual(task) => task.end().await,
            Life::Process { child, .. } => {
                child.kill();
                child.wait_exit().await;
            }
            // Its pods are deleted; those of another start are new ones.
            Life::Pods(pods) => pods.stop().await,
        }
    }

    /// End it and wait until it is gone.
    pub async fn stop(self) {
        match self.life {
            Life::Task(task) => task.stop().await,
            Life::Virtual(task) => task.end().await,
            Life::Process { child, .. } => command::end(&child).await,
            Life::Pods(pods) => pods.stop().await,
        }
    }
}

/// Whether `process` stands where a version or a path may.
fn is_process(which: Option<&str>) -> bool {
    which == Some("process")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ours", "deployment,replicaset", None)]
    #[case("upstream", "replicaset", None)]
    #[case("upstream", "config-restart", Some("has no config-restart controller to judge"))]
    #[case("ours", "config-restart", None)]
    #[case("xing", "config-restart", None)]
    #[case("xing", "deployment", Some("has no Deployment controller to judge"))]
    #[case("command:sleep 1000", "deployment,replicaset", None)]
    #[case("deployment:controller/deploy", "deployment", None)]
    #[case("deployment:controller/deploy", "deployment,replicaset", Some("its own pods need one"))]
    fn what_a_subject_can_bring(#[case] spec: &str, #[case] controllers: &str, #[case] refusal: Option<&str>) {
        let found = spec.parse::<Spec>().unwrap().can_bring(&controllers.parse().unwrap());
        let found = found.err().map(|error| error.to_string());
        assert!(found.as_ref().map(|said| said.contains(refusal.unwrap_or("?"))) == refusal.map(|_| true), "{found:?}");
    }
}
