//! A delay of one stream at one point of a case, and the text of a case with such delays.

use std::collections::BTreeMap;
use std::fmt;

use lockstep_case::Case;
use lockstep_verdict::faults;

/// More messages than any step causes: delayed until nothing else arrives.
const ALL: u32 = 10_000;

/// The source of delayed messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayedStream {
    /// The watch of a kind, a plural.
    Watch(String),
    /// The answers to writes of a resource: `replicasets`, `deployments/status`.
    Answers(String),
}

/// A delay in one stream.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delay {
    /// The index of the case's step, including those of `given`, from 0.
    pub step: usize,
    /// Its line in the case file.
    pub line: usize,
    /// The delayed stream.
    pub stream: DelayedStream,
    /// The delayed event or answer, counted from the beginning of the step, from 1.
    pub nth: u32,
    /// How many messages of other streams overtake it; `None`: all that arrive.
    pub overtaken_by: Option<u32>,
}

impl Delay {
    /// The fault of the step, as a case writes it.
    fn fault(&self) -> String {
        let others = self.overtaken_by.unwrap_or(ALL);
        match &self.stream {
            DelayedStream::Watch(kind) => {
                format!("{{watch: {kind}, event: {}, action: {{overtaken: {others}}}}}", self.nth)
            }
            DelayedStream::Answers(of) => {
                format!("{{write: {}, of: {of}, side: after, action: {{overtaken: {others}}}}}", self.nth)
            }
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stream {
            DelayedStream::Watch(kind) => write!(f, "event {} of {kind}", self.nth)?,
            DelayedStream::Answers(of) => write!(f, "the answer to write {} of {of}", self.nth)?,
        }
        match self.overtaken_by {
            Some(others) => write!(f, " after line {} is overtaken by {others}", self.line),
            None => write!(f, " after line {} is overtaken by all that come", self.line),
        }
    }
}

/// The case's text with these delays; `None` if a step is written in a way that leaves no place for
/// another line.
#[must_use]
pub fn text(case: &Case, late: &[Delay]) -> Option<String> {
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
    use lockstep_case::model::FaultAction;
    use lockstep_case::parse;

    use super::*;

    const CASE: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n";

    #[test]
    fn two_delays_of_a_step_are_a_list() {
        let case = parse("a/b.yaml", "a/b", CASE).unwrap();
        let late = |stream, overtaken_by| Delay { step: 1, line: 5, stream, nth: 1, overtaken_by };
        let first = late(DelayedStream::Watch("pods".to_owned()), Some(2));
        let answers = late(DelayedStream::Answers("deployments/status".to_owned()), None);
        let text = text(&case, &[first.clone(), answers]).unwrap();
        let late = parse("a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let fault = late.steps[0].fault.as_ref().unwrap();
        let said: Vec<_> = fault.all().map(|fault| (fault.point.stream(), fault.action)).collect();
        let pods = ("pods".to_owned(), FaultAction::Overtaken(2));
        assert_eq!(said, [pods, ("answers to deployments/status".to_owned(), FaultAction::Overtaken(ALL))]);
        let twice = [&first, &first].map(Delay::fault).join(", ");
        let twice = CASE.replace("- scale: 3", &format!("- {{fault: [{twice}], scale: 3}}"));
        assert!(parse("a/b.yaml", "a/b", &twice).is_err(), "two of one stream");
    }
}
