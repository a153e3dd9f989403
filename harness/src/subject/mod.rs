//! What is judged: a controller that is given a kubeconfig which leads to the gate, and nothing else.
//!
//! A subject is named on the command line ([`Spec`]) and started ([`Spec::start`]). Whatever it is written in, it
//! runs at its own pace; the harness sees its requests at the gate and its process, never its inside. Only `ours` names
//! this project's own controller.

mod command;
mod ours;
mod upstream;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::cluster;
use crate::recording::Identity;
use crate::supervise::{Child, Supervisor};

/// Which controller to judge, as written on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// `ours`: this project's controller, as a task of this process.
    Ours,
    /// `ours:fixed`: the same, with those of upstream's defects mended that leave a Deployment stuck.
    OursFixed,
    /// `ours:process` or `ours:PATH`: the real binary as a child process.
    OursProcess(Option<PathBuf>),
    /// `upstream`, `upstream:v1.36.3` or `upstream:PATH`: kube-controller-manager with only the controllers under test.
    Upstream(Option<String>),
    /// `command:PROGRAM ARGUMENTS…`: anything that takes KUBECONFIG from its environment.
    Command(Vec<String>),
}

/// Why a subject could not be named or started.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The words on the command line are off.
    #[error(
        "'{0}' is no subject; use ours, ours:fixed, ours:process, upstream, upstream:VERSION, upstream:PATH or \"command:PROGRAM ARGUMENTS\""
    )]
    Unknown(String),
    /// The program is not there.
    #[error("{what} is not there: {path}; {remedy}")]
    Missing {
        /// What it is.
        what: &'static str,
        /// Where it was looked for.
        path: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The binaries of an upstream version could not be had.
    #[error(transparent)]
    Binaries(#[from] cluster::ClusterError),
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] crate::supervise::SuperviseError),
    /// A file could not be written, or the program could not be asked for its version.
    #[error("cannot prepare the subject: {0}")]
    Io(#[from] std::io::Error),
    /// The client for a subject in this process could not be made.
    #[error("cannot make the subject's client: {0}")]
    Client(String),
}

impl FromStr for Spec {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || SubjectError::Unknown(text.to_owned());
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        match (name, rest) {
            (_, Some("")) => Err(unknown()),
            ("ours", None) => Ok(Self::Ours),
            ("ours", Some("fixed")) => Ok(Self::OursFixed),
            ("ours", Some("process")) => Ok(Self::OursProcess(None)),
            ("ours", Some(path)) => Ok(Self::OursProcess(Some(path.into()))),
            ("upstream", version) => Ok(Self::Upstream(version.map(str::to_owned))),
            ("command", Some(words)) => {
                let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
                if words.is_empty() { Err(unknown()) } else { Ok(Self::Command(words)) }
            }
            _ => Err(unknown()),
        }
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ours => write!(f, "ours"),
            Self::OursFixed => write!(f, "ours:fixed"),
            Self::OursProcess(None) => write!(f, "ours:process"),
            Self::OursProcess(Some(path)) => write!(f, "ours:{}", path.display()),
            Self::Upstream(None) => write!(f, "upstream"),
            Self::Upstream(Some(version)) => write!(f, "upstream:{version}"),
            Self::Command(words) => write!(f, "command:{}", words.join(" ")),
        }
    }
}

/// What a subject is started with. Not to be printed: a kubeconfig holds a token.
pub struct Stage<'a> {
    /// The kubeconfig that leads to the gate.
    pub kubeconfig: String,
    /// A folder of the harness's own for the subject's files; gone after the run.
    pub folder: &'a Path,
    /// Who keeps child processes.
    pub supervisor: &'a Supervisor,
    /// Controllers that the subject brings, by short name; the cluster has left them out.
    pub controllers: &'a BTreeSet<String>,
}

/// A running subject.
#[derive(Debug)]
pub struct Running {
    /// What it was called, and what it calls itself.
    pub identity: Identity,
    life: Life,
}

