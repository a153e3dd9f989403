//! Errors that end a process, or prevent its start.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::Address;
use crate::runtime::RunError;

/// Why a process ended.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// Another process may act now.
    #[error("leaderelection lost: lease {lease}: {why}; restart the process")]
    Lost {
        /// Namespace and name of the lease.
        lease: String,
        /// What happened.
        why: String,
    },
    /// The election's settings are inconsistent.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The controller ended.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What is wrong with an election.
#[derive(Debug, Error)]
pub enum ElectionError {
    /// No identity.
    #[error("leader election needs an identity; set the host's name")]
    NoIdentity,
    /// No lease.
    #[error(
        "a lease needs a name and a namespace; see --leader-elect-resource-name and --leader-elect-resource-namespace"
    )]
    NoLeaseName,
    /// No pause.
    #[error("--leader-elect-retry-period must be greater than zero")]
    NoPause,
    /// A leader could act after the others took over.
    #[error(
        "--leader-elect-lease-duration is {lease:?} in whole seconds; it must be greater than the renew deadline of {deadline:?}"
    )]
    Lease {
        /// As written to the lease.
        lease: Duration,
        /// The renew deadline.
        deadline: Duration,
    },
    /// One failure costs the lease.
    #[error(
        "--leader-elect-renew-deadline is {deadline:?}; it must be greater than 1.2 times the retry period of {pause:?}"
    )]
    Deadline {
        /// The renew deadline.
        deadline: Duration,
        /// The pause between tries.
        pause: Duration,
    },
}

/// An address that cannot be listened on.
#[derive(Debug, Error)]
#[error("cannot listen on {address}: {source}; see --metrics-bind-address and --health-probe-bind-address")]
pub struct BindError {
    pub(super) address: Address,
    /// The reason.
    #[source]
    pub(super) source: std::io::Error,
}

/// Metrics that cannot be secured.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A certificate or key file.
    #[error("cannot use the metrics certificate {path}: {why}; see --metrics-cert-path", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The self-signed certificate.
    #[error("cannot make a certificate for the metrics: {0}; give one with --metrics-cert-path")]
    Make(String),
}
