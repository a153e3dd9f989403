//! A recording: everything that was seen while one case ran, in one order, as NDJSON.
//!
//! The border between the world and the judge. `observe` and `driver` write recordings; `timeline`,
//! `verdict` and `report` read nothing else, so a stored recording is judged again, offline, with
//! the same result. The first line is the [`Header`], the last is the [`End`]; a recording without
//! an end was cut off and proves nothing.
//!
//! Order: object versions stand sorted by `resourceVersion` between the mark of their step and its
//! [`Settling`]. Times are milliseconds since the recording began. Secret values never get here: the
//! recorder replaces them by digests.

mod body;
mod diagnosis;
mod file_name;
mod header;
mod names;
mod trouble;

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

pub use body::Body;
pub use diagnosis::Diagnosis;
pub use header::{Header, Identity, SubjectKind};
pub use trouble::{Blame, Trouble};

use crate::expect::Expect;
pub(crate) use body::pack_old;
pub(crate) use file_name::FileName;

/// The version of the format that this build writes and reads.
pub const FORMAT: u32 = 3;

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// The first line.
    Header(Box<Header>),
    /// A step is about to be made.
    Step(StepMark),
    /// Pods that the case knows by name from now on: their real names by the case's.
    Named(BTreeMap<String, String>),
    /// One version of one object.
    Object(Version),
    /// One request that the subject made about the case's namespace.
    Request(Request),
    /// The wait after a step ended.
    Settled(Settling),
    /// Something came between the subject's requests, as the case says.
    Met(Meeting),
    /// Something went wrong; whose fault it is, is said.
    Trouble(Trouble),
    /// The step could not be made. Whether the case asks for too much or the subject left too
    /// little, only somebody who knows what was expected can say.
    Impossible(Impossible),
    /// The last line.
    End(End),
}

/// The beginning of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepMark {
    /// 0 for `given`, else the number of the step under `steps`, from 1.
    pub index: u32,
    /// 0 when the step has no sub-steps; else 1, 2, … (`ready: {pods: 4}` is four steps).
    pub part: u32,
    /// What the step does, in the words of the case: `set image=app:2`, `ready 1`.
    pub label: String,
    /// The line of the case file that the step stands on.
    pub line: usize,
    /// Whether a user's operation is part of it (which may itself break a bound until the next
    /// settling).
    pub user: bool,
    /// Whether it is a burst: several operations without settling between them, or several pods
    /// that become available one by one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// Whether the subject may decide by an old view: the case holds or delays what it watches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Which of the named pods are alive once this has settled, if the case says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It exists now and did not before.
    Added,
    /// It changed.
    Modified,
    /// It is gone; the object is its last state.
    Deleted,
}

/// Who wrote a version, as far as the harness can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Writer {
    /// The harness itself: the driver, in a user's or a node's name.
    Driver,
    /// Anybody else: the subject or the cluster's own controllers.
    Other,
}

/// One version of one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// `Deployment`, `ReplicaSet`, `Pod`, `Event`, …
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// What became of it.
    pub change: Change,
    /// The resourceVersion; versions of all kinds share one order.
    pub rv: u64,
    /// Who wrote it.
    pub by: Writer,
    /// The programs that wrote it, if it was seen in a live cluster: its managed fields or the
    /// audit log name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
    /// The whole object, without managed fields; the world has the same.
    pub object: Body,
}

/// One request of the subject's, as the interceptor saw it. All of those about the case's namespace
/// are kept; of those about anything else only what the server refused, because that may be why
/// nothing comes of the case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
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
    /// What the server said with an error, though not about Secrets; of a message to the webhook,
    /// the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether it meant to change a status with the object, where the server ignores that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored_status: bool,
    /// The namespace where it is not the case's; empty for a request about the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
}

impl Request {
    /// Whether the server would not have it from the subject: 401 or 403.
    pub fn is_refused(&self) -> bool {
        matches!(self.status, 401 | 403)
    }

    /// The message, where it is one to the webhook that was taken.
    pub fn posted(&self) -> Option<&str> {
        let is_taken = self.resource == Self::WEBHOOK && (200..300).contains(&self.status);
        self.message.as_deref().filter(|_| is_taken)
    }

    /// The resource of messages to the webhook, which is no resource of the API.
    pub const WEBHOOK: &'static str = "webhook";
}

