//! What goes wrong in the middle of a step of a program.

use super::op::{Op, Words};

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// The events of this kind, a plural, are held back from the controller, and what else happens
    /// before it learns of them. Not two writes of the events that are held back: how many of them
    /// a controller reads at once is up to its caches.
    Held(&'static str, Option<Box<Op>>),
    /// The controller asks for this, its request waits, and this happens.
    Decision(String, Box<Op>),
    /// The nth write of this kind fails.
    Write(u32, &'static str, Failure),
    /// The watch of this kind is disturbed.
    Watch(&'static str, Disturbance),
}

/// How a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
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
pub enum Disturbance {
    /// Every event comes a second late.
    Lag,
    /// The first event comes twice.
    Repeat,
    /// The watch expires at the first event.
    Expire,
}

impl Trouble {
    /// What happens in the middle.
    pub(super) fn op(&self) -> Option<&Op> {
        match self {
            Self::Held(_, op) => op.as_deref(),
            Self::Decision(_, op) => Some(op),
            Self::Write(..) | Self::Watch(..) => None,
        }
    }

    /// The same with another operation in the middle.
    pub(super) fn with(&self, op: Op) -> Self {
        match self {
            Self::Held(kind, _) => Self::Held(kind, Some(Box::new(op))),
            Self::Decision(decision, _) => Self::Decision(decision.clone(), Box::new(op)),
            other => other.clone(),
        }
    }

    /// Its line in a step.
    pub(super) fn text(&self, words: &mut Words<'_>) -> String {
        match self {
            Self::Held(kind, None) => format!("during: {{held: {kind}, do: []}}"),
            Self::Held(kind, Some(op)) => format!("during: {{held: {kind}, do: [{{{}}}]}}", words.op(op)),
            Self::Decision(decision, op) => {
                format!("during: {{decision: \"{decision}\", do: [{{{}}}]}}", words.op(op))
            }
            Self::Write(write, of, failure) => {
                let (side, action) = match failure {
                    Failure::CrashBefore => ("before", "crash".to_owned()),
                    Failure::CrashAfter => ("after", "crash".to_owned()),
                    Failure::Lost => ("after", "drop".to_owned()),
                    Failure::Refused(status) => ("before", format!("{{refuse: {status}}}")),
                };
                format!("fault: {{write: {write}, of: {of}, side: {side}, action: {action}}}")
            }
            Self::Watch(kind, Disturbance::Lag) => format!("fault: {{watch: {kind}, action: {{lag: 1s}}}}"),
            Self::Watch(kind, Disturbance::Repeat) => format!("fault: {{watch: {kind}, event: 1, action: repeat}}"),
            Self::Watch(kind, Disturbance::Expire) => format!("fault: {{watch: {kind}, event: 1, action: expire}}"),
        }
    }
}
