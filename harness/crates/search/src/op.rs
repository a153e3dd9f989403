//! The operations of a program, what goes wrong in the middle of its steps, and their lines in a
//! case file.

use lockstep_verdict::faults::{self, FaultKind};

use super::initial::{Focus, InitialDeployment, RolloutStrategy, name};
use super::pod_profile::PodProfile;

/// An operation. A Deployment is identified by its number, a ReplicaSet by the order of appearance,
/// from 1, a named pod by the order of names, from 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// A user writes a Deployment, or the ReplicaSet of a program without Deployments.
    Write(usize, DeploymentWrite),
    /// A user changes a ReplicaSet that belongs to a Deployment.
    Set(u32, ReplicaSetEdit),
    /// Create an orphan: a ReplicaSet, or a pod in a program without Deployments; whether its
    /// labels match.
    Stray(bool, u32),
    /// Create a ReplicaSet with the same template as the first Deployment has with this image, and
    /// this many replicas.
    Twin(u32, u32),
    /// Set a quota of this many pods.
    Quota(u32),
    /// Delete the Deployment and create it again; whether its ReplicaSets remain.
    Renew(usize, bool),
    /// This many pods become ready; `None`: all, until none is left.
    Ready(usize, Option<u32>),
    /// All existing pods become ready at once, before the controller hears of any.
    ReadyAtOnce(usize),
    /// This many ready pods become unready.
    Unready(usize, u32),
    /// This many pods fail.
    Fail(usize, u32),
    /// This many pods succeed.
    Succeed(usize, u32),
    /// The deletion of this many pods finishes.
    Terminate(u32),
    /// Give the oldest pods of this ReplicaSet names and traits.
    Name(u32, Vec<PodProfile>),
    /// A user changes a named pod.
    Pod(u32, PodEdit),
    /// Advance the clock by this many seconds.
    Advance(u32),
    /// Stop the controller, perform the operation, and start it again.
    Away(Box<Op>),
    /// Perform two operations before the controller hears of either.
    Together(Box<Op>, Box<Op>),
}

/// A user's write to a Deployment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeploymentWrite {
    /// `spec.replicas`.
    Scale(u32),
    /// An image with this number.
    Image(u32),
    /// An environment variable with this value.
    Env(u32),
    /// A label of the template with this value, which no selector uses.
    Label(u32),
    /// Restart the rollout of the same template.
    Restart,
    /// The template of this revision; of the previous one if it is 0.
    Undo(u32),
    /// The same, by the annotation that requests it from the controller.
    RollBack(u32),
    /// Pause the rollout.
    Pause,
    /// Resume the rollout.
    Resume,
    /// Another strategy.
    Strategy(RolloutStrategy),
    /// `spec.minReadySeconds`.
    MinReady(u32),
    /// `spec.progressDeadlineSeconds`.
    Deadline(u32),
    /// `spec.revisionHistoryLimit`.
    History(u32),
    /// A user's annotation; kubectl's own if it is 0, and one without a value if it is 1.
    Annotate(u32),
    /// A field of the template that no controller reads, of some version of Kubernetes.
    Field(TemplateField),
}

/// A field of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateField {
    /// Of v1.0.
    Deadline,
    /// Of v1.18.
    Spread,
    /// Of v1.20.
    Probe,
}

/// A user's change of a ReplicaSet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplicaSetEdit {
    /// `spec.replicas`.
    Scale(u32),
    /// Delete it.
    Delete,
    /// Change its labels so that no selector matches.
    Relabel,
    /// Change its template so that no Deployment's template equals it.
    Edit,
    /// Change its revision annotation.
    Revision(u32),
}

/// A user's change of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodEdit {
    /// Delete it.
    Delete,
    /// Change its labels so that no selector matches.
    Relabel,
    /// Change its deletion cost.
    Cost(i32),
}

impl Op {
    /// The operations that it consists of: itself, unless it contains others.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Together(one, two) => [one.parts(), two.parts()].concat(),
            Self::Away(op) => op.parts(),
            op => vec![op],
        }
    }

    /// The Deployment that it refers to, if any.
    pub(super) fn deployment(&mut self) -> Option<&mut usize> {
        match self {
            Self::Write(at, _)
            | Self::Renew(at, _)
            | Self::Ready(at, _)
            | Self::ReadyAtOnce(at)
            | Self::Unready(at, _)
            | Self::Fail(at, _)
            | Self::Succeed(at, _) => Some(at),
            _ => None,
        }
    }

    /// Its numbers of pods and of images, with the minimum of each.
    pub(super) fn numbers(&mut self) -> Vec<(&mut u32, u32)> {
        match self {
            Self::Write(_, write) => match write {
                DeploymentWrite::Scale(number) | DeploymentWrite::History(number) => vec![(number, 0)],
                DeploymentWrite::Image(number) | DeploymentWrite::Env(number) | DeploymentWrite::Label(number) => {
                    vec![(number, 1)]
                }
                _ => Vec::new(),
            },
            Self::Set(_, ReplicaSetEdit::Scale(number)) | Self::Stray(_, number) | Self::Quota(number) => {
                vec![(number, 0)]
            }
            Self::Ready(_, Some(number))
            | Self::Unready(_, number)
            | Self::Fail(_, number)
            | Self::Succeed(_, number)
            | Self::Terminate(number) => vec![(number, 1)],
            Self::Twin(image, replicas) => vec![(image, 1), (replicas, 0)],
            _ => Vec::new(),
        }
    }
}

