//! The words that all of this room use.

use jiff::Timestamp;

use super::breach::Breach;
use crate::recording::{FileName, Recording};
use crate::timeline::Invariant;

pub(super) const DEPLOYMENT: &str = "Deployment";
pub(super) const REPLICA_SET: &str = "ReplicaSet";
pub(super) const POD: &str = "Pod";

/// The kinds that are watched.
pub(super) const KINDS: [&str; 3] = [DEPLOYMENT, REPLICA_SET, POD];

/// How much is forgiven and kept. Times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How old what a controller acted on may have been.
    pub staleness: u64,
    /// For how long nothing must have changed before a status is asked.
    pub settle: u64,
    /// How far back evidence goes, and for how long a breach is not reported again.
    pub keep: u64,
    /// How much all versions that are kept for evidence may weigh, in bytes of JSON.
    pub bytes: usize,
    /// Whether evidence has numbers for names and values, also in the names of its files.
    pub anonymise: bool,
}

/// Where it is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// What the cluster is called.
    pub(crate) cluster: String,
    /// The server's version.
    pub(crate) version: String,
    /// When time began.
    pub(crate) began: Timestamp,
}

/// A breach in the making.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The Deployment's UID.
    pub(super) group: String,
    /// `None`: a status.
    pub(super) invariant: Option<Invariant>,
    pub(super) detail: String,
    pub(super) rv: Option<u64>,
    pub(super) at: u64,
}

/// What comes out.
#[derive(Debug)]
pub(crate) enum Output {
    /// A breach.
    Breach(Box<Breach>),
    /// The evidence for breaches, and the name of its file.
    Evidence(FileName, Box<Recording>),
    /// Something to be noted.
    Note(String),
}
