//! A validated case: what the driver executes and reports quote. Only `case::file` creates one.

use std::collections::BTreeSet;

use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::pod_expectation::PodExpectation;
use lockstep_recording::secret::Redaction;
use lockstep_workload::Workload;

pub use super::injection::{
    DecisionKind, DecisionMatcher, During, Fault, FaultAction, FaultPoint, InjectionPoint, ProcessAction,
};
pub use super::operations::{AdvanceStep, DeclaredChange, Drive, DriveError, Operation, PerformFuture, label};
pub use super::restart::{CompanionController, RestartOptions, RestartProfile, RestartWebhook};
use crate::rules::{Expectation, Rule};

/// One case: a YAML file under `cases/<area>/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `area/name`, from the file's path: `rolling/surge-25pct`.
    pub name: String,
    /// The path of the file, as the user gave it.
    pub path: String,
    /// The file's text, without the values of its Secrets.
    pub source: String,
    /// Removes the values of Secrets from text.
    pub redaction: Redaction,
    /// What the case is about, one sentence.
    pub description: String,
    /// Tags, which form groups of cases.
    pub tags: BTreeSet<String>,
    /// The controllers that the case judges, which a subject must therefore bring.
    pub controllers: ControllerSet,
    /// Nodes to which the pods are bound in turn; if empty, each pod gets its own node.
    pub nodes: Vec<String>,
    /// Who gives pods their nodes.
    pub bindings: Bindings,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Who runs the pods on a cluster that has a kubelet.
    pub pods: PodKind,
    /// The kind that the case uses in place of Deployments.
    pub workload: Option<Box<Workload>>,
    /// The custom resources that the case needs; they are created before it begins.
    pub crds: Vec<CrdSource>,
    /// Steps that run one by one before the first step; compared as one block.
    pub given: Vec<Step>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Whose Deployment controller must run beside the subject; `None`: the cluster's default.
    pub companion: Option<CompanionController>,
    /// How a config-restart controller is to run.
    pub restart: RestartOptions,
    /// The restart profiles of the file, one case each; empty if the file has a single case.
    pub profiles: Vec<RestartProfile>,
    /// What the case is compared with.
    pub expectation: Expectation,
    /// The case's own rules.
    pub rules: Vec<Rule>,
}

/// A CustomResourceDefinition that a case needs.
#[derive(Debug, Clone, PartialEq)]
pub enum CrdSource {
    /// The manifest.
    Inline(serde_json::Value),
    /// The name of a file with manifests, relative to the case.
    File(String),
}

/// Who runs the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PodKind {
    /// The harness: pods change only when the case says so.
    #[default]
    Held,
    /// A kubelet, if the cluster has one; the case controls a readiness gate.
    Real,
}

/// Who binds pods to nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bindings {
    /// The driver, at once.
    #[default]
    Auto,
    /// The case: by naming the pod and its node, or by making the pod ready.
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

/// One step of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its line in the case file, from 1.
    pub line: usize,
    /// What it does.
    pub operation: Operation,
    /// A label by which later steps and rules refer to the beginning of this step.
    pub label: Option<String>,
    /// The server must refuse the operation, with a message that contains this text.
    pub refused: Option<String>,
    /// Steps that run in the middle of this one.
    pub during: Option<During>,
    /// A fault between the subject and the server while the subject reacts to this step.
    pub fault: Option<Fault>,
    /// Which of the named pods are alive once this step has settled.
    pub expect: Option<PodExpectation>,
}

impl Step {
    /// Whether this is the refusal that the step expects.
    pub fn expects(&self, error: &DriveError) -> bool {
        let Some(text) = &self.refused else { return false };
        match error {
            DriveError::Refused(said) | DriveError::Impossible(said) => said.contains(text),
            // The server answers some refusals with 500, such as an annotation that it cannot
            // convert.
            DriveError::Server(error) => error.to_string().contains(text),
            DriveError::Environment(_) => false,
        }
    }
}

