//! The entries of a recording: its header, which is the first line, and all others, with what went
//! wrong in a run and whose fault it is.

use std::collections::{BTreeMap, BTreeSet};

use std::fmt::{self, Display, Formatter};

use lockstep_workload::Workload;
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::controllers::ControllerSet;

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
    /// Where the subject comes from.
    pub kind: SubjectKind,
    /// The cluster: `control-plane`, …, and the server's version.
    pub cluster: Identity,
    /// Whose controllers a simulated cluster ran, if not this project's: `upstream`, and its
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_controllers: Option<Box<Identity>>,
    /// The controller that shared the subject's work, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Box<Identity>>,
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
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.title())
    }
}

/// Where a subject comes from.
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

/// The author of writes that no controller can have made, if the recording does not name the
/// program.
pub const FOREIGN_WRITER: &str = "others";

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordingEntry {
    /// The first line.
    Header(Box<Header>),
    /// A step begins.
    Step(StepMark),
    /// The case has named pods: their real names by the names in the case.
    #[serde(rename = "named")]
    PodNames(BTreeMap<String, String>),
    /// One version of one object.
    Object(ObjectVersion),
    /// One request that the subject made about the case's namespace.
    Request(SubjectRequest),
    /// The wait after a step ended.
    Settled(Settling),
    /// Something was injected between the subject's requests, as the case says.
    #[serde(rename = "met")]
    Injected(Injection),
    /// Something went wrong; the entry says whose fault it is.
    Trouble(Trouble),
    /// The step could not be performed. The entry does not say whether the case asks for too much
    /// or the subject did too little: that takes the expectation.
    Impossible(ImpossibleStep),
    /// The last line.
    End(RecordingEnd),
}

/// The beginning of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepMark {
    /// 0 for `given`, else the number of the step in `steps`, from 1.
    pub index: u32,
    /// 0 if the step has no sub-steps; else 1, 2, … (`ready: {pods: 4}` is four steps).
    pub part: u32,
    /// What the step does, in the words of the case: `set image=app:2`, `ready 1`.
    pub label: String,
    /// The line of the step in the case file.
    pub line: usize,
    /// Whether it includes a user's operation, which may itself break a bound until the next
    /// settling.
    pub user: bool,
    /// Whether it is a burst: several operations without settling between them, or several pods
    /// that become available one by one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// Whether the subject may decide from an old view: the case holds or delays what it watches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Which of the named pods are alive once this has settled, if the case says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<PodExpectation>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "milliseconds")]
    pub at: u64,
}

/// How an object changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeType {
    /// It was created.
    Added,
    /// It was modified.
    Modified,
    /// It was deleted; the version has its last state.
    Deleted,
}

/// Who wrote a version, as far as the harness knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WriterRole {
    /// The driver, on behalf of a user or a node.
    Driver,
    /// The controller that shares the subject's work.
    Beside,
    /// The subject or the cluster's own controllers.
    Other,
}

/// One version of one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectVersion {
    /// `Deployment`, `ReplicaSet`, `Pod`, `Event`, …
    pub kind: String,
    /// The real name, without its namespace.
    pub name: String,
    /// How it changed.
    pub change: ChangeType,
    /// The resourceVersion; versions of all kinds share one order.
    pub rv: u64,
    /// Who wrote it.
    pub by: WriterRole,
    /// The programs that wrote it: on a live cluster its managed fields or the audit log name them,
    /// and the interceptor the controller that shares the subject's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "milliseconds")]
    pub at: u64,
    /// The whole object without managed fields; the harness's own view of the cluster shares it.
    pub object: Body,
}

impl ObjectVersion {
    /// A copy with its object parsed, if that is packed. The text is not copied.
    pub fn unpacked(&self) -> Option<Self> {
        let Self { kind, name, change, rv, by, author, at, object } = self;
        object.is_packed().then(|| Self {
            kind: kind.clone(),
            name: name.clone(),
            change: *change,
            rv: *rv,
            by: *by,
            author: author.clone(),
            at: *at,
            object: object.value().into(),
        })
    }
}

