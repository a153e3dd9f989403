//! The first line of a recording: what was run, where, and with which subject.

use std::fmt::{Display, Formatter};

use lockstep_workload::Workload;
use serde::{Deserialize, Serialize};

use crate::controllers::ControllerSet;

/// What was run, where, and with which subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// See [`FORMAT`](crate::FORMAT).
    pub format: u32,
    /// `area/name`.
    pub case: String,
    /// The case file's path, as the user gave it.
    pub path: String,
    /// The case file's text, so that a recording is self-contained.
    pub source: String,
    /// The controllers that the case judges; everything else in the recording is for information.
    #[serde(default, rename = "judged")]
    pub controllers: ControllerSet,
    /// The controllers that the subject brought; the cluster ran the others.
    #[serde(default)]
    pub under_test: ControllerSet,
    /// The namespace that the case ran in.
    pub namespace: String,
    /// The subject: `upstream`, `ours`, `command:…`, and its program.
    pub subject: Identity,
    /// The kind of subject.
    pub kind: SubjectKind,
    /// The cluster: `control-plane`, …, and the server's version.
    pub cluster: Identity,
    /// Whose controllers a simulated cluster ran, if not this project's: `upstream`, and its
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_controllers: Option<Box<Identity>>,
    /// The kind that stood in for Deployments on the cluster, if it was not Deployments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Box<Workload>>,
    /// Whether a kubelet ran the pods.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_pods: bool,
    /// The names of the case's CustomResourceDefinitions whose CEL rules the server did not
    /// evaluate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unevaluated: Vec<String>,
    /// The seed of the simulated cluster; `None` if time is real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// When, RFC 3339.
    pub started: String,
}

/// The name and the program of a controller or a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The name on the command line, e.g. `upstream`.
    pub name: String,
    /// The program behind the name: `kube-controller-manager`.
    pub program: String,
    /// The version that the program reports: `v1.36.3`; empty if it reports none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
}

impl Identity {
    /// An identity of these parts.
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

/// The kind of subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SubjectKind {
    /// This project's controller.
    Ours,
    /// Another project's config-restart controller.
    Upstream,
    /// Another project's config-restart controller, by its name.
    Reference,
    /// A program of the user's.
    Command,
    /// A controller that runs as pods of the cluster.
    Deployment,
    /// The controllers of the live cluster that was captured.
    Cluster,
}
