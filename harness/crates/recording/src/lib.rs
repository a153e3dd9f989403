//! A recording: everything that was observed while one case ran, in one order, as NDJSON.
//!
//! **Architecture Invariant:** it knows what was observed, not what was expected: no case, no
//! timeline, no network and no clock.
//!
//! It separates running from judging. The runner writes recordings; timelines, verdicts and
//! reports read nothing else, so a stored recording can be judged again, offline,
//! with the same result. The first line is the [`Header`], the last is the [`RecordingEnd`]; a
//! recording without an end was cut off and proves nothing.
//!
//! Order: object versions are sorted by `resourceVersion` between the mark of their step and its
//! [`Settling`]. Times are milliseconds since the recording began. The recorder replaces the values
//! of Secrets by digests, and `secret` those in a case's text.
//!
//! `controllers` names the controllers that a case can judge. `testing` builds recordings for the
//! tests of all crates above.

mod body;
pub mod controllers;
mod diagnosis;
mod file_name;
mod header;
mod names;
pub mod pod_expectation;
pub mod secret;
pub mod testing;
mod trouble;

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::io::{BufRead, Write};

pub use body::{Body, pack_old};
pub use diagnosis::Diagnosis;
pub use file_name::FileName;
pub use header::{Header, Identity, SubjectKind};
use serde::{Deserialize, Serialize};
pub use trouble::{Blame, Trouble};

use crate::pod_expectation::PodExpectation;

/// The author of writes that no controller can have made, if the recording does not name the
/// program.
pub const FOREIGN_WRITER: &str = "others";

/// The version of the format that this build writes and reads.
pub const FORMAT: u32 = 3;

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
    #[serde(deserialize_with = "header::milliseconds")]
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
    /// The subject or the cluster's own controllers.
    Other,
}

/// One version of one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectVersion {
    /// `Deployment`, `ReplicaSet`, `Pod`, `Event`, …
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// How it changed.
    pub change: ChangeType,
    /// The resourceVersion; versions of all kinds share one order.
    pub rv: u64,
    /// Who wrote it.
    pub by: WriterRole,
    /// The programs that wrote it, if it was recorded on a live cluster: its managed fields or the
    /// audit log name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
    /// The whole object without managed fields; the harness's own view of the cluster shares it.
    pub object: Body,
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
    /// The namespace, if it is not the case's; empty for a request about the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
}

impl SubjectRequest {
    /// Whether the server denied the request: 401 or 403.
    pub fn is_refused(&self) -> bool {
        matches!(self.status, 401 | 403)
    }

    /// The message, if this is a webhook request that was accepted.
    pub fn webhook_message(&self) -> Option<&str> {
        let is_taken = self.resource == Self::WEBHOOK && (200..300).contains(&self.status);
        self.message.as_deref().filter(|_| is_taken)
    }

    /// The resource of webhook requests, which the API does not have.
    pub const WEBHOOK: &'static str = "webhook";
}

/// The request without the object's name: `update deployments/status`, `get leases in NAMESPACE`.
impl Display for SubjectRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
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
    #[serde(deserialize_with = "header::milliseconds")]
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
    #[serde(deserialize_with = "header::milliseconds")]
    pub took: u64,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
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
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
    /// Details that help to explain the subject's trouble, if it had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// A whole recording, in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What was run, where, and with which subject.
    pub header: Header,
    /// Everything between the header and the end, in order.
    pub entries: Vec<RecordingEntry>,
    /// The last line; without it the recording was cut off.
    pub end: Option<RecordingEnd>,
}

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A line is not an entry of this format.
    #[error("line {line} is not an entry of a recording: {source}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The first line is not a header.
    #[error("the first line is not a header; is this a recording?")]
    NoHeader,
    /// Another version of lockstep wrote the recording.
    #[error("recording has format {format}, this build reads {FORMAT}; record it again")]
    Format {
        /// The format that the header names.
        format: u32,
    },
    /// A name that this version never writes, and that might lead out of the folder of recordings.
    #[error("the {field} `{name}` is not {rule}; the recording was edited, or was not written by lockstep")]
    Name {
        /// What the name belongs to.
        field: &'static str,
        /// The name, sanitized.
        name: String,
        /// Which names are valid.
        rule: &'static str,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Recording {
    /// Reads NDJSON, as [`Recording::write`] writes it. An incomplete last line is ignored.
    ///
    /// # Errors
    /// The header is missing or has another format, or a line is not an entry.
    pub fn read(input: impl BufRead) -> Result<Self, RecordingError> {
        let mut header = None;
        let (mut entries, mut packed) = (Vec::new(), 0);
        let mut end = None;
        let mut lines = input.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let entry = match serde_json::from_str(&line) {
                Ok(entry) => entry,
                // The writer was stopped in the middle of the line.
                Err(half) if half.is_eof() && lines.peek().is_none() && header.is_some() => break,
                Err(source) => {
                    let line = number + 1;
                    return Err(RecordingError::Line { line, source });
                }
            };
            match (entry, &header) {
                (RecordingEntry::Header(found), None) if found.format != FORMAT => {
                    return Err(RecordingError::Format { format: found.format });
                }
                (RecordingEntry::Header(found), None) => {
                    names::check(&found)?;
                    header = Some(*found);
                }
                (_, None) => return Err(RecordingError::NoHeader),
                (RecordingEntry::End(found), _) => end = Some(found),
                (entry, _) => {
                    entries.push(entry);
                    packed = pack_old(&mut entries, packed);
                }
            }
        }
        Ok(Self { header: header.ok_or(RecordingError::NoHeader)?, entries, end })
    }

    /// Writes NDJSON: one [`RecordingEntry`] per line.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut out: impl Write) -> Result<(), RecordingError> {
        let line = |out: &mut dyn Write, entry: &RecordingEntry| -> std::io::Result<()> {
            serde_json::to_writer(&mut *out, entry)?;
            out.write_all(b"\n")
        };
        line(&mut out, &RecordingEntry::Header(Box::new(self.header.clone())))?;
        for entry in &self.entries {
            line(&mut out, entry)?;
        }
        if let Some(end) = &self.end {
            line(&mut out, &RecordingEntry::End(end.clone()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Blame, Recording};
    use crate::testing::RecordingBuilder;

    #[test]
    fn recording_round_trips() {
        let builder = RecordingBuilder::rolled_out(2).request("update", "replicasets", 200).user_step(1, "scale 3");
        let recording = builder.unsettled(Blame::Environment, "probe").trouble(Blame::Subject, "no pod").aborted();
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        assert_eq!(Recording::read(text.as_slice()).unwrap(), recording);
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let cut: Vec<u8> = lines.clone().take(lines.count() - 1).flatten().copied().collect();
        assert_eq!(Recording::read(cut.as_slice()).unwrap().end, None);
        let half = &text[..text.len() - 10];
        assert_eq!(Recording::read(half).unwrap().end, None);
    }

    #[rstest]
    #[case("", "the first line is not a header; is this a recording?")]
    #[case(
        "{\"end\":{\"completed\":true,\"eventsComplete\":true,\"at\":1}}",
        "the first line is not a header; is this a recording?"
    )]
    #[case("no json", "line 1 is not an entry of a recording: expected value at line 1 column 1")]
    fn refuses_other_files(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Recording::read(text.as_bytes()).unwrap_err().to_string(), expected);
    }

    #[test]
    fn refuses_other_format() {
        let mut recording = RecordingBuilder::new().end();
        recording.header.format = 99;
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        let error = Recording::read(text.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "recording has format 99, this build reads 3; record it again");
    }
}
