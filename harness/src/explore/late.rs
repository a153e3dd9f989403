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

/// The case's text with these; `None` where a step is written in a way that leaves no place for a
/// line.
#[must_use]
pub fn text(case: &Case, late: &[Late]) -> Option<String> {
    let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    late.iter().for_each(|late| lines.entry(late.line).or_default().push(late.fault()));
    let text = |faults: Vec<String>| match faults.as_slice() {
        [fault] => fault.clone(),
        faults => format!("[{}]", faults.join(", ")),
    };
    let at = lines.into_iter().map(|(line, faults)| (line, text(faults))).collect();
    faults::with_faults(case, &at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::model::FaultAction;
    use crate::case::parse;

    const CASE: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n";

    #[test]
    fn two_late_streams_of_a_step_are_a_list() {
        let case = parse("a/b.yaml", "a/b", CASE).unwrap();
        let late = |stream, others| Late { step: 1, line: 5, stream, nth: 1, others };
        let first = late(Stream::Watch("pods".to_owned()), Some(2));
        let answers = late(Stream::Answers("deployments/status".to_owned()), None);
        let text = text(&case, &[first.clone(), answers]).unwrap();
        let late = parse("a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let fault = late.steps[0].fault.as_ref().unwrap();
        let said: Vec<_> = fault.all().map(|fault| (fault.point.stream(), fault.action)).collect();
        let pods = ("pods".to_owned(), FaultAction::Overtaken(2));
        assert_eq!(said, [pods, ("answers to deployments/status".to_owned(), FaultAction::Overtaken(ALL))]);
        let twice = [&first, &first].map(Late::fault).join(", ");
        let twice = CASE.replace("- scale: 3", &format!("- {{fault: [{twice}], scale: 3}}"));
        assert!(parse("a/b.yaml", "a/b", &twice).is_err(), "two of one stream");
    }
}
