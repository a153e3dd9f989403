use std::path::PathBuf;

use super::containers::ContainersError;
use super::engine::EngineError;
use super::existing::{ContextError, TenancyError};
use super::kind::KindError;
use crate::supervise::{Exit, SuperviseError};

/// Why a cluster cannot be started or used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The programs are not installed and cannot be built.
    #[error(
        "kube-apiserver, kube-controller-manager and etcd {version} are not installed: {why}; install Go, so that they can be built, or set LOCKSTEP_BIN to a folder that has them"
    )]
    Binaries {
        /// The requested version.
        version: String,
        /// What is missing.
        why: String,
    },
    /// The simulated server has one version, and another was requested.
    #[error("the simulated server cannot act as {0}; leave --k8s-version out, or choose another --cluster")]
    UnsupportedVersion(String),
    /// TLS cannot be set up for the simulated server.
    #[error("cannot set up TLS for the simulated server: {0}")]
    Tls(String),
    /// A file or folder of the cluster cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder for temporary files has no place for the harness's own.
    #[error("cannot create {}: {source}; set TMPDIR to a folder that can be written to", path.display())]
    TempDir {
        /// The harness's own folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Other users can access the state folder.
    #[error("{} must be a folder that only this user can access; remove it, or set TMPDIR to another folder", .0.display())]
    NotPrivate(PathBuf),
    /// A certificate or a key cannot be created.
    #[error("cannot make certificates: {0}")]
    Certificates(#[from] rcgen::Error),
    /// No port is free on loopback.
    #[error("no free port on 127.0.0.1: {0}")]
    Port(std::io::Error),
    /// A program cannot be started.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// A program exited while the cluster was starting.
    #[error("{program} ended while the cluster was starting ({exit}); its log {} says\n{excerpt}", log.display())]
    Exited {
        /// The program's name.
        program: String,
        /// How it exited.
        exit: Exit,
        /// The path of its log.
        log: PathBuf,
        /// The lines of the log that report errors, or else its first and last.
        excerpt: String,
    },
    /// The server does not become ready.
    #[error("kube-apiserver was not ready after {seconds} s; its log {} says\n{excerpt}", log.display())]
    NotReady {
        /// The time limit.
        seconds: u64,
        /// The path of its log.
        log: PathBuf,
        /// The lines of the log that report errors, or else its first and last.
        excerpt: String,
    },
    /// A client for the cluster cannot be built.
    #[error("cannot make a client for {server}: {why}")]
    Client {
        /// The server's address.
        server: String,
        /// The cause.
        why: String,
    },
    /// The server refuses a request of the harness.
    #[error("{action}: {}", server_message(source))]
    Request {
        /// What the harness was doing.
        action: &'static str,
        /// The server's or the connection's error.
        source: Box<kube::Error>,
    },
    /// The container engine cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Containers cannot be used.
    #[error(transparent)]
    Containers(#[from] ContainersError),
    /// kind cannot be used.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// The user's kubeconfig context cannot be used.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The user's cluster cannot be used.
    #[error(transparent)]
    Tenancy(#[from] TenancyError),
    /// An earlier attempt of the same run failed, for this reason.
    #[error("{0} (found by an earlier trial of this run)")]
    FailedEarlier(String),
    /// A thread of the harness ended early.
    #[error("the harness stopped while waiting: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// The server's message, without the rest of its answer.
pub(super) fn server_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}

impl ClusterError {
    /// For `map_err`: adds the path of the file.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// For `map_err`: adds what the harness was doing.
    pub(super) fn request(action: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Request { action, source: Box::new(source) }
    }
}
