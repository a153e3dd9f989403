//! The operations of a program, and their lines in a case file.

use super::given::{About, Deployment, Strategy, name};
use super::traits::Traits;

/// An operation. A Deployment is meant by its number, a ReplicaSet by the order of appearance, from
/// 1, a named pod by the order of names, from 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// What a user writes into a Deployment, or into the ReplicaSet of a program that has no
    /// Deployment.
    Write(usize, Write),
    /// What somebody does to a ReplicaSet that belongs to a Deployment.
    Set(u32, ToSet),
    /// An orphan: a ReplicaSet, or a pod in a program without Deployments; whether its labels
    /// match.
    Stray(bool, u32),
    /// A ReplicaSet of the first Deployment's with the very template of this image, and so many
    /// replicas.
    Twin(u32, u32),
    /// So many pods may be there.
    Quota(u32),
    /// The Deployment is deleted and created again; whether its ReplicaSets live on.
    Renew(usize, bool),
    /// So many pods become ready; `None`: all, until none is left.
    Ready(usize, Option<u32>),
    /// All pods that there are become ready at once, before the controller hears of any.
    ReadyAtOnce(usize),
    /// So many ready pods become unready.
    Unready(usize, u32),
    /// So many pods fail.
    Fail(usize, u32),
    /// So many pods end well.
    Succeed(usize, u32),
    /// So many pods that are deleted end.
    Terminate(u32),
    /// The oldest pods of this ReplicaSet get names and traits.
    Name(u32, Vec<Traits>),
    /// What somebody does to a named pod.
    Pod(u32, ToPod),
    /// Time passes, in seconds.
    Advance(u32),
    /// The controller is stopped, this happens, and it is started again.
    Away(Box<Op>),
    /// Two operations before the controller hears of either.
    Together(Box<Op>, Box<Op>),
}

/// What a user writes into a Deployment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    /// `spec.replicas`.
    Scale(u32),
    /// A new image, by its number.
    Image(u32),
    /// An environment variable of this value.
    Env(u32),
    /// A label of the template, of this value, which no selector asks for.
    Label(u32),
    /// A rollout of the same template.
    Restart,
    /// The template of this revision; of the one before, if it is 0.
    Undo(u32),
    /// The same, by the annotation that asks the controller for it.
    RollBack(u32),
    /// `spec.paused`.
    Pause,
    /// The same, taken back.
    Resume,
    /// Another strategy.
    Strategy(Strategy),
    /// `spec.minReadySeconds`.
    MinReady(u32),
    /// `spec.progressDeadlineSeconds`.
    Deadline(u32),
    /// `spec.revisionHistoryLimit`.
    History(u32),
    /// An annotation of a user's; kubectl's own, if it is 0, and one without a value, if it is 1.
    Annotate(u32),
    /// A field of the template that no controller looks at, of some version of Kubernetes.
    Field(Field),
}

/// A field of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Of v1.0.
    Deadline,
    /// Of v1.18.
    Spread,
    /// Of v1.20.
    Probe,
}

/// What somebody does to a ReplicaSet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToSet {
    /// `spec.replicas`.
    Scale(u32),
    /// It is deleted.
    Delete,
    /// Its labels match no more.
    Relabel,
    /// Its template changes, so that no Deployment's template equals it.
    Edit,
    /// Its annotation of the revision changes.
    Revision(u32),
}

/// What somebody does to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToPod {
    /// It is deleted.
    Delete,
    /// Its labels match no more.
    Relabel,
    /// So does that of its deletion cost.
    Cost(i32),
}

