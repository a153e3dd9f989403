//! The lines under a step, typed: what is compared, and what is printed, is the same thing.

use std::fmt::{Display, Formatter, Result};
use std::sync::Arc;

use super::model::{Breach, Decision, EventLine, Events, State, Step};

/// One line of a timeline below a heading.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// What came between the subject's requests.
    Meeting(String),
    /// What was decided about one object.
    Decision(Decision),
    /// A broken invariant.
    Breach(Breach),
    /// One object once the namespace had settled.
    State(Arc<State>),
    /// The heading of the Events.
    Heading(String),
    /// One Event and how often it was reported.
    Event(EventLine),
}

impl Line {
    /// As a timeline prints it, indented.
    #[must_use]
    pub fn indented(&self) -> String {
        let width = match self {
            Self::Heading(_) => 0,
            Self::Meeting(_) | Self::Breach(_) | Self::State(_) => 6,
            Self::Decision(_) | Self::Event(_) => 8,
        };
        format!("{:width$}{self}", "")
    }

    /// The state, if it is one.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        match self {
            Self::State(state) => Some(state),
            _ => None,
        }
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Meeting(what) => write!(f, "~ {what}"),
            Self::Decision(decision) => decision.fmt(f),
            Self::Breach(breach) => write!(f, "! {breach}"),
            Self::State(state) => write!(f, "= {state}"),
            Self::Heading(heading) => f.write_str(heading),
            Self::Event(event) => event.fmt(f),
        }
    }
}

impl Step {
    /// The lines under the heading: what came in the middle, decisions, breaches, then the
    /// checkpoint.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.lines_without_states().chain(self.checkpoint.iter().cloned().map(Line::State)).collect()
    }

    /// The same without the checkpoint.
    pub(super) fn lines_without_states(&self) -> impl Iterator<Item = Line> {
        let meetings = self.meetings.iter().cloned().map(Line::Meeting);
        let decisions = self.decisions.iter().cloned().map(Line::Decision);
        let breaches = self.breaches.iter().cloned().map(Line::Breach);
        meetings.chain(decisions).chain(breaches)
    }
}

impl Events {
    /// The line above them; it says where there are none, or why they are not compared.
    #[must_use]
    pub fn heading(&self) -> String {
        match self {
            Self::NotCompared(why) => format!("events  not compared: {why}"),
            Self::All(all) if all.is_empty() => "events  none".to_owned(),
            Self::All(_) => "events".to_owned(),
        }
    }

    /// The lines of the block, heading included.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let all = match self {
            Self::NotCompared(_) => &[][..],
            Self::All(all) => all.as_slice(),
        };
        std::iter::once(Line::Heading(self.heading())).chain(all.iter().cloned().map(Line::Event)).collect()
    }
}