/// Writes a program's operations in order: names of pods are numbered.
pub(super) struct CaseWriter<'a> {
    focus: Focus,
    long_names: bool,
    deployments: &'a [InitialDeployment],
    named_pods: u32,
}

impl<'a> CaseWriter<'a> {
    /// A writer that starts with the first operation of a program.
    pub(super) fn new(focus: Focus, long_names: bool, deployments: &'a [InitialDeployment]) -> Self {
        Self { focus, long_names, deployments, named_pods: 0 }
    }

    fn name(&self, deployment: usize) -> String {
        name(deployment, self.long_names)
    }

    fn has_several(&self) -> bool {
        self.deployments.len() > 1
    }

    /// The lines of a step: those before, its own, and those after.
    pub(super) fn lines(&mut self, op: &Op) -> (Vec<String>, String, Vec<String>) {
        match op {
            Op::Away(op) => {
                let op = self.op(op);
                (vec!["subject: stop".to_owned(), op], "subject: start".to_owned(), Vec::new())
            }
            Op::Renew(at, lives) => {
                let of = self.name(*at);
                let cascade = if *lives { "orphan" } else { "background" };
                let again = self.deployments.get(*at).map(|it| it.creation(*at, self.long_names));
                let delete = format!("delete: {{target: deployment/{of}, cascade: {cascade}}}");
                (Vec::new(), delete, again.into_iter().collect())
            }
            op => (Vec::new(), self.op(op), Vec::new()),
        }
    }

    /// An operation as one line.
    pub(super) fn op(&mut self, op: &Op) -> String {
        match op {
            Op::Write(at, write) if self.focus == Focus::ReplicaSet => of_set(&self.name(*at), write),
            Op::Write(at, write) => self.write(*at, write),
            Op::Set(set, ReplicaSetEdit::Scale(replicas)) => {
                format!("scale: {{replicaset: rs{set}, replicas: {replicas}}}")
            }
            Op::Set(set, ReplicaSetEdit::Delete) => format!("delete: {{target: replicaset/rs{set}}}"),
            Op::Set(set, to) => {
                let patch = match to {
                    ReplicaSetEdit::Relabel => "metadata: {labels: {app: other}}".to_owned(),
                    ReplicaSetEdit::Revision(revision) => {
                        format!("metadata: {{annotations: {{deployment.kubernetes.io/revision: \"{revision}\"}}}}")
                    }
                    _ => "spec: {template: {spec: {terminationGracePeriodSeconds: 5}}}".to_owned(),
                };
                format!("patch: {{target: replicaset/rs{set}, patch: {{{patch}}}}}")
            }
            Op::Stray(matches, replicas) => stray(self.focus, *matches, *replicas),
            Op::Twin(image, replicas) => twin(*image, *replicas),
            Op::Quota(pods) => format!(
                "apply: {{apiVersion: v1, kind: ResourceQuota, metadata: {{name: pods}}, spec: {{hard: {{pods: \"{pods}\"}}}}}}"
            ),
            Op::Ready(at, None) => format!("ready: {{{}pods: all}}", self.target(*at)),
            Op::ReadyAtOnce(at) => format!("ready: {{{}pods: all, atomic: true}}", self.target(*at)),
            Op::Ready(at, Some(pods)) => format!("ready: {{{}pods: {pods}}}", self.target(*at)),
            Op::Unready(at, pods) => format!("unready: {{{}pods: {pods}}}", self.target(*at)),
            Op::Fail(at, pods) => format!("fail: {{{}pods: {pods}}}", self.target(*at)),
            Op::Succeed(at, pods) => format!("succeed: {{{}pods: {pods}}}", self.target(*at)),
            Op::Terminate(pods) => format!("terminate: {{pods: {pods}}}"),
            Op::Name(set, all) => {
                let all: Vec<String> = all.iter().map(|traits| self.name_pod(traits)).collect();
                format!("pods: {{of: {{replicaset: rs{set}}}, name: {{{}}}}}", all.join(", "))
            }
            Op::Pod(pod, PodEdit::Delete) => format!("delete: pod/{}", letter(*pod)),
            Op::Pod(pod, PodEdit::Relabel) => {
                format!(
                    "patch: {{target: pod/{}, type: merge, patch: {{metadata: {{labels: {{app: other}}}}}}}}",
                    letter(*pod)
                )
            }
            Op::Pod(pod, PodEdit::Cost(cost)) => {
                format!("pods: {{name: {{{}: {{deletionCost: {cost}}}}}}}", letter(*pod))
            }
            Op::Advance(seconds) => format!("advance: {seconds}s"),
            Op::Together(one, two) => format!("together: [{{{}}}, {{{}}}]", self.op(one), self.op(two)),
            // Consists of several steps: it cannot be an inner operation, so the case is invalid.
            Op::Away(_) => "subject: stop".to_owned(),
            Op::Renew(at, _) => format!("delete: deployment/{}", self.name(*at)),
        }
    }

