//! A case, validated: what the driver executes and the judge quotes. Only `case::file` makes one.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// One case: a YAML file under `cases/<area>/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `area/name`, from the file's path: `rolling/surge-25pct`.
    pub name: String,
    /// The path as it was given.
    pub path: String,
    /// The file's text.
    pub source: String,
    /// What the case is about, one sentence.
    pub description: String,
    /// Nodes that the pods are bound to in turn; empty: a node of its own for each pod.
    pub nodes: Vec<String>,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Who runs the pods, where there is a choice.
    pub pods: PodKind,
    /// Made object by object before the first edge; compared as one block.
    pub given: Vec<Step>,
    /// What the world does, one by one.
    pub edges: Vec<Step>,
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

/// Who finishes the deletion of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminations {
    /// The driver, at once.
    #[default]
    Auto,
    /// The case, by `terminate` edges.
    Held,
}

/// One step of a case and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The line of the case file, from 1.
    pub line: usize,
    /// What it does.
    pub edge: Edge,
    /// The operation must be refused, with a message that contains this text.
    pub refused: Option<String>,
    /// What comes between the subject's requests while it reacts to this step.
    pub during: Option<During>,
    /// What goes wrong between the subject and the server while it reacts to this step.
    pub fault: Option<Fault>,
}

/// Steps in the middle of an edge.
#[derive(Debug, Clone, PartialEq)]
pub struct During {
    /// When.
    pub moment: Moment,
    /// What the world does then.
    pub steps: Vec<Step>,
}

/// A moment in the middle of an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// The subject asks for this, and the server has not seen it yet.
    Decision(Decided),
    /// What became of this kind (plural) since before the edge is kept from the subject: it acts on an old view.
    Held(String),
}

/// A decision, in the words of a timeline: `rs1 5 -> 4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// As the case writes it.
    pub text: String,
    /// The Deployment.
    pub deployment: String,
    /// The ReplicaSet's number by first appearance; `None` for the Deployment itself.
    pub set: Option<u32>,
    /// What is decided.
    pub what: DecidedWhat,
}

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedWhat {
    /// A ReplicaSet is created, with so many replicas where that is said.
    Created(Option<i32>),
    /// `spec.replicas` changes.
    Resized {
        /// From.
        from: i32,
        /// To.
        to: i32,
    },
    /// A ReplicaSet is deleted.
    Deleted,
    /// The Deployment gets this revision.
    Revision(i64),
}

/// Something that goes wrong on the way between the subject and the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub point: FaultPoint,
    /// What.
    pub action: FaultAction,
}

/// Where a fault falls, counted from the beginning of its step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultPoint {
    /// At the nth successful write of a resource.
    Write {
        /// From 1.
        nth: u32,
        /// Plural: `replicasets`.
        resource: String,
        /// `status`, or empty.
        subresource: String,
        /// Whether the server has acted.
        after: bool,
    },
    /// In the watch of a resource.
    Watch {
        /// Plural.
        resource: String,
        /// At the nth event of the case, from 1; where the action is about one.
        event: u32,
    },
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// The subject is killed, and started again.
    Crash,
    /// The server acts, and its answer is lost.
    Drop,
    /// The connection is cut.
    Cut,
    /// The request is refused with this HTTP status.
    Refuse(u16),
    /// The request comes so much later.
    Delay(Duration),
    /// Each event comes so much later.
    Lag(Duration),
    /// The event comes twice.
    Repeat,
    /// The watch ends: its place is forgotten.
    Expire,
}

/// Whether the subject runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is killed.
    Stop,
    /// It is started again.
    Start,
}

/// What the world does in one step. Operations that name no Deployment mean the case's only one; the
/// parser fills the name in.
#[derive(Debug, Clone, PartialEq)]
pub enum Edge {
    /// Create the object or replace its spec, as `kubectl apply` does. The short form
    /// `deployment: {name: web, replicas: 10, image: "app:1"}` is expanded to a manifest by the parser.
    Apply(Value),
    /// Patch an object.
    Patch {
        /// Which object.
        target: Target,
        /// `strategic`, `merge` or `json`.
        kind: PatchKind,
        /// The patch.
        patch: Value,
    },
    /// Delete an object.
    Delete {
        /// Which object.
        target: Target,
        /// What happens to what it owns.
        cascade: Cascade,
    },
    /// `kubectl set image` / `set env` on the Deployment's containers.
    Set {
        /// The Deployment.
        deployment: String,
        /// Only this container; else the first.
        container: Option<String>,
        /// The new image.
        image: Option<String>,
        /// Environment variables to set.
        env: BTreeMap<String, String>,
    },
    /// `kubectl scale`.
    Scale {
        /// The Deployment.
        deployment: String,
        /// The new number of replicas.
        replicas: i32,
    },
    /// `kubectl rollout pause`.
    Pause(String),
    /// `kubectl rollout resume`.
    Resume(String),
    /// `kubectl rollout undo`.
    Undo {
        /// The Deployment.
        deployment: String,
        /// `--to-revision`; 0 is the previous one.
        to_revision: i64,
    },
    /// `kubectl rollout restart`.
    Restart(String),
    /// Pods become Running and Ready, one edge each.
    Ready(Pods),
    /// Ready pods become not ready, one edge each.
    Unready(Pods),
    /// Pods fail: phase Failed.
    Fail(Pods),
    /// Pods succeed: phase Succeeded.
    Succeed(Pods),
    /// Deletions finish, one edge each; only with held terminations.
    Terminate(Pods),
    /// Time passes.
    Advance(Duration),
    /// Steps without settling between them; compared by net change.
    Together(Vec<Step>),
    /// The subject is killed, or started again.
    Subject(Life),
}

/// An object by kind and name: `deployment/web`, `replicaset/rs2` (rs2: the Deployment's second ReplicaSet by
/// first appearance), `pod/rs2.1` (the first of its pods that is alive).
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pods {
    /// Only those of this Deployment.
    pub deployment: Option<String>,
    /// Only those whose ReplicaSet carries this revision.
    pub revision: Option<i64>,
    /// `all` (repeats until none is left, new ones included) or a number.
    pub count: Count,
    /// One edge for all of them instead of one each.
    pub atomic: bool,
}

/// How many pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Until none is left, new ones included.
    All,
    /// So many; fewer is an impossible edge.
    Exactly(u32),
}
