//! Which pods an operation changes, and what becomes of them.

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
    pub const fn word(self) -> &'static str {
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
    /// The pods that get names, the oldest first.
    pub of: PodSelection,
    /// The names, in the order in which pods get them.
    pub names: Vec<(String, NamedPodTraits)>,
}

/// The traits that a case gives a pod; an unset trait stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedPodTraits {
    /// The node that it is bound to.
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
