//! A case, validated: what the driver executes and the judge quotes. Only `case::file` makes one.

use std::collections::BTreeSet;

pub use super::middle::{Decided, DecidedWhat, During, Fault, FaultAction, FaultPoint, Life, Moment};
pub use super::operations::{Action, Advance, Change, Drive, DriveError, Form, Names, Operation, Performing, label};
pub use super::restart::{Beside, RestartOptions, RestartProfile, RestartWebhook};
use crate::controllers::Controllers;
use crate::expect::Expect;
use crate::rules::{Expectation, Rule};
use crate::secret::Redaction;
use crate::workload::Workload;

/// One case: a YAML file under `cases/<area>/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `area/name`, from the file's path: `rolling/surge-25pct`.
    pub name: String,
    /// The path as it was given.
    pub path: String,
    /// The file's text, without the values of its Secrets.
    pub source: String,
    /// What took the values of Secrets out of the text.
    pub(crate) redaction: Redaction,
    /// What the case is about, one sentence.
    pub description: String,
    /// Groups that it belongs to.
    pub tags: BTreeSet<String>,
    /// What is judged, and what a subject must therefore bring.
    pub controllers: Controllers,
    /// Nodes that the pods are bound to in turn; empty: a node of its own for each pod.
    pub nodes: Vec<String>,
    /// Who gives pods their nodes.
    pub bindings: Bindings,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Who runs the pods, where there is a choice.
    pub pods: PodKind,
    /// The kind that stands in for Deployments, where the subject looks after that kind.
    pub workload: Option<Box<Workload>>,
    /// The custom resources that it needs; they are there before it begins.
    pub crds: Vec<Definition>,
    /// Made object by object before the first step; compared as one block.
    pub given: Vec<Step>,
    /// What the world does, one by one.
    pub steps: Vec<Step>,
    /// Whose Deployment controller must run beside the subject; `None`: whichever the cluster has.
    pub beside: Option<Beside>,
    /// How a config-restart controller is to run.
    pub restart: RestartOptions,
    /// The restart profiles that its file stands for, one case each; empty if it stands for this
    /// case alone.
    pub profiles: Vec<RestartProfile>,
    /// What the case is held against.
    pub expectation: Expectation,
    /// What it says of every frame, of one of them, or of the end.
    pub rules: Vec<Rule>,
}

/// A CustomResourceDefinition that a case brings.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    /// The manifest, in the case.
    Inline(serde_json::Value),
    /// The name of a file with manifests, relative to the case.
    File(String),
}

/// Who runs the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PodKind {
    /// Nobody: the case alone says what becomes of them.
    #[default]
    Held,
    /// A kubelet, where the cluster has one; the case holds their readiness gate.
    Real,
}

/// Who gives a pod its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bindings {
    /// The driver, at once.
    #[default]
    Auto,
    /// The case: by naming the pod and its node, or by making it ready.
    Held,
}

/// Who finishes the deletion of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminations {
    /// The driver, at once.
    #[default]
    Auto,
    /// The case, by `terminate` steps.
    Held,
}

/// One step of a case and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The line of the case file, from 1.
    pub line: usize,
    /// What it does.
    pub operation: Operation,
    /// What later steps call the moment at which this one begins.
    pub label: Option<String>,
    /// The operation must be refused, with a message that contains this text.
    pub refused: Option<String>,
    /// What comes between the subject's requests while it reacts to this step.
    pub during: Option<During>,
    /// What goes wrong between the subject and the server while it reacts to this step.
    pub fault: Option<Fault>,
    /// Which of the named pods are alive once this has settled.
    pub expect: Option<Expect>,
}

impl Step {
    /// Whether this is the refusal that the step says must come.
    pub fn expects(&self, error: &DriveError) -> bool {
        let Some(text) = &self.refused else { return false };
        match error {
            DriveError::Refused(said) | DriveError::Impossible(said) => said.contains(text),
            // Some refusals come as 500: an annotation that the server cannot convert, for one.
            DriveError::Server(error) => error.to_string().contains(text),
            DriveError::Environment(_) => false,
        }
    }
}

