//! Why a subject could not be named or started.

use std::path::PathBuf;

use super::ManifestError;
use crate::cluster;
use crate::controllers::Controller;

/// Why a subject could not be named or started.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The words on the command line are off.
    #[error(
        "unknown subject '{0}'{hint}: expected ours, ours:fixed, ours:process, upstream, upstream:VERSION, upstream:PATH, upstream:process, \
         xing, reloader, \"command:PROGRAM ARGUMENTS\", virtual:PROGRAM or deployment:MANIFEST",
        hint = hint(.0)
    )]
    Unknown(String),
    /// The words of a command cannot be told apart.
    #[error(
        "unclosed quote in '{0}': quote a command's arguments as in a shell, e.g. \"command:./controller --name 'a b'\""
    )]
    Quotes(String),
    /// It does not have a controller that is to be judged.
    #[error("{subject} has no {title} to judge; choose another subject, or cases that judge another controller",
        title = .controller.title())]
    Lacks {
        /// The subject.
        subject: String,
        /// What it does not have.
        controller: Controller,
    },
    /// The program is not there.
    #[error("{what} does not exist: {path}; {remedy}")]
    Missing {
        /// What it is.
        what: &'static str,
        /// Where it was looked for.
        path: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The program is there and cannot be run.
    #[error("the subject's program {} is {}", path.display(), if *.folder {
        "a folder; give the path of an executable file"
    } else {
        "not executable; make it so (chmod +x), or name the interpreter that runs it, such as \"command:python3 FILE\""
    })]
    NotAProgram {
        /// Where it is.
        path: PathBuf,
        /// Whether it is a folder.
        folder: bool,
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
    /// The manifest is not one.
    #[error("manifest {} {source}", path.display())]
    Manifest {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        source: ManifestError,
    },
    /// It does not live long enough to be judged.
    #[error("{subject} exited after each of {times} starts; the last time: {why}")]
    EndsAtStart {
        /// The subject.
        subject: String,
        /// How often it was started.
        times: u32,
        /// How it ended the last time.
        why: String,
    },
    /// Pods need a node that runs them.
    #[error("deployment:{} runs as pods, so it needs a cluster with nodes; add --cluster kind", .0.display())]
    Elsewhere(PathBuf),
    /// Its own pods are made by the controller that it would bring.
    #[error("deployment:{} cannot be judged as a ReplicaSet controller, because its own pods need one; use command:…", .0.display())]
    ItsOwnMaker(PathBuf),
    /// Something of the manifest's stands in the way.
    #[error("{0} exists already and was not made by lockstep; remove it, or choose another cluster")]
    There(String),
    /// What an earlier run has left does not go.
    #[error("{what}, left by an earlier run, was not removed within {seconds} s; is the cluster overloaded?")]
    Stays {
        /// Which object.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The cluster does not take an object of the manifest's.
    #[error("cannot make {what}: {source}")]
    Install {
        /// Which.
        what: String,
        /// What the server says.
        source: Box<kube::Error>,
    },
    /// An image of the manifest's is nowhere to be had.
    #[error(
        "the image of {who} is not available: {why}; build it with the local engine, or name one that the node can pull"
    )]
    NoImage {
        /// The pod.
        who: String,
        /// What it says.
        why: String,
    },
    /// Its pods do not become ready.
    #[error("the subject's {who} was not ready within {seconds} s: {why}")]
    NotReady {
        /// The pod.
        who: String,
        /// How long it was waited for.
        seconds: u64,
        /// What it waits for, its last words, and what the interceptor has seen of it.
        why: String,
    },
    /// It acts, and not through the interceptor.
    #[error(
        "{0} changes the cluster, but none of its requests came through the interceptor; it must use KUBECONFIG, or in a pod the cluster's own way: KUBERNETES_SERVICE_HOST and its service account"
    )]
    BypassInterceptor(String),
    /// A simulated cluster has no address.
    #[error(
        "{0} runs outside this process, and here the simulated cluster cannot be reached from outside; add --cluster control-plane"
    )]
    Outside(String),
    /// The program with upstream's controllers in virtual time is not there.
    #[error(
        "kube-controller-manager-virtual {0} is not built; `scripts/upstream-virtual {0}` builds it, which takes minutes, once"
    )]
    NotBuilt(String),
    /// Another project's controller is not there.
    #[error(
        "{name} {version} is not built; `scripts/reference-controllers {name} FOLDER` builds it from a checkout of its source"
    )]
    ReferenceNotBuilt {
        /// The subject's name.
        name: &'static str,
        /// The version that cases come from.
        version: &'static str,
    },
    /// The words for a cluster's controllers are off.
    #[error("unknown cluster controllers '{0}': expected simulated, upstream or upstream:VERSION")]
    UnknownClusterControllers(String),
    /// Upstream's controllers have the simulation's clock, and the subject the machine's.
    #[error(
        "{subject} runs as a process, in real time, and --cluster-controllers {controllers} in virtual time; judge ours or upstream, \
         or add --cluster control-plane, whose controllers are upstream's"
    )]
    OnAnotherClock {
        /// The subject.
        subject: String,
        /// The cluster's controllers.
        controllers: String,
    },
    /// A program without a clock and a network of its own needs the simulation.
    #[error("{0} runs in virtual time, which only the simulated cluster has; add --cluster sim")]
    OnlyVirtual(String),
    /// A program for virtual time does not start.
    #[error("cannot start {subject} in virtual time: {why}")]
    Virtual {
        /// The subject.
        subject: String,
        /// What went wrong.
        why: String,
    },
    /// The client for a subject in this process could not be made.
    #[error("cannot make the subject's client: {0}")]
    Client(String),
}

/// What was probably meant by the words of a subject.
fn hint(text: &str) -> String {
    if text == "command:" {
        return ", which names no program".to_owned();
    }
    if text.starts_with("upstream:v") {
        return format!(" (a version has three numbers, such as upstream:{})", cluster::DEFAULT_VERSION);
    }
    if !text.contains(':') && (text.contains('/') || text.contains('.')) {
        return format!(" (did you mean \"command:{text}\"?)");
    }
    String::new()
}
