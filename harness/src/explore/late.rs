//! One place at which something is late, and a case with some of them.

use std::collections::BTreeMap;
use std::fmt;

use crate::case::Case;
use crate::faults;

/// More others than any step brings: until nothing more comes.
const ALL: u32 = 10_000;

/// Where something comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// The watch of a kind, a plural.
    Watch(String),
    /// The answers to writes: `replicasets`, `deployments/status`.
    Answers(String),
}

/// Something that is late.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Late {
    /// Which step of the case, those of `given` included, from 0.
    pub step: usize,
    /// Its line in the case file.
    pub line: usize,
    /// The stream.
    pub stream: Stream,
    /// Which event or answer since the step began, from 1.
    pub nth: u32,
    /// By how many others it is overtaken; `None`: by all that come.
    pub others: Option<u32>,
}

impl Late {
    /// What a step of a case says of it.
    fn fault(&self) -> String {
        let others = self.others.unwrap_or(ALL);
        match &self.stream {
            Stream::Watch(kind) => {
                format!("{{watch: {kind}, event: {}, action: {{overtaken: {others}}}}}", self.nth)
            }
            Stream::Answers(of) => {
                format!("{{write: {}, of: {of}, side: after, action: {{overtaken: {others}}}}}", self.nth)
            }
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stream {
            Stream::Watch(kind) => write!(f, "event {} of {kind}", self.nth)?,
            Stream::Answers(of) => write!(f, "the answer to write {} of {of}", self.nth)?,
        }
        match self.others {
            Some(others) => write!(f, " after line {} is overtaken by {others}", self.line),
            None => write!(f, " after line {} is overtaken by all that come", self.line),
        }
    }
}

/// The case's text with these; `None` where a step is written in a way that leaves no place for a line.
#[must_use]
pub fn text(case: &Case, late: &[Late]) -> Option<String> {
    let at: BTreeMap<usize, String> = late.iter().map(|late| (late.line, late.fault())).collect();
    faults::with_faults(case, &at)
}