/// What was asked, without the object's name: `update deployments/status`, `get leases in
/// NAMESPACE`.
impl Display for Request {
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

/// What came between the subject's requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meeting {
    /// In the words of the case: `rs1 5 -> 4 held: scale 4`, `write 3 of replicasets, after it:
    /// crash`.
    pub what: String,
    /// What it means for the subject.
    pub effect: Effect,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
}

/// What something that came between the subject's requests means for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// It goes on, and has an answer to each of its requests.
    Answered,
    /// It was left without an answer, and can only say in its own words what became of its request.
    Unanswered,
    /// It was killed.
    Killed,
}

/// Why a step could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Impossible {
    /// What is missing, as a lower-case fragment: there is no such pod, no such revision.
    pub why: String,
    /// Whether the case names a request that the subject, once settled, had not made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_came: bool,
}

/// How the wait after a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settling {
    /// Proved settled, or the budget was spent; then why.
    pub unsettled: Option<Trouble>,
    /// Probe rounds made.
    pub rounds: u32,
    /// How long it took, in milliseconds.
    #[serde(deserialize_with = "header::milliseconds")]
    pub took: u64,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// Whether every step was made; else a [`Trouble`] stands before.
    pub completed: bool,
    /// Whether the Deployments' events can be compared: an event of the probe's own arrived after
    /// them.
    pub events_complete: bool,
    /// Milliseconds since the recording began.
    #[serde(deserialize_with = "header::milliseconds")]
    pub at: u64,
    /// What helps to find out why the subject got into trouble, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// A whole recording, in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What was run, where and for whom.
    pub header: Header,
    /// Everything between the header and the end, in order.
    pub entries: Vec<Entry>,
    /// The last line; without it the recording was cut off.
    pub end: Option<End>,
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
    /// Made by another version.
    #[error("recording has format {found}, this build reads {FORMAT}; record it again")]
    Format {
        /// The format that the header names.
        found: u32,
    },
    /// A name that no recording of this build has; it might lead out of the folder that it is kept
    /// in.
    #[error("the {what} `{name}` is not {rule}; the recording was edited, or was not written by lockstep")]
    Name {
        /// Whose name.
        what: &'static str,
        /// The name, fit to be shown.
        name: String,
        /// What such a name is.
        rule: &'static str,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Recording {
    /// Read NDJSON, as written by [`Recording::write`]. Half a last line counts as cut off before
    /// it.
    ///
    /// # Errors
    /// No header, another format, or a line that is no entry.
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
                // Whoever wrote it was stopped in the middle of the line.
                Err(half) if half.is_eof() && lines.peek().is_none() && header.is_some() => break,
                Err(source) => {
                    let line = number + 1;
                    return Err(RecordingError::Line { line, source });
                }
            };
            match (entry, &header) {
                (Entry::Header(found), None) if found.format != FORMAT => {
                    return Err(RecordingError::Format { found: found.format });
                }
                (Entry::Header(found), None) => {
                    names::check(&found)?;
                    header = Some(*found);
                }
                (_, None) => return Err(RecordingError::NoHeader),
                (Entry::End(found), _) => end = Some(found),
                (entry, _) => {
                    entries.push(entry);
                    packed = pack_old(&mut entries, packed);
                }
            }
        }
        Ok(Self { header: header.ok_or(RecordingError::NoHeader)?, entries, end })
    }

    /// Write NDJSON: one [`Entry`] a line.
    ///
    /// # Errors
    /// Whatever the writer says.
    pub fn write(&self, mut out: impl Write) -> Result<(), RecordingError> {
        let line = |out: &mut dyn Write, entry: &Entry| -> std::io::Result<()> {
            serde_json::to_writer(&mut *out, entry)?;
            out.write_all(b"\n")
        };
        line(&mut out, &Entry::Header(Box::new(self.header.clone())))?;
        for entry in &self.entries {
            line(&mut out, entry)?;
        }
        if let Some(end) = &self.end {
            line(&mut out, &Entry::End(end.clone()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Blame, Recording};
    use crate::timeline::fixture::Film;
    use rstest::rstest;

    #[test]
    fn what_is_written_is_read_back() {
        let film = Film::rolled_out(2).request("update", "replicasets", 200).user(1, "scale 3");
        let recording = film.unsettled(Blame::Environment, "probe").trouble(Blame::Subject, "no pod").aborted();
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
    fn other_files_are_refused(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Recording::read(text.as_bytes()).unwrap_err().to_string(), expected);
    }

    #[test]
    fn another_format_is_refused() {
        let mut recording = Film::new().end();
        recording.header.format = 99;
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        let error = Recording::read(text.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "recording has format 99, this build reads 3; record it again");
    }
}