/// One request of the subject, as the interceptor recorded it. All requests about the case's
/// namespace are kept; of the others only those that the server refused, because these may explain
/// why the case makes no progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectRequest {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: String,
    /// The resource, plural: `replicasets`.
    pub resource: String,
    /// `status`, `scale`, … or empty.
    pub subresource: String,
    /// The object's name, or empty.
    pub name: String,
    /// The HTTP status of the answer; 0 if there was none.
    pub status: u16,
    /// The server's message with an error, except about Secrets; of a webhook request, the message
    /// that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the request meant to change a status through the object itself, where the server
    /// ignores it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored_status: bool,
    /// The patch that was sent, without the values of Secrets; of a long one the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// The namespace, if it is not the case's; empty for a request about the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "milliseconds")]
    pub at: u64,
}

impl SubjectRequest {
    /// Whether the request was to change an object; Events do not count.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
            && self.resource != "events"
    }

    /// Whether the request changed an object; Events do not count.
    pub fn is_successful_write(&self) -> bool {
        self.is_write() && self.is_accepted()
    }

    fn is_accepted(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the server denied the request: 401 or 403.
    pub fn is_refused(&self) -> bool {
        matches!(self.status, 401 | 403)
    }

    /// The message, if this is a webhook request that was accepted.
    pub fn webhook_message(&self) -> Option<&str> {
        let is_sent = self.resource == Self::WEBHOOK && self.is_accepted();
        self.message.as_deref().filter(|_| is_sent)
    }

    /// The resource of webhook requests, which the API does not have.
    pub const WEBHOOK: &'static str = "webhook";
}

/// The request without the object's name: `update deployments/status`, `get leases in NAMESPACE`.
impl Display for SubjectRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}", self.verb, self.resource, self.subresource)?;
        match self.elsewhere.as_deref() {
            None => Ok(()),
            Some("") => write!(f, " in all namespaces"),
            Some(namespace) => write!(f, " in {namespace}"),
        }
    }
}

/// What was injected between the subject's requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Injection {
    /// The injection in the words of the case: `rs1 5 -> 4 held: scale 4`, `write 3 of replicasets,
    /// after it: crash`.
    #[serde(rename = "what")]
    pub description: String,
    /// The effect on the subject.
    pub effect: Effect,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "milliseconds")]
    pub at: u64,
}

/// The effect of an injection on the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// The subject runs on, and each of its requests is answered.
    Answered,
    /// A request was left without an answer, so the subject can only guess whether it had an
    /// effect.
    Unanswered,
    /// The subject was killed.
    Killed,
}

/// Why a step could not be performed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImpossibleStep {
    /// What is missing, as a lower-case fragment: there is no such pod, no such revision.
    pub why: String,
    /// Whether the case names a request that the subject had not sent when it settled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_came: bool,
}

/// How the wait after a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settling {
    /// Why the namespace did not settle in time; `None` if it is proved to have settled.
    pub unsettled: Option<Trouble>,
    /// The number of probe rounds.
    pub rounds: u32,
    /// The duration in milliseconds.
    #[serde(deserialize_with = "milliseconds")]
    pub took: u64,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "milliseconds")]
    pub at: u64,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordingEnd {
    /// Whether every step was performed; otherwise the recording has a [`Trouble`].
    pub completed: bool,
    /// Whether the Deployments' Events are complete: a later Event of the probe has arrived.
    pub events_complete: bool,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "milliseconds")]
    pub at: u64,
    /// Details that help to explain the subject's trouble, if it had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// Details that help to explain a subject's trouble. They are shown, but not judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The requests that the subject has made since it was first started, whatever they are about.
    pub requests: u64,
    /// The connections that it has opened.
    pub connections: u64,
    /// How many of them failed in the TLS handshake, before any request.
    pub unsecured: u64,
    /// Why the last of these failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<String>,
    /// The most informative lines of its output since it was started; `None` if the output is not
    /// available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
}

