//! Why a subject cannot be used or started.

use std::path::PathBuf;

use lockstep_cluster as cluster;
use lockstep_recording::Blame;
use lockstep_recording::controllers::Controller;

use super::ManifestError;

/// Why a subject cannot be used or started.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The subject on the command line is not valid.
    #[error(
        "unknown subject '{0}'{hint}: expected ours, ours:fixed, ours:process, upstream, upstream:VERSION, upstream:PATH, upstream:process, \
         xing:PATH, reloader:PATH, \"command:PROGRAM ARGUMENTS\", virtual:PROGRAM or deployment:MANIFEST",
        hint = hint(.0)
    )]
    Unknown(String),
    /// A command has an unclosed quote.
    #[error(
        "unclosed quote in '{0}': quote a command's arguments as in a shell, e.g. \"command:./controller --name 'a b'\""
    )]
    Quotes(String),
    /// It lacks a controller that is to be judged.
    #[error("{subject} has no {title} to judge; choose another subject, or cases that judge another controller",
        title = .controller.title())]
    Lacks {
        /// The subject.
        subject: String,
        /// The missing controller.
        controller: Controller,
    },
    /// A program does not exist.
    #[error("{item} does not exist: {path}; {remedy}")]
    Missing {
        /// What is missing.
        item: &'static str,
        /// Where it was expected.
        path: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The program exists, but cannot be executed.
    #[error("the subject's program {} is {}", path.display(), if *.folder {
        "a folder; give the path of an executable file"
    } else {
        "not executable; make it so (chmod +x), or name the interpreter that runs it, such as \"command:python3 FILE\""
    })]
    NotAProgram {
        /// Its path.
        path: PathBuf,
        /// Whether it is a folder.
        folder: bool,
    },
    /// The binaries of an upstream version are not available.
    #[error(transparent)]
    Binaries(#[from] cluster::ClusterError),
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] lockstep_cluster::supervise::SuperviseError),
    /// A file cannot be written, or the program's version cannot be read.
    #[error("cannot prepare the subject in {folder}: {0}", folder = std::env::temp_dir().display())]
    Io(#[from] std::io::Error),
    /// The manifest is invalid.
    #[error("manifest {} {source}", path.display())]
    Manifest {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        source: ManifestError,
    },
    /// The controller beside the subject does not run.
    #[error("{0}")]
    Beside(String),
    /// It exits too early to be judged.
    #[error("{subject} exited after each of {times} starts; the last time: {why}")]
    EndsAtStart {
        /// The subject.
        subject: String,
        /// The number of starts.
        times: u32,
        /// Whose fault that is.
        blame: Blame,
        /// How it exited the last time.
        why: String,
    },
    /// A subject that runs as pods needs a cluster with nodes.
    #[error("deployment:{} runs as pods, so it needs a cluster with nodes; add --cluster kind", .0.display())]
    Elsewhere(PathBuf),
    /// Its own pods need the controller that it would bring.
    #[error("deployment:{} cannot be judged as a ReplicaSet controller, because its own pods need one; use command:…", .0.display())]
    ItsOwnMaker(PathBuf),
    /// An object of the manifest exists already.
    #[error("{0} exists already and was not made by lockstep; remove it, or choose another cluster")]
    There(String),
    /// An object of an earlier run is not removed in time.
    #[error("{object}, left by an earlier run, was not removed within {seconds} s; is the cluster overloaded?")]
    Stays {
        /// The object.
        object: String,
        /// The time limit.
        seconds: u64,
    },
    /// The cluster refuses an object of the manifest.
    #[error("cannot make {object}: {source}")]
    Install {
        /// The object's kind and name.
        object: String,
        /// The server's error.
        source: Box<kube::Error>,
    },
    /// An image of the manifest is not available.
    #[error(
        "the image of {pod} is not available: {why}; build it with the local engine, or name one that the node can pull"
    )]
    NoImage {
        /// The pod.
        pod: String,
        /// The reason.
        why: String,
    },
    /// Its pods do not become ready.
    #[error("the subject's {pod} was not ready within {seconds} s: {why}")]
    NotReady {
        /// The pod.
        pod: String,
        /// The time limit.
        seconds: u64,
        /// What it waits for, an excerpt of its log, and what the interceptor has seen of it.
        why: String,
    },
    /// Its requests do not go through the interceptor.
    #[error(
        "{0} changes the cluster, but none of its requests came through the interceptor; it must use KUBECONFIG, or in a pod the cluster's own way: KUBERNETES_SERVICE_HOST and its service account"
    )]
    BypassInterceptor(String),
    /// The simulated cluster in this process has no address.
    #[error(
        "{0} runs outside this process, and here the simulated cluster cannot be reached from outside; add --cluster control-plane"
    )]
    Outside(String),
    /// The program with upstream's controllers in virtual time is not built.
    #[error(
        "kube-controller-manager-virtual {0} is not built; `scripts/fetch virtual {0}` builds it, which takes minutes, once"
    )]
    NotBuilt(String),
    /// A version of kube-controller-manager is not on this machine.
    #[error(
        "kube-controller-manager {0} is not here; `scripts/fetch controller-manager {0}` downloads or builds it, which takes \
         minutes, once; or give the path of one, as upstream:PATH"
    )]
    NotFetched(String),
    /// The cluster's controllers on the command line are not valid.
    #[error("unknown cluster controllers '{0}': expected simulated, upstream or upstream:VERSION")]
    UnknownClusterControllers(String),
    /// The cluster's controllers run in virtual time, and the subject in real time.
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
    /// A program for virtual time needs the simulated cluster.
    #[error("{0} runs in virtual time, which only the simulated cluster has; add --cluster sim")]
    OnlyVirtual(String),
    /// A program for virtual time cannot be started.
    #[error("cannot start {subject} in virtual time: {why}")]
    Virtual {
        /// The subject.
        subject: String,
        /// The cause.
        why: String,
    },
    /// The client for a subject in this process cannot be built.
    #[error("cannot make the subject's client: {0}")]
    Client(String),
}

/// A hint at what was probably meant.
fn hint(text: &str) -> String {
    if text == "command:" {
        return ", which names no program".to_owned();
    }
    if let name @ ("xing" | "reloader") = text.strip_suffix(':').unwrap_or(text) {
        return format!(" (give the path of its program: {name}:PATH)");
    }
    if text.starts_with("upstream:v") {
        return format!(" (a version has three numbers, such as upstream:{})", cluster::DEFAULT_VERSION);
    }
    if !text.contains(':') && (text.contains('/') || text.contains('.')) {
        return format!(" (did you mean \"command:{text}\"?)");
    }
    String::new()
}