#[derive(Debug)]
enum Life {
    Task(ours::Task),
    Process { child: Child, log: PathBuf },
}

impl Spec {
    /// Check what can be checked without a cluster: a program that is not there is bad usage, not a verdict.
    ///
    /// # Errors
    /// [`SubjectError::Missing`].
    pub fn check(&self) -> Result<(), SubjectError> {
        match self {
            Self::Command(words) => command::find(&words[0]).map(drop),
            Self::OursProcess(path) => ours::binary(path.as_deref()).map(drop),
            Self::Upstream(Some(path)) if upstream::is_path(path) => upstream::check(Path::new(path)),
            Self::Upstream(Some(version)) if !cluster::is_version(version) => {
                Err(SubjectError::Unknown(self.to_string()))
            }
            Self::Ours | Self::OursFixed | Self::Upstream(_) => Ok(()),
        }
    }

    /// Start it.
    ///
    /// # Errors
    /// See [`SubjectError`].
    pub async fn start(&self, stage: &Stage<'_>) -> Result<Running, SubjectError> {
        std::fs::create_dir_all(stage.folder)?;
        let kubeconfig = stage.folder.join("kubeconfig");
        std::fs::write(&kubeconfig, &stage.kubeconfig)?;
        restrict(&kubeconfig)?;
        match self {
            Self::Ours | Self::OursFixed => {
                let (task, version) = ours::start(stage, *self == Self::OursFixed).await?;
                Ok(Running { identity: self.identity(&version), life: Life::Task(task) })
            }
            Self::OursProcess(path) => {
                let program = ours::binary(path.as_deref())?;
                let version = command::version(&program).await;
                let arguments = ours::arguments(stage);
                self.process(stage, &kubeconfig, &program, arguments, version).await
            }
            Self::Upstream(which) => {
                let (program, version) = upstream::program(which.as_deref()).await?;
                let arguments = upstream::arguments(&kubeconfig, stage);
                self.process(stage, &kubeconfig, &program, arguments, version).await
            }
            Self::Command(words) => {
                let program = command::find(&words[0])?;
                let version = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.process(stage, &kubeconfig, &program, words[1..].to_vec(), version).await
            }
        }
    }

    async fn process(
        &self,
        stage: &Stage<'_>,
        kubeconfig: &Path,
        program: &Path,
        arguments: Vec<String>,
        version: String,
    ) -> Result<Running, SubjectError> {
        let log = stage.folder.join("output.log");
        let child = stage.supervisor.spawn(command::process(program, arguments, kubeconfig, &log))?;
        Ok(Running { identity: self.identity(&version), life: Life::Process { child, log } })
    }

    fn identity(&self, version: &str) -> Identity {
        Identity { name: self.to_string(), version: version.to_owned() }
    }
}

impl Running {
    /// Why it no longer runs, with its last words, if it does not.
    pub fn exited(&self) -> Option<String> {
        match &self.life {
            Life::Task(task) => task.ended().map(|why| format!("the subject ended: {why}")),
            Life::Process { child, log } => {
                child.exited().map(|status| format!("the subject ended ({status}){}", command::last_words(log)))
            }
        }
    }

    /// End it and wait until it is gone.
    pub async fn stop(self) {
        match self.life {
            Life::Task(task) => task.stop().await,
            Life::Process { child, .. } => command::end(&child).await,
        }
    }
}

/// Only the owner may read it: a kubeconfig holds a token.
fn restrict(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ours")]
    #[case("ours:fixed")]
    #[case("ours:process")]
    #[case("upstream")]
    #[case("upstream:v1.33.13")]
    #[case("command:sleep 1000")]
    fn names_round_trip(#[case] text: &str) {
        assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
    }

    #[rstest]
    #[case("")]
    #[case("theirs")]
    #[case("command:")]
    #[case("command: ")]
    #[case("upstream:")]
    fn others_are_refused(#[case] text: &str) {
        let error = text.parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains("is no subject; use ours"), "{error}");
    }
}