/// Whose fault something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Blame {
    /// The cluster or the harness is at fault: the verdict is inconclusive.
    Environment,
    /// The controller under test: the verdict is non-conformant.
    Subject,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// Whose fault it is.
    pub blame: Blame,
    /// What happened, as a lower-case fragment.
    pub why: String,
    /// Whether the subject's process ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// Whether the subject did not serve the probe either, which no case can prevent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe_unserved: bool,
    /// What is wrong, where the harness waited for it.
    #[serde(default, skip_serializing_if = "TroubleTopic::is_other")]
    pub about: TroubleTopic,
}

/// What a [`Trouble`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TroubleTopic {
    /// The status of a Deployment is not brought up to date.
    DeploymentStatus,
    /// The status of a ReplicaSet is not brought up to date.
    ReplicaSetStatus,
    /// An Event is not published.
    Events,
    /// Anything else.
    #[default]
    #[serde(other)]
    Other,
}

impl TroubleTopic {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

impl Trouble {
    /// Reported if the subject left the wrong state when its time was up, without a single write.
    pub const DID_NOTHING: &'static str = "did nothing";
    /// The same for a subject that had written.
    pub const WRONG_STATE: &'static str = "stayed in the wrong state";

    /// Trouble of this party.
    pub fn new(blame: Blame, why: impl Into<String>) -> Self {
        Self { blame, why: why.into(), ended: false, probe_unserved: false, about: TroubleTopic::Other }
    }

    /// The same, about this.
    #[must_use]
    pub fn about(self, about: TroubleTopic) -> Self {
        Self { about, ..self }
    }

    /// The subject's process ended, for this reason.
    pub fn ended(why: impl Into<String>) -> Self {
        Self { ended: true, ..Self::new(Blame::Subject, why) }
    }
}

/// Deserializes a time, limited to some thirty thousand years so that sums do not overflow.
fn milliseconds<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(u64::deserialize(from)?.min(1_000_000_000_000_000))
}

/// A case's expectation about its named pods: the sets of which one stays alive.
///
/// It is a rule of the case, which every recording must fulfil, including upstream's own. If
/// upstream's choice is left to chance (a tie that is broken by UIDs), the case accepts several
/// sets, and no timeline depends on which it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodExpectation(Vec<BTreeSet<String>>);

impl PodExpectation {
    /// Accepts any of these sets; there must be at least one.
    pub fn any_of(sets: Vec<BTreeSet<String>>) -> Self {
        Self(sets)
    }

    /// Whether exactly these pods may be alive.
    pub fn allows(&self, alive: &BTreeSet<String>) -> bool {
        self.0.contains(alive)
    }

    /// The pods that are in some sets and not in others: their fate is left to chance.
    pub fn uncertain_names(&self) -> BTreeSet<String> {
        let all = self.names();
        all.into_iter().filter(|name| !self.0.iter().all(|set| set.contains(name))).collect()
    }

    /// Every pod that it names.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.0.iter().flatten().cloned().collect()
    }
}

impl Display for PodExpectation {
    /// `a,b or a,c`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sets = self.0.iter().map(join_names);
        f.write_str(&sets.collect::<Vec<_>>().join(" or "))
    }
}

/// `a,b`; `none` for an empty set.
pub fn join_names(names: &BTreeSet<String>) -> String {
    if names.is_empty() { "none".to_owned() } else { names.iter().cloned().collect::<Vec<_>>().join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &str) -> BTreeSet<String> {
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn single_set_has_no_uncertain_names() {
        let expect = PodExpectation::any_of(vec![set("a,b")]);
        assert!(expect.allows(&set("a,b")) && !expect.allows(&set("a")) && !expect.allows(&set("a,b,c")));
        assert_eq!((expect.uncertain_names(), expect.to_string().as_str()), (set(""), "a,b"));
    }

    #[test]
    fn names_outside_of_a_set_are_uncertain() {
        let expect = PodExpectation::any_of(vec![set("a,b"), set("a,c")]);
        assert!(expect.allows(&set("a,c")) && !expect.allows(&set("b,c")));
        assert_eq!((expect.uncertain_names(), expect.to_string().as_str()), (set("b,c"), "a,b or a,c"));
        assert_eq!(PodExpectation::any_of(vec![set("")]).to_string(), "none");
    }
}
