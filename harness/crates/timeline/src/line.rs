//! The lines under a step as types: comparison and display use the same lines.

use std::fmt::{Display, Formatter, Result};
use std::sync::Arc;

use super::model::{Decision, EventLine, InvariantBreach, State, TimelineEvents, TimelineStep};

/// One line of a timeline below a heading.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimelineLine {
    /// What was injected between the subject's requests.
    Injection(String),
    /// A decision about one object.
    Decision(Decision),
    /// A broken invariant.
    Breach(InvariantBreach),
    /// The state of one object once the namespace had settled.
    State(Arc<State>),
    /// The heading of the Events.
    Heading(String),
    /// One Event and how often it was reported.
    Event(EventLine),
}

impl TimelineLine {
    /// The line as a timeline prints it, indented.
    #[must_use]
    pub fn indented(&self) -> String {
        let width = match self {
            Self::Heading(_) => 0,
            Self::Injection(_) | Self::Breach(_) | Self::State(_) => 6,
            Self::Decision(_) | Self::Event(_) => 8,
        };
        format!("{:width$}{self}", "")
    }

    /// The state, if this is one.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        match self {
            Self::State(state) => Some(state),
            _ => None,
        }
    }
}

impl Display for TimelineLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Injection(what) => write!(f, "~ {what}"),
            Self::Decision(decision) => decision.fmt(f),
            Self::Breach(breach) => write!(f, "! {breach}"),
            Self::State(state) => write!(f, "= {state}"),
            Self::Heading(heading) => f.write_str(heading),
            Self::Event(event) => event.fmt(f),
        }
    }
}

impl TimelineStep {
    /// The lines under the heading: injections, decisions, breaches, then the checkpoint.
    #[must_use]
    pub fn lines(&self) -> Vec<TimelineLine> {
        self.lines_without_states().chain(self.checkpoint.iter().cloned().map(TimelineLine::State)).collect()
    }

    /// The lines under the heading without the checkpoint.
    pub(super) fn lines_without_states(&self) -> impl Iterator<Item = TimelineLine> {
        let meetings = self.injections.iter().cloned().map(TimelineLine::Injection);
        let decisions = self.decisions.iter().cloned().map(TimelineLine::Decision);
        let breaches = self.breaches.iter().cloned().map(TimelineLine::Breach);
        meetings.chain(decisions).chain(breaches)
    }
}

impl TimelineEvents {
    /// The heading, which also says if there are none, or why they are not compared.
    #[must_use]
    pub fn heading(&self) -> String {
        match self {
            Self::NotCompared(why) => format!("events  not compared: {why}"),
            Self::All(all) if all.is_empty() => "events  none".to_owned(),
            Self::All(_) => "events".to_owned(),
        }
    }

    /// The lines of the block, including the heading.
    #[must_use]
    pub fn lines(&self) -> Vec<TimelineLine> {
        let all = match self {
            Self::NotCompared(_) => &[][..],
            Self::All(all) => all.as_slice(),
        };
        std::iter::once(TimelineLine::Heading(self.heading()))
            .chain(all.iter().cloned().map(TimelineLine::Event))
            .collect()
    }
}
