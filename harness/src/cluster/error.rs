use std::path::PathBuf;

use super::containers::ContainersError;
use super::engine::EngineError;
use super::kind::KindError;
use super::own::{OwnError, TenancyError};
use crate::supervise::{Exit, SuperviseError};

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The programs are not here and cannot be made.
    #[error(
        "kube-apiserver, kube-controller-manager and etcd {version} are not installed: {why}; install Go, so that they can be built, or set LOCKSTEP_BIN to a folder that has them"
    )]
    Binaries {
        /// The version that was asked for.
        version: String,
        /// What is missing.
        why: String,
    },
    /// There is one version whose server is simulated.
    #[error("the simulated server cannot act as {0}; leave --k8s-version out, or choose another --cluster")]
    Unlike(String),
    /// A server of our own cannot speak TLS.
    #[error("cannot set up TLS for the simulated server: {0}")]
    Tls(String),
    /// A file or folder of the cluster's cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The folder for state is not this user's alone.
    #[error("{} must be a folder that only this user can access; remove it, or set TMPDIR to another folder", .0.display())]
    NotPrivate(PathBuf),
    /// A certificate or a key cannot be made.
    #[error("cannot make certificates: {0}")]
    Certificates(#[from] rcgen::Error),
    /// No port is free on loopback.
    #[error("no free port on 127.0.0.1: {0}")]
    Port(std::io::Error),
    /// A program does not start.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// A program ended while the cluster was starting.
    #[error("{program} ended while the cluster was starting ({exit}); its log {} says\n{excerpt}", log.display())]
    Exited {
        /// Which.
        program: String,
        /// How.
        exit: Exit,
        /// Where its log is kept.
        log: PathBuf,
        /// The lines of the log that report errors, or else its first and last.
        excerpt: String,
    },
    /// The server does not become ready.
    #[error("kube-apiserver was not ready after {seconds} s; its log {} says\n{excerpt}", log.display())]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// Where its log is kept.
        log: PathBuf,
        /// The lines of the log that report errors, or else its first and last.
        excerpt: String,
    },
    /// A client for the cluster cannot be made.
    #[error("cannot make a client for {server}: {why}")]
    Client {
        /// The server's address.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// The server refuses what the harness needs.
    #[error("{what}: {}", said(source))]
    Request {
        /// What was wanted.
        what: &'static str,
        /// What the server or the connection says.
        source: Box<kube::Error>,
    },
    /// The container engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Upstream's images in containers.
    #[error(transparent)]
    Containers(#[from] ContainersError),
    /// kind, or what it runs on.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// The cluster of the user's own is not named as it must be.
    #[error(transparent)]
    Own(#[from] OwnError),
    /// The cluster of the user's own cannot be used.
    #[error(transparent)]
    Tenancy(#[from] TenancyError),
    /// An earlier attempt in the same run failed, for this reason.
    #[error("{0} (found by an earlier trial of this run)")]
    Remembered(String),
    /// A thread of the harness's own ended early.
    #[error("the harness stopped while waiting: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// A server's own words, without the whole of its answer around them.
pub(super) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}

impl ClusterError {
    /// For `map_err`: name the file that something went wrong with.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// For `map_err`: say what was asked of a server.
    pub(super) fn request(what: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Request { what, source: Box::new(source) }
    }
}