/// An object by kind and name: `deployment/web`, `replicaset/rs2` (rs2: the Deployment's second
/// ReplicaSet by first appearance), `pod/rs2.1` (the first of its pods that is alive), `pod/a` (a
/// pod that the case has named).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Singular, lower case: `deployment`, `replicaset`, `configmap`, `secret`, `pod`.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// The content type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PatchKind {
    /// `application/strategic-merge-patch+json`.
    #[default]
    Strategic,
    /// `application/merge-patch+json`.
    Merge,
    /// `application/json-patch+json`.
    Json,
}

/// What happens to what a deleted object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cascade {
    /// Deleted after it, by the garbage collector.
    #[default]
    Background,
    /// Deleted before it.
    Foreground,
    /// Left behind without an owner.
    Orphan,
}

/// Which pods, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pods {
    /// Only those of this Deployment.
    pub deployment: Option<String>,
    /// Only those whose ReplicaSet carries this revision.
    pub revision: Option<i64>,
    /// Only those of this ReplicaSet.
    pub replica_set: Option<String>,
    /// Only those that the case has given these names, in this order; empty: any.
    pub names: Vec<String>,
    /// `all` (repeats until none is left, new ones included) or a number.
    pub count: Count,
    /// One step for all of them instead of one each.
    pub atomic: bool,
    /// So many at once, until none is left.
    pub every: Option<Share>,
}

/// How many pods move at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// So many.
    Number(u32),
    /// So many percent of the pods that Deployments want, rounded up.
    Percent(u32),
}

impl Share {
    /// The number, of so many pods that are wanted; one at least.
    #[must_use]
    pub fn of(self, wanted: u64) -> u64 {
        let number = match self {
            Self::Number(number) => u64::from(number),
            Self::Percent(percent) => wanted.saturating_mul(percent.into()).div_ceil(100),
        };
        number.max(1)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// What happens to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodOperation {
    /// It becomes Running and Ready.
    Ready,
    /// It is no longer Ready.
    Unready,
    /// Its phase becomes Failed.
    Fail,
    /// Its phase becomes Succeeded.
    Succeed,
    /// Its deletion finishes.
    Terminate,
    /// The case gives it a name.
    Name,
}

/// How many pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Count {
    /// Until none is left, new ones included.
    #[default]
    All,
    /// So many; fewer is an impossible step.
    Exactly(u32),
}

/// Pods that get names, in the order of their age, and traits; a name that is known keeps its pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// Whose pods.
    pub of: Pods,
    /// The names, in the order in which they are given.
    pub names: Vec<(String, Traits)>,
}

/// What a case says of a pod; what it does not say stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traits {
    /// Where it runs.
    pub node: Option<Place>,
    /// Its phase; one that is ready or has restarts is Running by default.
    pub phase: Option<Phase>,
    /// Whether it is ready, and since when.
    pub ready: Option<Readiness>,
    /// Its deletion cost, as the annotation has it.
    pub deletion_cost: Option<String>,
    /// How often its first container was started again.
    pub restarts: Option<i64>,
    /// The same of its first sidecar, an init container that is always restarted.
    pub sidecar_restarts: Option<i64>,
}

/// Where a pod runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nowhere yet.
    Nowhere,
    /// On the node that the case calls so.
    On(String),
}

/// Whether a pod is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It is not.
    No,
    /// Since so many seconds after now; in the past if negative.
    Since(i64),
    /// It is, and nobody says since when.
    SinceUnknown,
}

/// A pod's phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// `Pending`
    Pending,
    /// `Running`
    Running,
    /// `Unknown`
    Unknown,
    /// `Failed`
    Failed,
    /// `Succeeded`
    Succeeded,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Unknown, Self::Failed, Self::Succeeded];

    /// As the API has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Unknown => "Unknown",
            Self::Failed => "Failed",
            Self::Succeeded => "Succeeded",
        }
    }
}