    fn name_pod(&mut self, traits: &PodProfile) -> String {
        let name = letter(self.named_pods);
        self.named_pods += 1;
        format!("{name}: {{{}}}", traits.text())
    }

    fn target(&self, deployment: usize) -> String {
        let kind = if self.focus == Focus::ReplicaSet { "replicaset" } else { "deployment" };
        if self.has_several() { format!("of: {{{kind}: {}}}, ", self.name(deployment)) } else { String::new() }
    }

    fn write(&self, at: usize, write: &DeploymentWrite) -> String {
        let of = self.name(at);
        let named = if self.has_several() { format!("deployment: {of}, ") } else { String::new() };
        let patch = |patch: String| format!("patch: {{target: deployment/{of}, patch: {{{patch}}}}}");
        let spec = |field: String| patch(format!("spec: {{{field}}}"));
        let annotation = |key: &str, value: &str| patch(format!("metadata: {{annotations: {{{key}: \"{value}\"}}}}"));
        match write {
            DeploymentWrite::Scale(replicas) => format!("scale: {{{named}replicas: {replicas}}}"),
            DeploymentWrite::Image(image) => format!("set: {{{named}image: \"app:{image}\"}}"),
            DeploymentWrite::Env(value) => format!("set: {{{named}env: {{LEVEL: \"{value}\"}}}}"),
            DeploymentWrite::Label(value) => patch(labelled(*value)),
            DeploymentWrite::Restart => format!("restart: {of}"),
            DeploymentWrite::Undo(0) => format!("undo: {of}"),
            DeploymentWrite::Undo(revision) => format!("undo: {{{named}toRevision: {revision}}}"),
            DeploymentWrite::RollBack(revision) => {
                annotation("deprecated.deployment.rollback.to", &revision.to_string())
            }
            DeploymentWrite::Pause => format!("pause: {of}"),
            DeploymentWrite::Resume => format!("resume: {of}"),
            DeploymentWrite::Strategy(RolloutStrategy::Recreate) => {
                spec("strategy: {type: Recreate, rollingUpdate: null}".to_owned())
            }
            DeploymentWrite::Strategy(strategy) => spec(format!("strategy: {{{}}}", strategy.fields())),
            DeploymentWrite::MinReady(seconds) => spec(format!("minReadySeconds: {seconds}")),
            DeploymentWrite::Deadline(seconds) => spec(format!("progressDeadlineSeconds: {seconds}")),
            DeploymentWrite::History(limit) => spec(format!("revisionHistoryLimit: {limit}")),
            DeploymentWrite::Field(field) => spec(format!("template: {{spec: {{{}}}}}", field.text())),
            DeploymentWrite::Annotate(0) => annotation("kubectl.kubernetes.io/last-applied-configuration", "{}"),
            DeploymentWrite::Annotate(1) => annotation("team", ""),
            DeploymentWrite::Annotate(value) => annotation("team", &value.to_string()),
        }
    }
}

impl TemplateField {
    fn text(self) -> &'static str {
        match self {
            Self::Deadline => "activeDeadlineSeconds: 9000",
            Self::Spread => {
                "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]"
            }
            Self::Probe => "containers: [{name: app, startupProbe: {httpGet: {path: /, port: 80}}}]",
        }
    }
}

/// The patch of a label that pods get besides the selected ones.
fn labelled(value: u32) -> String {
    format!("spec: {{template: {{metadata: {{labels: {{tier: \"{value}\"}}}}}}}}")
}

