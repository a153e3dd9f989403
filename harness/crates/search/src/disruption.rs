//! What goes wrong in the middle of a step of a program.

use super::op::{CaseWriter, Op};

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
    Write(u32, &'static str, WriteFailure),
    /// The watch of this kind is disturbed.
    Watch(&'static str, WatchDisturbance),
}

/// How a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteFailure {
    /// The controller is killed before the server acts.
    CrashBefore,
    /// The controller is killed before it has the answer.
    CrashAfter,
    /// The answer is lost.
    Lost,
    /// The server refuses it with this status.
    Refused(u32),
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
            Self::Write(write, of, failure) => {
                let (side, action) = match failure {
                    WriteFailure::CrashBefore => ("before", "crash".to_owned()),
                    WriteFailure::CrashAfter => ("after", "crash".to_owned()),
                    WriteFailure::Lost => ("after", "drop".to_owned()),
                    WriteFailure::Refused(status) => ("before", format!("{{refuse: {status}}}")),
                };
                format!("fault: {{write: {write}, of: {of}, side: {side}, action: {action}}}")
            }
            Self::Watch(kind, WatchDisturbance::Lag) => format!("fault: {{watch: {kind}, action: {{lag: 1s}}}}"),
            Self::Watch(kind, WatchDisturbance::Repeat) => {
                format!("fault: {{watch: {kind}, event: 1, action: repeat}}")
            }
            Self::Watch(kind, WatchDisturbance::Expire) => {
                format!("fault: {{watch: {kind}, event: 1, action: expire}}")
            }
        }
    }
}
