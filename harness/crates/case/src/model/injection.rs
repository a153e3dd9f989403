//! What a case injects into the middle of a step: other steps between the subject's requests, and
//! faults.

use std::time::Duration;

use lockstep_recording::Effect;

/// A point in the middle of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectionPoint {
    /// The subject requests this change, and the server has not received the request yet.
    Decision(DecisionMatcher),
    /// The watch of this kind (plural) is held for the whole step, so the subject acts on an old
    /// view.
    HeldWatch(String),
}

/// A decision, in the words of a timeline: `rs1 5 -> 4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionMatcher {
    /// The text in the case file.
    pub text: String,
    /// The Deployment.
    pub deployment: String,
    /// The ReplicaSet's number by first appearance; `None` for the Deployment itself.
    pub set: Option<u32>,
    /// Which change is decided.
    pub kind: DecisionKind,
}

/// Which change of the object is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionKind {
    /// A ReplicaSet is created; with this number of replicas, if the case names one.
    Created(Option<i32>),
    /// `spec.replicas` changes.
    Resized {
        /// Replicas before.
        from: i32,
        /// Replicas after.
        to: i32,
    },
    /// A ReplicaSet is deleted.
    Deleted,
    /// The Deployment gets this revision.
    Revision(i64),
}

/// Something that goes wrong between the subject and the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it happens.
    pub point: FaultPoint,
    /// What happens.
    pub action: FaultAction,
    /// A second `overtaken` fault in another stream.
    pub second: Option<Box<Fault>>,
}

impl Fault {
    /// Whether the action is `overtaken`.
    pub(crate) fn is_overtaken(&self) -> bool {
        matches!(self.action, FaultAction::Overtaken(_))
    }

    /// Whether both faults are in the same watch, or at writes of the same kind.
    pub(crate) fn is_in_stream_of(&self, other: &Self) -> bool {
        self.point.stream() == other.point.stream()
    }

    /// Whether the fault delays what the subject learns.
    pub(super) fn delays_view(&self) -> bool {
        matches!(self.action, FaultAction::Lag(_) | FaultAction::Old(_) | FaultAction::Overtaken(_))
    }

    /// This fault, and the second one if there is one.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |fault| fault.second.as_deref())
    }

    /// For example `write 3 of replicasets, after it: crash`.
    #[must_use]
    pub fn describe(&self) -> String {
        let action = match self.action {
            FaultAction::Crash => "crash".to_owned(),
            FaultAction::Handover { back: false } => "handover".to_owned(),
            FaultAction::Handover { back: true } => "handover, and back at the next step".to_owned(),
            FaultAction::Drop => "answer lost".to_owned(),
            FaultAction::Cut => "connection cut".to_owned(),
            FaultAction::Refuse(code) => format!("refused with {code}"),
            FaultAction::Delay(time) => format!("late by {}", humantime::format_duration(time)),
            FaultAction::Lag(time) => format!("lags by {}", humantime::format_duration(time)),
            FaultAction::Repeat => "twice".to_owned(),
            FaultAction::Expire => "then forgotten".to_owned(),
            FaultAction::Old(events) => format!("then a list that is {events} events old"),
            FaultAction::Overtaken(others) => format!("overtaken by {others}"),
        };
        let side = match &self.point {
            FaultPoint::Write { after: false, .. } => ", before it",
            FaultPoint::Write { after: true, .. } => ", after it",
            FaultPoint::Watch { .. } => "",
        };
        let besides = self.second.as_deref().map_or_else(String::new, |and| format!("; {}", and.describe()));
        format!("{}{side}: {action}{besides}", self.point.describe())
    }
}

/// Where a fault happens, counted from the beginning of its step.
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
        /// Whether it happens after the server has processed the write.
        after: bool,
    },
    /// In the watch of a resource.
    Watch {
        /// Plural.
        resource: String,
        /// At the nth event, from 1, if the action concerns one event.
        event: u32,
    },
}

impl FaultPoint {
    /// The ordered stream that an `overtaken` fault delays: the watch of a kind, or the answers to
    /// writes of a resource.
    #[must_use]
    pub fn stream(&self) -> String {
        self.stream_on_server(str::to_owned)
    }

    /// The same by the resource's name on the server, where another kind is in its place.
    #[must_use]
    pub fn stream_on_server(&self, name: impl Fn(&str) -> String) -> String {
        match self {
            Self::Watch { resource, .. } => name(resource),
            Self::Write { resource, subresource, .. } => format!("answers to {}/{subresource}", name(resource)),
        }
    }

    /// For example `write 3 of replicasets`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Write { nth, resource, subresource, .. } if subresource.is_empty() => {
                format!("write {nth} of {resource}")
            }
            Self::Write { nth, resource, subresource, .. } => format!("write {nth} of {resource}/{subresource}"),
            Self::Watch { resource, event } => format!("event {event} of {resource}"),
        }
    }
}

/// What happens at a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// The subject is killed and restarted.
    Crash,
    /// The subject is killed, and the other one is started in its place.
    Handover {
        /// Whether the first one takes over again at the next step.
        back: bool,
    },
    /// The server processes the request, and its answer is lost.
    Drop,
    /// The connection is cut.
    Cut,
    /// The request is refused with this HTTP status.
    Refuse(u16),
    /// The request is delayed.
    Delay(Duration),
    /// Every event is delayed.
    Lag(Duration),
    /// The event is delivered twice.
    Repeat,
    /// The watch ends with an expired resourceVersion.
    Expire,
    /// The watch expires, and the list that follows is this many events old.
    Old(u32),
    /// The event and those after it, or the answer to the write, arrive after this many other
    /// events and answers.
    Overtaken(u32),
}

impl FaultAction {
    /// What a fault means for the subject.
    #[must_use]
    pub const fn effect(self) -> Effect {
        match self {
            Self::Crash | Self::Handover { .. } => Effect::Killed,
            Self::Drop | Self::Cut => Effect::Unanswered,
            Self::Refuse(_)
            | Self::Delay(_)
            | Self::Lag(_)
            | Self::Repeat
            | Self::Expire
            | Self::Old(_)
            | Self::Overtaken(_) => Effect::Answered,
        }
    }
}

/// What a step does to the subject's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessAction {
    /// Kills it.
    Stop,
    /// Starts it again.
    Start,
    /// Kills it, and starts the other one in its place; or it again, if there is only one.
    Handover,
}