/// A user's write to a ReplicaSet, which has none of the other fields of a Deployment.
fn of_set(of: &str, write: &DeploymentWrite) -> String {
    match write {
        DeploymentWrite::MinReady(seconds) => {
            format!("patch: {{target: replicaset/{of}, patch: {{spec: {{minReadySeconds: {seconds}}}}}}}")
        }
        DeploymentWrite::Scale(replicas) => format!("scale: {{replicaset: {of}, replicas: {replicas}}}"),
        DeploymentWrite::Label(value) => format!("patch: {{target: replicaset/{of}, patch: {{{}}}}}", labelled(*value)),
        _ => format!("patch: {{target: replicaset/{of}, patch: {{metadata: {{annotations: {{team: blue}}}}}}}}"),
    }
}

/// An orphan of the kind that the controller may adopt.
fn stray(focus: Focus, matches: bool, replicas: u32) -> String {
    let app = if matches { "web" } else { "stray" };
    if focus == Focus::ReplicaSet {
        return format!(
            "apply: {{apiVersion: v1, kind: Pod, metadata: {{name: stray, labels: {{app: {app}}}}}, spec: {{schedulerName: lockstep, containers: [{{name: app, image: \"app:1\"}}]}}}}"
        );
    }
    format!(
        "apply: {{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: stray, labels: {{app: {app}}}}}, spec: {{replicas: {replicas}, selector: {{matchLabels: {{app: {app}, set: stray}}}}, template: {{metadata: {{labels: {{app: {app}, set: stray}}}}, spec: {{containers: [{{name: app, image: \"app:1\"}}]}}}}}}}}"
    )
}

/// An orphan that the first Deployment adopts. Its template equals the Deployment's if the
/// Deployment has that image; the label of the hash is the only one that is not compared.
fn twin(image: u32, replicas: u32) -> String {
    let labels = "{app: web, pod-template-hash: twin}";
    format!(
        "apply: {{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: twin, labels: {{app: web}}}}, spec: {{replicas: {replicas}, selector: {{matchLabels: {labels}}}, template: {{metadata: {{labels: {labels}}}, spec: {{containers: [{{name: app, image: \"app:{image}\"}}]}}}}}}}}"
    )
}

/// The name of the nth named pod.
pub(super) fn letter(pod: u32) -> char {
    char::from(b'a' + u8::try_from(pod % 26).unwrap_or(0))
}

/// What goes wrong in the middle of a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disruption {
    /// The events of this kind, a plural, are withheld from the controller; the operation happens
    /// meanwhile. There are never two writes of the withheld kind, because it depends on a
    /// controller's caches how many events it reads at once.
    Withheld(&'static str, Option<Box<Op>>),
    /// The request for this decision is held, and the operation happens meanwhile.
    Decision(String, Box<Op>),
    /// The nth write of this resource fails.
    Write(u32, &'static str, FaultKind),
    /// The watch of this kind is disturbed.
    Watch(&'static str, WatchDisturbance),
}

/// How a watch is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchDisturbance {
    /// Every event comes a second late.
    Lag,
    /// The first event comes twice.
    Repeat,
    /// The watch expires at the first event.
    Expire,
}

impl Disruption {
    /// The operation in the middle.
    pub(super) fn op(&self) -> Option<&Op> {
        match self {
            Self::Withheld(_, op) => op.as_deref(),
            Self::Decision(_, op) => Some(op),
            Self::Write(..) | Self::Watch(..) => None,
        }
    }

    /// The same with another operation in the middle.
    pub(super) fn with(&self, op: Op) -> Self {
        match self {
            Self::Withheld(kind, _) => Self::Withheld(kind, Some(Box::new(op))),
            Self::Decision(decision, _) => Self::Decision(decision.clone(), Box::new(op)),
            other => other.clone(),
        }
    }

    /// The line of a step.
    pub(super) fn text(&self, words: &mut CaseWriter<'_>) -> String {
        match self {
            Self::Withheld(kind, None) => format!("during: {{held: {kind}, do: []}}"),
            Self::Withheld(kind, Some(op)) => format!("during: {{held: {kind}, do: [{{{}}}]}}", words.op(op)),
            Self::Decision(decision, op) => {
                format!("during: {{decision: \"{decision}\", do: [{{{}}}]}}", words.op(op))
            }
            Self::Write(nth, resource, kind) => format!("fault: {}", kind.at_write(*nth, resource)),
            Self::Watch(kind, disturbance) => {
                let (event, action) = match disturbance {
                    WatchDisturbance::Lag => (None, "{lag: 1s}"),
                    WatchDisturbance::Repeat => (Some(1), "repeat"),
                    WatchDisturbance::Expire => (Some(1), "expire"),
                };
                format!("fault: {}", faults::in_watch(kind, event, action))
            }
        }
    }
}
