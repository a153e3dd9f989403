//! What a case says of the middle of a step: steps between the subject's requests, and what goes
//! wrong on their way. Seen by the rest of the harness as part of [`super::model`].

use std::time::Duration;

use super::model::Step;

/// Steps in the middle of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct During {
    /// When.
    pub moment: Moment,
    /// What the world does then.
    pub steps: Vec<Step>,
}

/// A moment in the middle of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// The subject asks for this, and the server has not seen it yet.
    Decision(Decided),
    /// What became of this kind (plural) since before the step is kept from the subject: it acts on
    /// an old view.
    Held(String),
}

impl Step {
    /// Whether the subject may decide by an old view while it reacts to this step.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let is_held = self.during.as_ref().is_some_and(|during| matches!(during.moment, Moment::Held(_)));
        is_held || self.fault.iter().flat_map(Fault::all).any(Fault::is_behind)
    }
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
    /// What is late besides, in another stream, where both are overtaken.
    pub and: Option<Box<Fault>>,
}

impl Fault {
    /// Whether it comes after others.
    pub(super) fn is_late(&self) -> bool {
        matches!(self.action, FaultAction::Overtaken(_))
    }

    /// Whether both are in one watch, or at writes of one kind.
    pub(super) fn is_in_stream_of(&self, other: &Self) -> bool {
        self.point.stream() == other.point.stream()
    }

    /// Whether the subject learns of something later than it would.
    fn is_behind(&self) -> bool {
        matches!(self.action, FaultAction::Lag(_) | FaultAction::Old(_) | FaultAction::Overtaken(_))
    }

    /// Itself, and what is late besides.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |fault| fault.and.as_deref())
    }
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

impl FaultPoint {
    /// Where what comes late stands in line: the watch of a kind, or the answers to writes.
    #[must_use]
    pub fn stream(&self) -> String {
        match self {
            Self::Watch { resource, .. } => resource.clone(),
            Self::Write { resource, subresource, .. } => format!("answers to {resource}/{subresource}"),
        }
    }
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
    /// The same, and the list that follows is so many events old.
    Old(u32),
    /// The event, and those behind it, or the answer to the write, comes after so many others of
    /// what the subject learns.
    Overtaken(u32),
}

/// Whether the subject runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is killed.
    Stop,
    /// It is started again.
    Start,
}