/// An object by kind and name: `deployment/web`, `replicaset/rs2` (the Deployment's second
/// ReplicaSet by first appearance), `pod/rs2.1` (its first pod that is alive), `pod/a` (a pod that
/// the case has named).
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

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cascade {
    /// The garbage collector deletes them after it.
    #[default]
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}

/// A selection of pods, and how many of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodSelection {
    /// Only those of this Deployment.
    pub deployment: Option<String>,
    /// Only those whose ReplicaSet carries this revision.
    pub revision: Option<i64>,
    /// Only those of this ReplicaSet.
    pub replica_set: Option<String>,
    /// Only the pods with these names, in this order; empty: any.
    pub names: Vec<String>,
    /// How many pods.
    pub count: CountSpec,
    /// All pods in one sub-step instead of one each.
    pub atomic: bool,
    /// The number of pods that move in each sub-step, until none is left.
    pub every: Option<BatchSize>,
}

/// How many pods move in one sub-step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    /// A number of pods.
    Number(u32),
    /// A percentage of the pods that Deployments want, rounded up.
    Percent(u32),
}

impl BatchSize {
    /// The number of pods, given how many are desired; at least one.
    #[must_use]
    pub fn of(self, desired: u64) -> u64 {
        let number = match self {
            Self::Number(number) => u64::from(number),
            Self::Percent(percent) => desired.saturating_mul(percent.into()).div_ceil(100),
        };
        number.max(1)
    }
}

impl std::fmt::Display for BatchSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// An operation on a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodOperation {
    /// It becomes Running and Ready.
    Ready,
    /// It becomes not Ready.
    Unready,
    /// Its phase becomes Failed.
    Fail,
    /// Its phase becomes Succeeded.
    Succeed,
    /// Its deletion finishes.
    Terminate,
    /// The case names it.
    Name,
}

impl PodOperation {
    /// Whether `all` includes pods that appear later. Pods that become ready or terminate do not
    /// lead to more such pods without end.
    pub fn repeats(self) -> bool {
        matches!(self, Self::Ready | Self::Terminate)
    }

    /// The name of the operation in a case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Unready => "unready",
            Self::Fail => "fail",
            Self::Succeed => "succeed",
            Self::Terminate => "terminate",
            Self::Name => "pods",
        }
    }

    /// The pods that it needs, in a message.
    pub fn candidate_text(self) -> &'static str {
        match self {
            Self::Ready => "unready pod",
            Self::Unready => "ready pod",
            Self::Fail | Self::Succeed | Self::Name => "pod",
            Self::Terminate => "terminating pod",
        }
    }
}

/// How many pods an operation moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CountSpec {
    /// Until none is left, new ones included.
    #[default]
    All,
    /// Exactly this number; with fewer pods the step is impossible.
    Exactly(u32),
}

/// Names and traits for pods, which are named in the order of their age. A known name keeps its
/// pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodNaming {
    /// Which pods.
    pub of: PodSelection,
    /// The names, in the order in which pods get them.
    pub names: Vec<(String, NamedPodTraits)>,
}

/// The traits that a case gives a pod; an unset trait stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedPodTraits {
    /// Its node.
    pub node: Option<NodeBinding>,
    /// Its phase; Running by default if it is ready or has restarts.
    pub phase: Option<PodPhase>,
    /// Whether it is ready, and since when.
    pub ready: Option<Readiness>,
    /// Its deletion cost, as text of the annotation.
    pub deletion_cost: Option<String>,
    /// How often its first container was restarted.
    pub restarts: Option<i64>,
    /// How often its first sidecar, an init container that always restarts, was restarted.
    pub sidecar_restarts: Option<i64>,
}

/// The node of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeBinding {
    /// No node yet.
    Unbound,
    /// The node that the case calls so.
    Node(String),
}

/// Whether a pod is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It is not ready.
    No,
    /// It has been ready since this many seconds after now; negative numbers are in the past.
    Since(i64),
    /// It is ready, and the condition has no time.
    SinceUnknown,
}

/// A pod's phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodPhase {
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

impl PodPhase {
    /// All phases.
    pub(crate) const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Unknown, Self::Failed, Self::Succeeded];

    /// The name in the API.
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
