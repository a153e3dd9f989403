//! Types that the whole module uses.

use std::fmt::{Display, Formatter};

use jiff::Timestamp;
use lockstep_recording::{FileName, Recording};
use lockstep_timeline::Invariant;
use serde::Serialize;

pub(super) const DEPLOYMENT: &str = "Deployment";
pub(super) const REPLICA_SET: &str = "ReplicaSet";
pub(super) const POD: &str = "Pod";

/// The watched kinds.
pub(super) const KINDS: [&str; 3] = [DEPLOYMENT, REPLICA_SET, POD];

/// How much is tolerated and stored. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerances {
    /// How old the state may be that a controller acts on.
    pub staleness: u64,
    /// How long nothing must have changed before a status is checked.
    pub settle: u64,
    /// How far back evidence reaches, and for how long a breach is not reported again.
    pub keep: u64,
    /// The most memory of all versions stored for evidence, in bytes of JSON.
    pub bytes: usize,
    /// Whether evidence has numbers instead of names and values, also in the names of its files.
    pub anonymise: bool,
}

/// The monitored cluster.
#[derive(Debug, Clone)]
pub(crate) struct ClusterInfo {
    /// The name of the cluster.
    pub(crate) cluster: String,
    /// The server's version.
    pub(crate) version: String,
    /// The time at which the monitor started.
    pub(crate) began: Timestamp,
}

/// A breach that may still be excused or a repetition.
#[derive(Debug, Clone)]
pub(super) struct BreachCandidate {
    /// The Deployment's UID.
    pub(super) group: String,
    /// `None`: a wrong status.
    pub(super) invariant: Option<Invariant>,
    pub(super) detail: String,
    pub(super) rv: Option<u64>,
    pub(super) at: u64,
}

/// A result of the monitor.
#[derive(Debug)]
pub(crate) enum MonitorOutput {
    Breach(Box<BreachReport>),
    /// The evidence of breaches, and the name of its file.
    Evidence(FileName, Box<Recording>),
    /// A message for the user.
    Note(String),
}

/// A broken invariant, or a status that stays wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreachReport {
    /// The time, RFC 3339.
    pub time: String,
    /// The name of the cluster.
    pub cluster: String,
    /// The Deployment's namespace.
    pub namespace: String,
    /// The Deployment's name.
    pub deployment: String,
    /// Its UID.
    pub uid: String,
    /// The invariant's name, or `status`.
    pub rule: &'static str,
    /// The rule as a sentence.
    #[serde(rename = "says")]
    pub statement: &'static str,
    /// What was observed.
    pub detail: String,
    /// The resourceVersion of the write that broke the rule, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<u64>,
    /// The path of the evidence file, once it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Whether the same breach of this Deployment was reported a short time ago.
    #[serde(skip)]
    pub is_repeated: bool,
}

/// The rule about statuses.
pub(super) const STATUS: (&str, &str) = ("status", "a status sums up what it is about");

impl Display for BreachReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { time, namespace, deployment, rule, detail, .. } = self;
        write!(f, "{time} {namespace}/{deployment} {rule}: {detail}")?;
        match &self.evidence {
            Some(file) => write!(f, " (evidence: {file})"),
            None => Ok(()),
        }
    }
}
