//! The report of a breach: as a line, and as JSON.

use std::fmt::{Display, Formatter};

use serde::Serialize;

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