impl Op {
    /// The operations that it is made of: itself, where it holds no others.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Together(one, two) => [one.parts(), two.parts()].concat(),
            Self::Away(op) => op.parts(),
            op => vec![op],
        }
    }

    /// The Deployment that it is about, where it is about one.
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

    /// Its numbers of pods and of images, with the least that each can be.
    pub(super) fn numbers(&mut self) -> Vec<(&mut u32, u32)> {
        match self {
            Self::Write(_, write) => match write {
                Write::Scale(number) | Write::History(number) => vec![(number, 0)],
                Write::Image(number) | Write::Env(number) | Write::Label(number) => vec![(number, 1)],
                _ => Vec::new(),
            },
            Self::Set(_, ToSet::Scale(number)) | Self::Stray(_, number) | Self::Quota(number) => vec![(number, 0)],
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

/// The words of a program's operations, one after the other: names of pods are counted.
pub(super) struct Words<'a> {
    about: About,
    long_names: bool,
    deployments: &'a [Deployment],
    named: u32,
}

impl<'a> Words<'a> {
    /// For the operations of a program, from the first on.
    pub(super) fn new(about: About, long_names: bool, deployments: &'a [Deployment]) -> Self {
        Self { about, long_names, deployments, named: 0 }
    }

    fn name(&self, deployment: usize) -> String {
        name(deployment, self.long_names)
    }

    fn several(&self) -> bool {
        self.deployments.len() > 1
    }

    /// The step's lines: those before, its own, and those after.
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

    /// An operation that is one line.
    pub(super) fn op(&mut self, op: &Op) -> String {
        match op {
            Op::Write(at, write) if self.about == About::ReplicaSet => of_set(&self.name(*at), write),
            Op::Write(at, write) => self.write(*at, write),
            Op::Set(set, ToSet::Scale(replicas)) => format!("scale: {{replicaset: rs{set}, replicas: {replicas}}}"),
            Op::Set(set, ToSet::Delete) => format!("delete: {{target: replicaset/rs{set}}}"),
            Op::Set(set, to) => {
                let patch = match to {
                    ToSet::Relabel => "metadata: {labels: {app: other}}".to_owned(),
                    ToSet::Revision(revision) => {
                        format!("metadata: {{annotations: {{deployment.kubernetes.io/revision: \"{revision}\"}}}}")
                    }
                    _ => "spec: {template: {spec: {terminationGracePeriodSeconds: 5}}}".to_owned(),
                };
                format!("patch: {{target: replicaset/rs{set}, patch: {{{patch}}}}}")
            }
            Op::Stray(matches, replicas) => stray(self.about, *matches, *replicas),
            Op::Twin(image, replicas) => twin(*image, *replicas),
            Op::Quota(pods) => format!(
                "apply: {{apiVersion: v1, kind: ResourceQuota, metadata: {{name: pods}}, spec: {{hard: {{pods: \"{pods}\"}}}}}}"
            ),
            Op::Ready(at, None) => format!("ready: {{{}pods: all}}", self.whose(*at)),
            Op::ReadyAtOnce(at) => format!("ready: {{{}pods: all, atomic: true}}", self.whose(*at)),
            Op::Ready(at, Some(pods)) => format!("ready: {{{}pods: {pods}}}", self.whose(*at)),
            Op::Unready(at, pods) => format!("unready: {{{}pods: {pods}}}", self.whose(*at)),
            Op::Fail(at, pods) => format!("fail: {{{}pods: {pods}}}", self.whose(*at)),
            Op::Succeed(at, pods) => format!("succeed: {{{}pods: {pods}}}", self.whose(*at)),
            Op::Terminate(pods) => format!("terminate: {{pods: {pods}}}"),
            Op::Name(set, all) => {
                let all: Vec<String> = all.iter().map(|traits| self.named(traits)).collect();
                format!("pods: {{of: {{replicaset: rs{set}}}, name: {{{}}}}}", all.join(", "))
            }
            Op::Pod(pod, ToPod::Delete) => format!("delete: pod/{}", letter(*pod)),
            Op::Pod(pod, ToPod::Relabel) => {
                format!(
                    "patch: {{target: pod/{}, type: merge, patch: {{metadata: {{labels: {{app: other}}}}}}}}",
                    letter(*pod)
                )
            }
            Op::Pod(pod, ToPod::Cost(cost)) => {
                format!("pods: {{name: {{{}: {{deletionCost: {cost}}}}}}}", letter(*pod))
            }
            Op::Advance(seconds) => format!("advance: {seconds}s"),
            Op::Together(one, two) => format!("together: [{{{}}}, {{{}}}]", self.op(one), self.op(two)),
            // Of several steps: as an inner one they cannot be written, and the case is none.
            Op::Away(_) => "subject: stop".to_owned(),
            Op::Renew(at, _) => format!("delete: deployment/{}", self.name(*at)),
        }
    }

    fn named(&mut self, traits: &Traits) -> String {
        let name = letter(self.named);
        self.named += 1;
        format!("{name}: {{{}}}", traits.text())
    }

    fn whose(&self, deployment: usize) -> String {
        let kind = if self.about == About::ReplicaSet { "replicaset" } else { "deployment" };
        if self.several() { format!("of: {{{kind}: {}}}, ", self.name(deployment)) } else { String::new() }
    }

    fn write(&self, at: usize, write: &Write) -> String {
        let of = self.name(at);
        let named = if self.several() { format!("deployment: {of}, ") } else { String::new() };
        let patch = |patch: String| format!("patch: {{target: deployment/{of}, patch: {{{patch}}}}}");
        let spec = |field: String| patch(format!("spec: {{{field}}}"));
        let annotation = |key: &str, value: &str| patch(format!("metadata: {{annotations: {{{key}: \"{value}\"}}}}"));
        match write {
            Write::Scale(replicas) => format!("scale: {{{named}replicas: {replicas}}}"),
            Write::Image(image) => format!("set: {{{named}image: \"app:{image}\"}}"),
            Write::Env(value) => format!("set: {{{named}env: {{LEVEL: \"{value}\"}}}}"),
            Write::Label(value) => patch(labelled(*value)),
            Write::Restart => format!("restart: {of}"),
            Write::Undo(0) => format!("undo: {of}"),
            Write::Undo(revision) => format!("undo: {{{named}toRevision: {revision}}}"),
            Write::RollBack(revision) => annotation("deprecated.deployment.rollback.to", &revision.to_string()),
            Write::Pause => format!("pause: {of}"),
            Write::Resume => format!("resume: {of}"),
            Write::Strategy(Strategy::Recreate) => spec("strategy: {type: Recreate, rollingUpdate: null}".to_owned()),
            Write::Strategy(strategy) => spec(format!("strategy: {{{}}}", strategy.fields())),
            Write::MinReady(seconds) => spec(format!("minReadySeconds: {seconds}")),
            Write::Deadline(seconds) => spec(format!("progressDeadlineSeconds: {seconds}")),
            Write::History(limit) => spec(format!("revisionHistoryLimit: {limit}")),
            Write::Field(field) => spec(format!("template: {{spec: {{{}}}}}", field.text())),
            Write::Annotate(0) => annotation("kubectl.kubernetes.io/last-applied-configuration", "{}"),
            Write::Annotate(1) => annotation("team", ""),
            Write::Annotate(value) => annotation("team", &value.to_string()),
        }
    }
}

impl Field {
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

/// The patch of a label that pods get besides those that are selected.
fn labelled(value: u32) -> String {
    format!("spec: {{template: {{metadata: {{labels: {{tier: \"{value}\"}}}}}}}}")
}

/// What a user writes into a ReplicaSet; nothing else of a Deployment's is there.
fn of_set(of: &str, write: &Write) -> String {
    match write {
        Write::MinReady(seconds) => {
            format!("patch: {{target: replicaset/{of}, patch: {{spec: {{minReadySeconds: {seconds}}}}}}}")
        }
        Write::Scale(replicas) => format!("scale: {{replicaset: {of}, replicas: {replicas}}}"),
        Write::Label(value) => format!("patch: {{target: replicaset/{of}, patch: {{{}}}}}", labelled(*value)),
        _ => format!("patch: {{target: replicaset/{of}, patch: {{metadata: {{annotations: {{team: blue}}}}}}}}"),
    }
}

/// An orphan of the kind that the controller may adopt.
fn stray(about: About, matches: bool, replicas: u32) -> String {
    let app = if matches { "web" } else { "stray" };
    if about == About::ReplicaSet {
        return format!(
            "apply: {{apiVersion: v1, kind: Pod, metadata: {{name: stray, labels: {{app: {app}}}}}, spec: {{schedulerName: lockstep, containers: [{{name: app, image: \"app:1\"}}]}}}}"
        );
    }
    format!(
        "apply: {{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: stray, labels: {{app: {app}}}}}, spec: {{replicas: {replicas}, selector: {{matchLabels: {{app: {app}, set: stray}}}}, template: {{metadata: {{labels: {{app: {app}, set: stray}}}}, spec: {{containers: [{{name: app, image: \"app:1\"}}]}}}}}}}}"
    )
}

/// An orphan that the first Deployment adopts. Its template equals the Deployment's where the
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
