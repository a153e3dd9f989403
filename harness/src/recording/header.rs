//! The first line of a recording: what was run, where and for whom.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::controllers::Controllers;
use crate::workload::Workload;

/// What was run, where and for whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// See [`FORMAT`](super::FORMAT).
    pub format: u32,
    /// `area/name`.
    pub case: String,
    /// The case file's path, as it was given.
    pub path: String,
    /// The case file's text, so that a recording explains itself.
    pub source: String,
    /// What the case judges; what else is in the recording is there to be read.
    #[serde(default)]
    pub judged: Controllers,
    /// What the subject brought; the cluster had the rest.
    #[serde(default)]
    pub under_test: Controllers,
    /// The namespace that the case ran in.
    pub namespace: String,
    /// Who was judged: `upstream`, `ours`, `command:…`, and what it calls itself.
    pub subject: Identity,
    /// Of which kind that is.
    pub kind: SubjectKind,
    /// Where: `control-plane`, …, and the server's version.
    pub cluster: Identity,
    /// Whose the controllers of a simulated cluster were, if not this project's own: `upstream`,
    /// and its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_controllers: Option<Box<Identity>>,
    /// What the Deployments of the recording were on the cluster, if not Deployments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Box<Workload>>,
    /// Whether a kubelet ran the pods.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_pods: bool,
    /// The definitions that the case brought and whose rules in CEL the server did not evaluate, by
    /// name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unevaluated: Vec<String>,
    /// What the simulated cluster's chances were drawn from; `None` where time is real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// When, RFC 3339.
    pub started: String,
}

/// What a controller or a cluster is called, and which program that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// What the user called it on the command line, e.g. `upstream`.
    pub name: String,
    /// The program behind the name: `kube-controller-manager`.
    pub program: String,
    /// The program's version, as it says it: `v1.36.3`; empty where it says none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
}

impl Identity {
    /// One of these.
    pub fn new(name: impl Display, program: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.to_string(), program: program.into(), version: version.into() }
    }

    /// The program and its version: `kube-controller-manager v1.36.3`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.program, self.version).trim().to_owned()
    }
}

/// The name and the program behind it: `upstream (kube-controller-manager v1.36.3)`.
impl Display for Identity {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name, self.title())
    }
}

/// Who is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SubjectKind {
    /// This project's controller.
    Ours,
    /// Upstream's kube-controller-manager, of whichever version.
    Upstream,
    /// Another project's config-restart controller, by its name.
    Reference,
    /// A program of the user's.
    Command,
    /// A controller that runs as pods of the cluster.
    Deployment,
    /// Whoever looks after Deployments on the live cluster that was captured.
    Cluster,
}

/// A length of time, at most some thirty thousand years, so that what is made of it stays a number.
pub(super) fn milliseconds<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(u64::deserialize(from)?.min(1_000_000_000_000_000))
}
